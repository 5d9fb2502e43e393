//! Encodes parts as blocks. Parts that cannot be expressed are recorded as dropped, with their path.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::call::Format;
use domain::canon::{
    CacheMark, Content, Field, Media, MediaSource, Part, Role, Thinking, ToolCall, ToolResult,
};
use serde_json::{Map, Value, json};

use super::Encoder;
use crate::custom;
use crate::embedded;

pub(super) type Block = Map<String, Value>;

pub(super) fn mark(block: &mut Block, mark: Option<CacheMark>) {
    let mark = match mark {
        None => return,
        Some(CacheMark::FiveMinutes) => json!({"type": "ephemeral"}),
        Some(CacheMark::OneHour) => json!({"type": "ephemeral", "ttl": "1h"}),
    };
    block.insert("cache_control".into(), mark);
}

fn block(kind: &str) -> Block {
    Map::from_iter([("type".to_owned(), kind.into())])
}

pub(super) fn text(text: &str) -> Option<Block> {
    if text.trim().is_empty() {
        return None;
    }
    // The most frequent block: a map that grows allocates room for four members.
    let mut block = Map::with_capacity(2);
    block.insert("type".into(), "text".into());
    block.insert("text".into(), text.into());
    Some(block)
}

impl Encoder<'_> {
    pub(super) fn block(&mut self, part: &Part, role: Role) -> Option<Block> {
        let mut block = match (&part.content, role) {
            (Content::Text(content) | Content::Refusal(content), _) => text(content)?,
            (Content::Foreign { format: Format::Messages, value: Value::Object(value) }, _) => {
                return Some(value.clone());
            }
            (Content::Thinking(thinking), Role::Assistant) => return self.thinking(thinking),
            (Content::ToolCall(call), Role::Assistant) => self.call(call),
            (Content::ToolResult(result), Role::User | Role::Tool) => self.result(result),
            (Content::Image(media), Role::User | Role::Tool) => match self.image(media) {
                Some(block) => block,
                None => return self.without(part),
            },
            (Content::Document(media), Role::User | Role::Tool) => match self.document(media) {
                Some(block) => block,
                None => return self.without(part),
            },
            _ => return self.without(part),
        };
        mark(&mut block, part.cache);
        self.leftovers.restore(&part.place.0, &mut block);
        Some(block)
    }

    fn without(&mut self, part: &Part) -> Option<Block> {
        if !part.place.0.is_empty() {
            self.dropped.name(part.place.0.as_str());
        }
        None
    }

    /// Encodes thinking of this model; that of another model is omitted.
    fn thinking(&self, thinking: &Thinking) -> Option<Block> {
        let opaque = thinking.opaque.as_ref()?;
        if !opaque.fits(Format::Messages, self.target.model) {
            return None;
        }
        if opaque.whole {
            let mut redacted = block("redacted_thinking");
            redacted.insert("data".into(), opaque.data.as_str().into());
            return Some(redacted);
        }
        let mut thought = block("thinking");
        thought.insert("thinking".into(), opaque.text.as_ref().unwrap_or(&thinking.text).as_str().into());
        thought.insert("signature".into(), opaque.data.as_str().into());
        Some(thought)
    }

    fn call(&mut self, call: &ToolCall) -> Block {
        let input = match serde_json::from_str(&call.arguments) {
            Ok(input @ Value::Object(_)) if !call.custom => input,
            _ if call.arguments.trim().is_empty() && !call.custom => json!({}),
            _ => json!({custom::INPUT: call.arguments}),
        };
        let mut used = block("tool_use");
        used.insert("id".into(), self.ids.call(&call.id).into());
        used.insert("name".into(), call.name.as_str().into());
        used.insert("input".into(), input);
        used
    }

    fn result(&mut self, result: &ToolResult) -> Block {
        let mut result_block = block("tool_result");
        result_block.insert("tool_use_id".into(), self.ids.result(&result.call_id).into());
        let content = match result.parts.as_slice() {
            [Part { content: Content::Text(text), cache: None, .. }] if !text.is_empty() => {
                Some(text.as_str().into())
            }
            parts => {
                let blocks: Vec<Value> =
                    parts.iter().filter_map(|part| self.block(part, Role::Tool)).map(Value::Object).collect();
                (!blocks.is_empty()).then_some(Value::Array(blocks))
            }
        };
        // The content of a failed result must not be empty.
        let content = content.or_else(|| result.is_error.then(|| "The tool failed.".into()));
        if let Some(content) = content {
            result_block.insert("content".into(), content);
        }
        if result.is_error {
            result_block.insert("is_error".into(), true.into());
        }
        result_block
    }

    fn image(&mut self, media: &Media) -> Option<Block> {
        let source = match &media.source {
            MediaSource::Data(data) => {
                let media_type =
                    media.media_type.as_deref().map_or_else(|| sniff(data), embedded::media_type);
                json!({"type": "base64", "media_type": media_type, "data": data})
            }
            source => self.elsewhere(source)?,
        };
        if media.detail.as_deref().is_some_and(|detail| detail != "auto") {
            self.drop(Field::ImageDetail);
        }
        let mut image = block("image");
        image.insert("source".into(), source);
        Some(image)
    }

    fn document(&self, media: &Media) -> Option<Block> {
        let plain = |text: &str| json!({"type": "text", "media_type": "text/plain", "data": text});
        let source = match &media.source {
            MediaSource::Text(text) => plain(text),
            MediaSource::Data(data) => match media.media_type.as_deref() {
                None | Some("application/pdf") => {
                    json!({"type": "base64", "media_type": "application/pdf", "data": data})
                }
                // Text files are only accepted as text.
                Some(_) => plain(&String::from_utf8(STANDARD.decode(data).ok()?).ok()?),
            },
            source => self.elsewhere(source)?,
        };
        let mut document = block("document");
        document.insert("source".into(), source);
        if let Some(name) = &media.name {
            document.insert("title".into(), name.as_str().into());
        }
        Some(document)
    }

    /// Encodes a URL or file id. A file id is only valid at the provider that has the file.
    fn elsewhere(&self, source: &MediaSource) -> Option<Value> {
        match source {
            MediaSource::Url(url) => Some(json!({"type": "url", "url": url})),
            MediaSource::File(id) if self.own() => Some(json!({"type": "file", "file_id": id})),
            _ => None,
        }
    }
}

/// The media type of an image, detected by the first characters of its base64.
fn sniff(data: &str) -> &'static str {
    let kinds = [("/9j/", "image/jpeg"), ("R0lGOD", "image/gif"), ("UklGR", "image/webp")];
    kinds.into_iter().find(|(start, _)| data.starts_with(start)).map_or("image/png", |(_, kind)| kind)
}
