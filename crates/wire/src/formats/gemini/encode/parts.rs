//! Encodes parts: text, media, calls, results, and their signatures.

use domain::call::Format;
use domain::canon::{Content, Field, Media, MediaSource, Opaque, Part, Thinking, ToolCall, ToolResult};
use serde_json::{Map, Value, json};

use super::Encoder;
use super::turns::{Contents, Side};
use crate::custom;
use crate::embedded;
use crate::formats::gemini::names;

pub(super) fn text(words: &str) -> Value {
    json!({ "text": words })
}

pub(super) fn with_signature(part: &mut Value, signature: &str) {
    if let Value::Object(part) = part {
        part.insert("thoughtSignature".into(), signature.into());
    }
}

impl Encoder<'_> {
    pub(super) fn note_cache(&mut self, part: &Part) {
        if part.cache.is_some() {
            self.drop_field(Field::CacheControl);
        }
    }

    pub(super) fn user_part(&mut self, part: &Part, contents: &mut Contents) {
        self.note_cache(part);
        if let Some(value) = self.plain(part) {
            contents.push(Side::User, value);
        }
    }

    /// Encodes text and media of either role; `None` if the part is empty or cannot be expressed.
    fn plain(&mut self, part: &Part) -> Option<Value> {
        match &part.content {
            Content::Text(words) | Content::Refusal(words) => (!words.is_empty()).then(|| text(words)),
            Content::Image(media) | Content::Document(media) | Content::Audio(media) => {
                let value = self.media(media);
                if value.is_none() {
                    self.dropped.name(part.place.0.as_str());
                }
                value
            }
            Content::Foreign { format: Format::Gemini, value } => Some(value.clone()),
            Content::Foreign { .. } => {
                self.dropped.name(part.place.0.as_str());
                None
            }
            Content::Thinking(_) | Content::ToolCall(_) | Content::ToolResult(_) => None,
        }
    }

    /// Encodes the model's parts. A separate signature is attached to the call after it or the text before it, or else
    /// gets an empty part of its own.
    pub(super) fn model_parts(&mut self, parts: &[&Part]) -> Vec<Value> {
        let mut written: Vec<Value> = Vec::new();
        let mut held: Option<String> = None;
        for part in parts {
            self.note_cache(part);
            match &part.content {
                Content::Thinking(Thinking { opaque, .. }) => {
                    if let Some(signature) = self.fitting(opaque.as_ref()) {
                        place(held.replace(signature), &mut written);
                    }
                }
                Content::ToolCall(call) => {
                    let own = self.fitting(call.opaque.as_ref());
                    if own.is_some() {
                        place(held.take(), &mut written);
                    }
                    let mut value = function_call(call);
                    if let Some(signature) = own.or_else(|| held.take()) {
                        with_signature(&mut value, &signature);
                    }
                    written.push(value);
                }
                _ => {
                    if let Some(value) = self.plain(part) {
                        place(held.take(), &mut written);
                        written.push(value);
                    }
                }
            }
        }
        place(held, &mut written);
        written
    }

    fn fitting(&self, opaque: Option<&Opaque>) -> Option<String> {
        let fits = opaque.filter(|opaque| opaque.fits(Format::Gemini, self.target.model));
        fits.map(|opaque| opaque.data.clone())
    }

    pub(super) fn result(&mut self, call: &ToolCall, result: &ToolResult, contents: &mut Contents) {
        let mut words = Vec::new();
        let mut media = Vec::new();
        for part in &result.parts {
            self.note_cache(part);
            match &part.content {
                Content::Text(text) | Content::Refusal(text) => words.push(text.as_str()),
                _ => media.extend(self.plain(part)),
            }
        }
        let response = response(&words.join("\n"), result.is_error);
        let name = names::sent(&call.name);
        let part = json!({"functionResponse": {"id": call.id, "name": name, "response": response}});
        contents.push(Side::User, part);
        media.into_iter().for_each(|part| contents.push(Side::User, part));
    }

    fn media(&mut self, media: &Media) -> Option<Value> {
        let mut part = match &media.source {
            MediaSource::Data(data) => {
                let kind = media.media_type.as_deref().map(embedded::media_type).or_else(|| sniffed(data))?;
                json!({"inlineData": {"mimeType": kind, "data": data}})
            }
            MediaSource::Text(words) => text(words),
            MediaSource::File(_) if self.prompt.format != Format::Gemini => return None,
            MediaSource::Url(uri) | MediaSource::File(uri) => {
                let mut file = Map::new();
                if let Some(kind) = &media.media_type {
                    file.insert("mimeType".into(), kind.as_str().into());
                }
                file.insert("fileUri".into(), uri.as_str().into());
                json!({ "fileData": file })
            }
        };
        match &media.detail {
            Some(detail) if self.prompt.format == Format::Gemini => {
                let level = format!("MEDIA_RESOLUTION_{}", detail.to_ascii_uppercase());
                part["mediaResolution"] = json!({ "level": level });
            }
            Some(detail) if detail != "auto" => self.drop_field(Field::ImageDetail),
            _ => {}
        }
        Some(part)
    }
}

/// Attaches a signature to the text directly before it, or else adds an empty part for it.
fn place(signature: Option<String>, written: &mut Vec<Value>) {
    let Some(signature) = signature else { return };
    match written.last_mut() {
        Some(part) if part.get("text").is_some() && part.get("thoughtSignature").is_none() => {
            with_signature(part, &signature);
        }
        _ => written.push(json!({"text": "", "thoughtSignature": signature})),
    }
}

fn function_call(call: &ToolCall) -> Value {
    let wrapped = || serde_json::from_str(&custom::wrap(&call.arguments)).unwrap_or_default();
    let args: Value = match serde_json::from_str(&call.arguments) {
        _ if call.custom => wrapped(),
        Ok(Value::Object(members)) => members.into(),
        _ if call.arguments.trim().is_empty() => Map::new().into(),
        Ok(Value::Null) => Map::new().into(),
        _ => wrapped(),
    };
    json!({"functionCall": {"id": call.id, "name": names::sent(&call.name), "args": args}})
}

/// Wraps a result in an object, as the API requires.
fn response(words: &str, is_error: bool) -> Value {
    if is_error {
        return json!({ "error": words });
    }
    match serde_json::from_str::<Value>(words) {
        Ok(value @ Value::Object(_)) => value,
        _ => json!({ "result": words }),
    }
}

/// The media type of base64 data, detected by its first characters.
fn sniffed(data: &str) -> Option<&'static str> {
    const KINDS: [(&str, &str); 5] = [
        ("iVBORw0", "image/png"),
        ("/9j/", "image/jpeg"),
        ("R0lGOD", "image/gif"),
        ("UklGR", "image/webp"),
        ("JVBERi", "application/pdf"),
    ];
    KINDS.iter().find(|(start, _)| data.starts_with(start)).map(|(_, kind)| *kind)
}
