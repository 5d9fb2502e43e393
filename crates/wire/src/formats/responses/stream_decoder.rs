//! Decodes a provider's stream of response events.

mod slots;

use bytes::Bytes;
use domain::call::Format;
use domain::canon::{Block, Content, Delta, Event, Reply};
use domain::fault::{self, Fault};
use serde_json::value::RawValue;

use super::decode::parts_of;
use super::stop;
use super::wire_types::{Begun, Frame, Item, Names, Opened, Reading, Response, Text, unreadable};
use super::{error, kind, read_usage};
use crate::codec::{Decoder, Decoding};
use crate::sse;
use slots::{BlockKind, Key, Slots};

pub struct StreamDecoder {
    decoding: Decoding,
    begun: bool,
    ended: bool,
    slots: Slots,
    called: bool,
    refused: bool,
}

impl StreamDecoder {
    pub fn new(decoding: Decoding) -> Self {
        let slots = Slots::default();
        Self { decoding, begun: false, ended: false, slots, called: false, refused: false }
    }
}

impl Decoder for StreamDecoder {
    fn decode_event(&mut self, event: &sse::Event, out: &mut Vec<Event>) -> Result<(), Fault> {
        let data = event.data();
        if self.ended || matches!(data.trim_ascii(), b"" | b"[DONE]") {
            return Ok(());
        }
        let Some(kind) = kind::of(event, &data) else {
            return Err(error::read_stream_error(&data, &self.decoding.provider));
        };
        self.event(&kind, &data, out)
    }

    fn close(&mut self, _out: &mut Vec<Event>) -> Result<(), Fault> {
        if self.ended { Ok(()) } else { Err(fault::upstream_interrupted(&self.decoding.provider)) }
    }
}

impl StreamDecoder {
    fn event(&mut self, kind: &[u8], data: &[u8], out: &mut Vec<Event>) -> Result<(), Fault> {
        match kind {
            b"response.created" | b"response.in_progress" | b"response.queued" => {
                let begun: Begun<'_> = self.typed(data)?;
                let response = begun.response;
                let named = |text: fn(&Names<'_>) -> Option<String>| response.as_ref().and_then(text);
                let id = named(|names| Text::owned(&names.id));
                self.begin(id, named(|names| Text::owned(&names.model)), out);
            }
            b"response.output_text.delta" => self.append_text(BlockKind::Text, self.typed(data)?, out),
            b"response.refusal.delta" => self.append_text(BlockKind::Refusal, self.typed(data)?, out),
            b"response.reasoning_summary_text.delta" | b"response.reasoning_summary_part.added" => {
                self.think(true, self.typed(data)?, out);
            }
            b"response.reasoning_text.delta" | b"response.reasoning.delta" => {
                self.think(false, self.typed(data)?, out);
            }
            b"response.function_call_arguments.delta" | b"response.custom_tool_call_input.delta" => {
                let frame: Frame<'_> = self.typed(data)?;
                let key = Key { item: frame.output_index, part: None };
                self.slots.grow(key, Text::of(&frame.delta), out);
            }
            b"response.output_item.added" => self.item_added(&self.typed(data)?, out)?,
            b"response.content_part.added" => self.part_added(&self.typed(data)?, out),
            b"response.content_part.done" => self.part_done(&self.typed(data)?, out),
            b"response.output_item.done" => self.item_done(&self.typed(data)?, out)?,
            b"response.completed" | b"response.incomplete" => self.end(&self.typed(data)?, out)?,
            b"response.failed" | b"response.cancelled" | b"response.canceled" | b"error" => {
                return Err(error::read_stream_error(data, &self.decoding.provider));
            }
            _ => {}
        }
        Ok(())
    }

    fn typed<'a, T: serde::Deserialize<'a>>(&self, data: &'a [u8]) -> Result<T, Fault> {
        serde_json::from_slice(data).map_err(|error| unreadable(&self.decoding, &error))
    }

    fn begin(&mut self, id: Option<String>, model: Option<String>, out: &mut Vec<Event>) {
        if !std::mem::replace(&mut self.begun, true) {
            out.push(Event::Begin { id, model });
        }
    }

    fn append_text(&mut self, kind: BlockKind, frame: Frame<'_>, out: &mut Vec<Event>) {
        let key = Key { item: frame.output_index, part: Some(frame.content_index) };
        self.open(key, kind, out);
        self.slots.grow(key, Text::of(&frame.delta), out);
    }

    fn open(&mut self, key: Key, kind: BlockKind, out: &mut Vec<Event>) {
        self.begin(None, None, out);
        let block = match kind {
            BlockKind::Text => Block::Text,
            BlockKind::Refusal => Block::Refusal,
            BlockKind::Reasoning { .. } => Block::Thinking,
            BlockKind::Call => return,
        };
        self.refused |= kind == BlockKind::Refusal;
        self.slots.open(key, kind, block, out);
    }

    /// Emits reasoning. Some providers send the reasoning text, some its summary, a few both: whichever arrives first
    /// is used.
    fn think(&mut self, summary: bool, frame: Frame<'_>, out: &mut Vec<Event>) {
        let key = Key { item: frame.output_index, part: None };
        self.open(key, BlockKind::Reasoning { summary: None, part: 0 }, out);
        let part = if summary { frame.summary_index } else { frame.content_index };
        self.slots.think(key, summary, part, Text::of(&frame.delta), out);
    }

    fn item_added(&mut self, frame: &Opened<'_>, out: &mut Vec<Event>) -> Result<(), Fault> {
        let Some(raw) = frame.item else { return Ok(()) };
        self.begin(None, None, out);
        let key = Key { item: frame.output_index, part: None };
        match Reading::of(raw).map_err(|error| unreadable(&self.decoding, &error))? {
            Reading::Reasoning(_) => self.open(key, BlockKind::Reasoning { summary: None, part: 0 }, out),
            Reading::Call { item, custom } => self.open_call(key, &item, custom, out),
            Reading::Message(_) | Reading::Foreign => {}
        }
        Ok(())
    }

    fn open_call(&mut self, key: Key, item: &Item<'_>, custom: bool, out: &mut Vec<Event>) {
        if self.slots.contains(key) {
            return;
        }
        self.begin(None, None, out);
        let name = item.name();
        if self.decoding.schema_tool.as_deref() == Some(&name) {
            return self.slots.open(key, BlockKind::Text, Block::Text, out);
        }
        self.called = true;
        let id = item.call_id(&mut self.decoding);
        self.slots.open(key, BlockKind::Call, Block::ToolCall { id, name, custom, opaque: None }, out);
    }

    fn part_added(&mut self, frame: &Opened<'_>, out: &mut Vec<Event>) {
        let kind = match frame.part.as_ref().map(|part| &*part.kind) {
            Some("output_text") => BlockKind::Text,
            Some("refusal") => BlockKind::Refusal,
            _ => return,
        };
        self.open(Key { item: frame.output_index, part: Some(frame.content_index) }, kind, out);
    }

    fn part_done(&mut self, frame: &Opened<'_>, out: &mut Vec<Event>) {
        let key = Key { item: frame.output_index, part: Some(frame.content_index) };
        if let Some(part) = &frame.part {
            self.slots.complete(key, part.text(), out);
        }
        self.slots.close(key, out);
    }

    /// Handles a completed item: content that was not in any delta is emitted now.
    fn item_done(&mut self, frame: &Opened<'_>, out: &mut Vec<Event>) -> Result<(), Fault> {
        let Some(raw) = frame.item else { return Ok(()) };
        self.begin(None, None, out);
        let key = Key { item: frame.output_index, part: None };
        match Reading::of(raw).map_err(|error| unreadable(&self.decoding, &error))? {
            Reading::Message(item) => {
                for (index, part) in item.content.iter().flatten().enumerate() {
                    let key = Key { part: Some(index as u64), ..key };
                    let kind = if part.is_refusal() { BlockKind::Refusal } else { BlockKind::Text };
                    self.open(key, kind, out);
                    self.slots.complete(key, part.text(), out);
                    self.slots.close(key, out);
                }
            }
            Reading::Reasoning(item) => {
                self.open(key, BlockKind::Reasoning { summary: None, part: 0 }, out);
                if self.slots.emitted(key) == 0 {
                    self.slots.complete(key, &item.reasoning_text(), out);
                }
                if let Some(state) = item.state(&self.decoding) {
                    self.slots.hand_over(key, Delta::Opaque(state), out);
                }
                self.slots.close(key, out);
            }
            Reading::Call { item, custom } => {
                self.open_call(key, &item, custom, out);
                self.slots.complete(key, item.arguments(custom), out);
                self.slots.close(key, out);
            }
            Reading::Foreign => {
                let value =
                    serde_json::from_str(raw.get()).map_err(|error| unreadable(&self.decoding, &error))?;
                let block = Block::Foreign { format: Format::Responses, value };
                self.slots.open(key, BlockKind::Call, block, out);
                self.slots.close(key, out);
            }
        }
        Ok(())
    }

    fn end(&mut self, frame: &Opened<'_>, out: &mut Vec<Event>) -> Result<(), Fault> {
        let Some(raw) = frame.response else {
            return Err(fault::upstream_invalid_response(
                &self.decoding.provider,
                "its end has no 'response'",
            ));
        };
        let response: Response<'_> =
            serde_json::from_str(raw.get()).map_err(|error| unreadable(&self.decoding, &error))?;
        self.begin(Text::owned(&response.id), Text::owned(&response.model), out);
        if self.slots.is_empty() {
            self.catch_up(response.output.as_deref().unwrap_or_default(), out)?;
        }
        self.slots.close_all(out);
        let raw_usage = response.usage.map_or("", RawValue::get).as_bytes();
        if let Some(usage) = read_usage(raw_usage) {
            out.push(Event::Usage { usage: Box::new(usage), raw: Bytes::copy_from_slice(raw_usage) });
        }
        out.push(Event::Finish { reason: stop::read(&response, self.called, self.refused) });
        out.push(Event::End);
        self.ended = true;
        Ok(())
    }

    /// Emits the output of the terminal event if nothing was streamed before.
    fn catch_up(&mut self, output: &[&RawValue], out: &mut Vec<Event>) -> Result<(), Fault> {
        let mut parts = Vec::new();
        for raw in output {
            parts_of(raw, &mut self.decoding, &mut parts)?;
        }
        self.called = parts.iter().any(|part| matches!(part.content, Content::ToolCall(_)));
        self.refused = parts.iter().any(|part| matches!(part.content, Content::Refusal(_)));
        let events = Reply { parts, ..Reply::default() }.into_events();
        let is_block_event =
            |event: &Event| matches!(event, Event::Open { .. } | Event::Delta { .. } | Event::Close { .. });
        out.extend(events.into_iter().filter(is_block_event));
        Ok(())
    }
}
