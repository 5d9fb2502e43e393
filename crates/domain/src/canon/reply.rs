//! The canonical response, and the collector that assembles it from stream events.

use bytes::Bytes;

use super::{Block, Content, Delta, Event, Part, Thinking, ToolCall};
use crate::usage::Usage;

#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The provider's response id.
    pub id: Option<String>,
    /// The model as named in the provider's response.
    pub model: Option<String>,
    pub parts: Vec<Part>,
    pub stop: StopReason,
    /// Absent when the provider reported none.
    pub usage: Option<Usage>,
    /// The provider's usage object, unchanged.
    pub raw_usage: Bytes,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StopReason {
    #[default]
    EndTurn,
    /// A stop sequence of the client, where the provider names it.
    StopSequence(Option<String>),
    MaxTokens,
    ToolCalls,
    /// The provider's content filter stopped the answer.
    ContentFilter,
    /// The model refused.
    Refusal,
    /// The provider paused a long turn; the client may send the turn back to continue.
    PauseTurn,
}

impl StopReason {
    /// The corresponding `finish_reason` of chat completions, or its own name.
    pub fn as_finish_reason(&self) -> &'static str {
        match self {
            Self::EndTurn | Self::StopSequence(_) => "stop",
            Self::MaxTokens => "length",
            Self::ToolCalls => "tool_calls",
            Self::ContentFilter => "content_filter",
            Self::Refusal => "refusal",
            Self::PauseTurn => "pause_turn",
        }
    }
}

impl Default for Reply {
    fn default() -> Self {
        Self {
            id: None,
            model: None,
            parts: Vec::new(),
            stop: StopReason::EndTurn,
            usage: None,
            raw_usage: Bytes::new(),
        }
    }
}

impl Reply {
    /// Converts the response to stream events.
    pub fn into_events(self) -> Vec<Event> {
        let mut events = vec![Event::Begin { id: self.id, model: self.model }];
        for (index, part) in self.parts.into_iter().enumerate() {
            let index = index as u32;
            let (block, deltas) = match part.content {
                Content::Text(text) => (Block::Text, vec![Delta::Text(text)]),
                Content::Refusal(text) => (Block::Refusal, vec![Delta::Text(text)]),
                Content::Thinking(Thinking { text, opaque }) => {
                    let text = (!text.is_empty()).then_some(Delta::Text(text));
                    (Block::Thinking, text.into_iter().chain(opaque.map(Delta::Opaque)).collect())
                }
                Content::ToolCall(call) => {
                    let ToolCall { id, name, arguments, custom, opaque } = call;
                    (Block::ToolCall { id, name, custom, opaque }, vec![Delta::Arguments(arguments)])
                }
                Content::Foreign { format, value } => (Block::Foreign { format, value }, vec![]),
                Content::Image(_) | Content::Document(_) | Content::Audio(_) | Content::ToolResult(_) => {
                    continue;
                }
            };
            events.push(Event::Open { index, block });
            events.extend(deltas.into_iter().map(|delta| Event::Delta { index, delta }));
            events.push(Event::Close { index });
        }
        if let Some(usage) = self.usage {
            events.push(Event::Usage { usage: Box::new(usage), raw: self.raw_usage });
        }
        events.push(Event::Finish { reason: self.stop });
        events.push(Event::End);
        events
    }
}

/// Assembles a response from stream events.
#[derive(Debug, Default)]
pub struct Collector {
    reply: Reply,
    /// The index of the part for each block; block indexes are small and dense.
    places: Vec<Option<usize>>,
}

impl Collector {
    pub fn take(&mut self, event: &Event) {
        match event {
            Event::Begin { id, model } => {
                self.reply.id.clone_from(id);
                self.reply.model.clone_from(model);
            }
            Event::Open { index, block } => self.open(*index as usize, block),
            Event::Delta { index, delta } => self.grow(*index as usize, delta),
            Event::Usage { usage, raw } => {
                self.reply.usage = Some((**usage).clone());
                self.reply.raw_usage = raw.clone();
            }
            Event::Finish { reason } => self.reply.stop = reason.clone(),
            Event::Close { .. } | Event::End => {}
        }
    }

    pub fn finish(self) -> Reply {
        self.reply
    }

    /// The response assembled so far.
    pub fn so_far(&self) -> &Reply {
        &self.reply
    }

    fn open(&mut self, index: usize, block: &Block) {
        let content = match block {
            Block::Text => Content::Text(String::new()),
            Block::Refusal => Content::Refusal(String::new()),
            Block::Thinking => Content::Thinking(Thinking::default()),
            Block::ToolCall { id, name, custom, opaque } => Content::ToolCall(ToolCall {
                id: id.clone(),
                name: name.clone(),
                arguments: String::new(),
                custom: *custom,
                opaque: opaque.clone(),
            }),
            Block::Foreign { format, value } => Content::Foreign { format: *format, value: value.clone() },
        };
        if self.places.len() <= index {
            self.places.resize(index + 1, None);
        }
        self.places[index] = Some(self.reply.parts.len());
        self.reply.parts.push(Part::new(content));
    }

    fn grow(&mut self, index: usize, delta: &Delta) {
        let place = self.places.get(index).copied().flatten();
        let Some(part) = place.and_then(|place| self.reply.parts.get_mut(place)) else { return };
        match (&mut part.content, delta) {
            (Content::Text(text) | Content::Refusal(text), Delta::Text(more)) => text.push_str(more),
            (Content::Thinking(thinking), Delta::Text(more)) => thinking.text.push_str(more),
            (Content::Thinking(thinking), Delta::Opaque(opaque)) => thinking.opaque = Some(opaque.clone()),
            (Content::ToolCall(call), Delta::Arguments(more)) => call.arguments.push_str(more),
            (Content::ToolCall(call), Delta::Opaque(opaque)) => call.opaque = Some(opaque.clone()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::Format;
    use crate::canon::{Opaque, Origin};

    #[test]
    fn a_reply_round_trips_through_events() {
        let opaque = Opaque {
            origin: Origin { format: Format::Messages, model: "m".into() },
            data: "sig".into(),
            whole: false,
            text: None,
        };
        let call = ToolCall {
            id: "c".into(),
            name: "n".into(),
            arguments: "{\"a\":1}".into(),
            custom: false,
            opaque: None,
        };
        let reply = Reply {
            id: Some("x".into()),
            parts: vec![
                Content::Thinking(Thinking { text: "hm".into(), opaque: Some(opaque) }).into(),
                Part::text("hello"),
                Content::ToolCall(call).into(),
            ],
            stop: StopReason::ToolCalls,
            usage: Some(Usage::default()),
            ..Reply::default()
        };
        let mut collector = Collector::default();
        reply.clone().into_events().iter().for_each(|event| collector.take(event));
        assert_eq!(collector.finish(), reply);
    }
}
