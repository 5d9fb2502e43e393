//! Extracts usage from a forwarded answer: JSON or events of any size, in any chunks, in bounded memory.

mod json_field_extractor;
mod lines;
mod references;

use bytes::Bytes;
use domain::call::Format;
use domain::usage::Usage;

use crate::formats;
use crate::json;
pub use json_field_extractor::{JsonFieldExtractor, Member, MemberScope, RequestField};
use lines::{Lines, Piece};
pub use references::references_in;

/// The extracted values. They are not validated, because the body is never parsed as a whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metered {
    pub usage: Option<Usage>,
    /// The last usage object, as raw JSON.
    pub raw: Option<Bytes>,
    pub id: Option<String>,
    pub model: Option<String>,
    /// Bytes of text, reasoning and tool arguments, for an estimate.
    pub content_bytes: u64,
    /// Whether a stream with a terminal event ended without one.
    pub unfinished: bool,
    /// The last `status` of a response object.
    pub status: Option<String>,
    /// Ids of other objects the provider created, such as the output file of a batch.
    pub made: Vec<String>,
}

pub struct Meter {
    shape: Shape,
    extractor: JsonFieldExtractor,
    /// The format of the first usage object. Some formats report usage in parts; later parts are read as the same
    /// format.
    format: Option<Format>,
    /// The current event's `type`.
    kind: Option<String>,
    /// Whether the last event ended the content or a block of it, so that usage may follow.
    answered: bool,
    metered: Metered,
}

enum Shape {
    Json,
    Events(Lines),
    /// A body that is not read.
    Opaque,
}

impl Meter {
    /// Creates a meter for a body of this media type; one that is neither JSON nor an event stream is not read.
    pub fn new(content_type: &str) -> Self {
        Self {
            shape: Shape::of(content_type),
            extractor: JsonFieldExtractor::default(),
            format: None,
            kind: None,
            answered: false,
            metered: Metered::default(),
        }
    }

    pub fn feed(&mut self, chunk: &[u8]) {
        match std::mem::replace(&mut self.shape, Shape::Opaque) {
            Shape::Opaque => {}
            Shape::Json => {
                self.extract(chunk);
                self.shape = Shape::Json;
            }
            Shape::Events(mut lines) => {
                lines.split(chunk, |piece| match piece {
                    Piece::Data(data) => self.extract(data),
                    Piece::End => self.end_event(),
                });
                self.shape = Shape::Events(lines);
            }
        }
    }

    pub fn finish(mut self) -> Metered {
        self.end_event();
        self.metered
    }

    /// Whether the content appears complete, so that only usage is still to come. A single JSON object is complete once
    /// it was sent.
    pub fn is_answered(&self) -> bool {
        match &self.shape {
            Shape::Json => self.extractor.has_finished() || !self.extractor.is_in_array(),
            Shape::Events(_) => self.answered,
            Shape::Opaque => false,
        }
    }

    fn extract(&mut self, data: &[u8]) {
        let Self { extractor, format, kind, metered, .. } = self;
        extractor.feed(data, |member| {
            let Some(value) = member.value else { return };
            match (member.name, member.place) {
                ("usage" | "usageMetadata", _) => note_usage(&member, value, format, metered),
                ("output_file_id" | "error_file_id", MemberScope::Top)
                | ("id", MemberScope::Within("file")) => {
                    metered.made.extend(text(value).filter(|id| !id.is_empty()));
                }
                (_, MemberScope::Within("conversation" | "file")) => {}
                ("id" | "responseId", _) => keep_first(&mut metered.id, value),
                ("model" | "modelVersion", _) => keep_first(&mut metered.model, value),
                ("status", _) => metered.status = text(value).or(metered.status.take()),
                ("type", MemberScope::Top) => *kind = text(value),
                _ => {}
            }
        });
    }

    fn end_event(&mut self) {
        let finished = self.extractor.has_finished();
        let content_bytes = self.extractor.restart();
        // In a Responses API stream, the other events repeat the content of the deltas.
        let repeats = |kind: &str| kind.starts_with("response.") && !kind.ends_with(".delta");
        let kind = self.kind.take();
        match kind.as_deref() {
            Some("message_start" | "response.created") => self.metered.unfinished = true,
            Some(
                "message_stop"
                | "error"
                | "response.completed"
                | "response.failed"
                | "response.incomplete"
                | "response.cancelled",
            ) => self.metered.unfinished = false,
            _ => {}
        }
        // The block may be the last one: formats with blocks report their usage after it.
        let ends_block = matches!(kind.as_deref(), Some("content_block_stop" | "response.output_item.done"));
        if !kind.is_some_and(|kind| repeats(&kind)) {
            self.answered &= content_bytes == 0;
            self.metered.content_bytes = self.metered.content_bytes.saturating_add(content_bytes);
        }
        self.answered |= finished || ends_block;
    }
}

impl Shape {
    fn of(content_type: &str) -> Self {
        let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match essence.as_str() {
            "text/event-stream" => Self::Events(Lines::default()),
            json if json.ends_with("json") || json.ends_with("jsonl") => Self::Json,
            _ => Self::Opaque,
        }
    }
}

fn note_usage(member: &Member<'_>, value: &[u8], known: &mut Option<Format>, metered: &mut Metered) {
    let Some(format) = dialect(member, value, *known) else { return };
    if let Some(usage) = formats::upstream(format).read_usage(value, metered.usage.as_ref()) {
        *known = Some(format);
        metered.usage = Some(usage);
        metered.raw = Some(Bytes::copy_from_slice(value));
    }
}

/// The format of a usage object, determined by its position and member names.
fn dialect(member: &Member<'_>, value: &[u8], known: Option<Format>) -> Option<Format> {
    let object = json::scan(value).ok()?;
    let has = |names: &[&str]| names.iter().any(|name| object.get(value, name).is_some());
    if member.name == "usageMetadata" {
        return Some(Format::Gemini);
    }
    if has(&["prompt_tokens", "completion_tokens"]) {
        return Some(Format::Chat);
    }
    if !has(&["input_tokens", "output_tokens"]) {
        return None;
    }
    match member.place {
        MemberScope::Within("message") => Some(Format::Messages),
        MemberScope::Within(_) => Some(Format::Responses),
        MemberScope::Top if known == Some(Format::Messages) => known,
        MemberScope::Top if has(&["cache_creation_input_tokens", "cache_read_input_tokens"]) => {
            Some(Format::Messages)
        }
        MemberScope::Top if has(&["total_tokens", "input_tokens_details", "output_tokens_details"]) => {
            Some(Format::Responses)
        }
        MemberScope::Top => Some(Format::Messages),
    }
}

fn keep_first(slot: &mut Option<String>, value: &[u8]) {
    if slot.is_none() {
        *slot = text(value).filter(|text| !text.is_empty());
    }
}

fn text(value: &[u8]) -> Option<String> {
    json::string_at(value, &(0..value.len())).map(|text| text.into_owned())
}

#[cfg(test)]
mod tests;
