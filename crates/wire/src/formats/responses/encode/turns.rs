//! Encodes turns as input items.

use std::collections::HashSet;

use domain::call::Format;
use domain::canon::{Content, Field, Media, MediaSource, Part, Role, Thinking, ToolCall, ToolResult, Turn};
use serde_json::{Value, json};

use super::{Encoder, tools};

pub(super) fn write(encoder: &mut Encoder<'_>, turns: &[Turn]) -> Vec<Value> {
    let calls = turns.iter().flat_map(|turn| &turn.parts).filter_map(|part| match &part.content {
        Content::ToolCall(call) if call.custom => Some(call.id.as_str()),
        _ => None,
    });
    let mut writer = Writer { custom: calls.collect(), items: Vec::new(), encoder };
    for turn in turns {
        writer.turn(turn);
    }
    writer.items
}

struct Writer<'a, 'b, 'c> {
    encoder: &'a mut Encoder<'c>,
    /// Ids of the custom tool calls, whose results have their own item type.
    custom: HashSet<&'b str>,
    items: Vec<Value>,
}

impl Writer<'_, '_, '_> {
    fn turn(&mut self, turn: &Turn) {
        let developer = self.encoder.target.vendor.quirks.developer_role;
        let role = match turn.role {
            Role::System => "system",
            Role::Developer if developer => "developer",
            Role::Developer => "system",
            Role::User => "user",
            Role::Assistant | Role::Tool => "assistant",
        };
        let mut content = Vec::new();
        for part in &turn.parts {
            if part.cache.is_some() {
                self.encoder.drop(Field::CacheControl);
            }
            let item = match &part.content {
                Content::Thinking(thinking) => self.thinking(thinking),
                Content::ToolCall(call) => Some(self.call(call)),
                Content::ToolResult(result) => Some(self.result(result)),
                Content::Foreign { format, value } => self.foreign(*format, value, part),
                _ => {
                    content.extend(self.part(part, role == "assistant"));
                    continue;
                }
            };
            if let Some(item) = item {
                self.message(role, &mut content);
                self.items.push(item);
            }
        }
        self.message(role, &mut content);
    }

    fn message(&mut self, role: &str, content: &mut Vec<Value>) {
        if !content.is_empty() {
            let content = std::mem::take(content);
            self.items.push(json!({"type": "message", "role": role, "content": content}));
        }
    }

    fn part(&mut self, part: &Part, assistant: bool) -> Option<Value> {
        let written = match &part.content {
            Content::Text(text) => {
                let kind = if assistant { "output_text" } else { "input_text" };
                Some(json!({"type": kind, "text": text}))
            }
            Content::Refusal(text) if assistant => Some(json!({"type": "refusal", "refusal": text})),
            Content::Refusal(text) => Some(json!({"type": "input_text", "text": text})),
            Content::Image(media) if !assistant => self.image(media),
            Content::Document(media) if !assistant => self.document(media),
            Content::Audio(media) if !assistant => audio(media),
            _ => None,
        };
        if written.is_none() {
            self.encoder.dropped.name(part.place.0.as_str());
        }
        written
    }

    fn image(&self, media: &Media) -> Option<Value> {
        let mut written = match &media.source {
            MediaSource::Url(url) => json!({"type": "input_image", "image_url": url}),
            MediaSource::Data(data) => {
                json!({"type": "input_image", "image_url": data_url(media, data, "image/png")})
            }
            MediaSource::File(id) if self.supports_files() => json!({"type": "input_image", "file_id": id}),
            MediaSource::File(_) | MediaSource::Text(_) => return None,
        };
        if let Some(detail) = &media.detail {
            written["detail"] = detail.as_str().into();
        }
        Some(written)
    }

    fn document(&self, media: &Media) -> Option<Value> {
        let mut written = match &media.source {
            MediaSource::Url(url) => json!({"type": "input_file", "file_url": url}),
            MediaSource::Data(data) if media.media_type.is_none() => {
                json!({"type": "input_file", "file_data": data})
            }
            MediaSource::Data(data) => {
                json!({"type": "input_file", "file_data": data_url(media, data, "application/pdf")})
            }
            MediaSource::File(id) if self.supports_files() => json!({"type": "input_file", "file_id": id}),
            MediaSource::File(_) => return None,
            MediaSource::Text(text) => {
                let title = media.name.as_ref().map(|name| format!("{name}:\n\n")).unwrap_or_default();
                return Some(json!({"type": "input_text", "text": format!("{title}{text}")}));
            }
        };
        let embedded = matches!(media.source, MediaSource::Data(_)) && !self.encoder.native();
        let name = media.name.as_deref().or(embedded.then_some("document.pdf"));
        // A URL or file id already identifies the file.
        if let Some(name) = name.filter(|_| embedded || self.encoder.native()) {
            written["filename"] = name.into();
        }
        Some(written)
    }

    /// Whether file ids are valid: they only are at the provider that issued them.
    fn supports_files(&self) -> bool {
        matches!(self.encoder.prompt.format, Format::Chat | Format::Responses)
    }

    /// Encodes reasoning of this model. That of another model, or without state, cannot be sent.
    fn thinking(&self, thinking: &Thinking) -> Option<Value> {
        let opaque = thinking.opaque.as_ref()?;
        if !opaque.fits(Format::Responses, self.encoder.target.model) {
            return None;
        }
        let text = opaque.text.as_deref().unwrap_or(&thinking.text);
        let summary: Vec<Value> =
            (!text.is_empty()).then(|| json!({"type": "summary_text", "text": text})).into_iter().collect();
        Some(json!({"type": "reasoning", "summary": summary, "encrypted_content": opaque.data}))
    }

    fn call(&self, call: &ToolCall) -> Value {
        let (namespace, name) = tools::apart(&self.encoder.prompt.tools, &call.name);
        let mut written = if call.custom {
            json!({"type": "custom_tool_call", "call_id": call.id, "name": name, "input": call.arguments})
        } else {
            let arguments = if call.arguments.trim().is_empty() { "{}" } else { &call.arguments };
            json!({"type": "function_call", "call_id": call.id, "name": name, "arguments": arguments})
        };
        if let Some(namespace) = namespace {
            written["namespace"] = namespace.into();
        }
        written
    }

    fn result(&mut self, result: &ToolResult) -> Value {
        if result.is_error {
            self.encoder.drop(Field::IsError);
        }
        if result.parts.iter().any(|part| part.cache.is_some()) {
            self.encoder.drop(Field::CacheControl);
        }
        let output = match result.parts.as_slice() {
            [] => Value::String(String::new()),
            [part] if part.as_text().is_some() => part.as_text().unwrap_or_default().into(),
            parts => parts.iter().filter_map(|part| self.part(part, false)).collect(),
        };
        let custom = self.custom.contains(result.call_id.as_str());
        let kind = if custom { "custom_tool_call_output" } else { "function_call_output" };
        json!({"type": kind, "call_id": result.call_id, "output": output})
    }

    fn foreign(&mut self, format: Format, value: &Value, part: &Part) -> Option<Value> {
        if format == Format::Responses {
            return Some(value.clone());
        }
        self.encoder.dropped.name(part.place.0.as_str());
        None
    }
}

fn data_url(media: &Media, data: &str, usual: &str) -> String {
    format!("data:{};base64,{data}", media.media_type.as_deref().unwrap_or(usual))
}

fn audio(media: &Media) -> Option<Value> {
    let MediaSource::Data(data) = &media.source else { return None };
    let format = match media.media_type.as_deref() {
        Some("audio/mpeg" | "audio/mp3") => "mp3",
        Some(other) => other.strip_prefix("audio/").unwrap_or("wav"),
        None => "wav",
    };
    Some(json!({"type": "input_audio", "input_audio": {"data": data, "format": format}}))
}
