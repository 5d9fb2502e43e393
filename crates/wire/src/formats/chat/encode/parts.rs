//! Encodes the parts of a user message: text, images, audio and files.

use domain::call::Format;
use domain::canon::{Content, Media, MediaSource, Part};
use serde_json::{Value, json};

use super::Encoder;

impl Encoder<'_> {
    /// Joins text parts into one string, because some servers accept nothing else. Chat's own clients keep their parts.
    pub(super) fn words(&mut self, parts: &[&Part]) -> Value {
        let native = self.is_native();
        let apart = native && (parts.len() > 1 || parts.iter().any(|part| part.cache.is_some()));
        if apart {
            return parts.iter().filter_map(|part| self.part(part)).collect();
        }
        let mut texts = Vec::new();
        for part in parts {
            if part.cache.is_some() {
                self.cache_mark(part.cache, &mut Value::Null);
            }
            texts.extend(plain_text(part));
        }
        texts.join("\n\n").into()
    }

    /// Encodes parts that may include media.
    pub(super) fn mixed(&mut self, parts: &[&Part]) -> Value {
        if parts.iter().all(|part| plain_text(part).is_some()) {
            return self.words(parts);
        }
        parts.iter().filter_map(|part| self.part(part)).collect()
    }

    /// Encodes a part; `None`, and the part recorded as dropped, if chat completions cannot express it.
    pub(super) fn part(&mut self, part: &Part) -> Option<Value> {
        let value = match &part.content {
            Content::Text(text) => Some(json!({"type": "text", "text": text})),
            Content::Refusal(text) => Some(json!({"type": "refusal", "refusal": text})),
            Content::Image(media) => image(media),
            Content::Audio(media) => audio(media),
            Content::Document(media) => self.document(media),
            Content::Foreign { .. }
            | Content::Thinking(_)
            | Content::ToolCall(_)
            | Content::ToolResult(_) => None,
        };
        let Some(mut value) = value else {
            self.drop_part(part);
            return None;
        };
        self.cache_mark(part.cache, &mut value);
        Some(value)
    }

    pub(super) fn drop_part(&mut self, part: &Part) {
        self.dropped.name(part.place.0.as_str());
    }

    fn document(&self, media: &Media) -> Option<Value> {
        match &media.source {
            MediaSource::Text(_) => text_of(media).map(|text| json!({"type": "text", "text": text})),
            MediaSource::Data(data) => {
                let kind = media.media_type.as_deref().unwrap_or("application/pdf");
                let name = media.name.clone().or_else(|| (!self.is_native()).then(|| default_name(kind)));
                let mut file = json!({"file_data": format!("data:{kind};base64,{data}")});
                if let Some(name) = name {
                    file["filename"] = name.into();
                }
                Some(json!({"type": "file", "file": file}))
            }
            // A file id is only valid at the provider that issued it.
            MediaSource::File(id) if matches!(self.prompt.format, Format::Chat | Format::Responses) => {
                let mut file = json!({"file_id": id});
                if let Some(name) = &media.name {
                    file["filename"] = name.as_str().into();
                }
                Some(json!({"type": "file", "file": file}))
            }
            MediaSource::File(_) | MediaSource::Url(_) => None,
        }
    }
}

/// The text of a text part or a text document.
pub(super) fn plain_text(part: &Part) -> Option<String> {
    match &part.content {
        Content::Text(text) => Some(text.clone()),
        Content::Document(media) => text_of(media),
        _ => None,
    }
}

fn text_of(media: &Media) -> Option<String> {
    let MediaSource::Text(text) = &media.source else { return None };
    Some(match &media.name {
        Some(name) => format!("{name}\n\n{text}"),
        None => text.clone(),
    })
}

fn default_name(kind: &str) -> String {
    match kind {
        "application/pdf" => "document.pdf".to_owned(),
        _ => "document.txt".to_owned(),
    }
}

fn image(media: &Media) -> Option<Value> {
    let url = match &media.source {
        MediaSource::Url(url) => url.clone(),
        MediaSource::Data(data) => {
            format!("data:{};base64,{data}", media.media_type.as_deref().unwrap_or("image/png"))
        }
        MediaSource::Text(_) | MediaSource::File(_) => return None,
    };
    let mut inner = json!({"url": url});
    if let Some(detail) = &media.detail {
        inner["detail"] = detail.as_str().into();
    }
    Some(json!({"type": "image_url", "image_url": inner}))
}

fn audio(media: &Media) -> Option<Value> {
    let MediaSource::Data(data) = &media.source else { return None };
    let format = match media.media_type.as_deref().unwrap_or("audio/wav") {
        "audio/mpeg" => "mp3",
        "audio/x-wav" | "audio/wave" => "wav",
        other => other.strip_prefix("audio/").unwrap_or(other),
    };
    Some(json!({"type": "input_audio", "input_audio": {"data": data, "format": format}}))
}
