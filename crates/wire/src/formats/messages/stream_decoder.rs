//! Decodes Anthropic's stream into canonical events, emitted as they are read.

mod slot;

use bytes::Bytes;
use domain::call::Format;
use domain::canon::{Block, Delta, Event};
use domain::fault::{self, Fault};
use domain::usage::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::decode::{state, stop_of};
use super::usage::read_usage;
use super::wire_types::{BlockDelta, BlockStart, BlockStop, MessageDelta, MessageStart, RawBlock, TypeTag};
use crate::codec::{Decoder, Decoding};
use crate::provider_error;
use crate::sse;
use slot::{Gathered, Slot, State};

pub struct StreamDecoder {
    decoding: Decoding,
    slots: Vec<Slot>,
    /// Index of the next canonical block.
    next: u32,
    calls: bool,
    usage: Option<Usage>,
    /// The usage members received so far; later values replace earlier ones.
    raw_usage: Map<String, Value>,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Stage {
    Waiting,
    Begun,
    Finished,
    Ended,
}

impl Decoder for StreamDecoder {
    fn decode_event(&mut self, event: &sse::Event, out: &mut Vec<Event>) -> Result<(), Fault> {
        let data = event.data();
        let data = data.trim_ascii();
        if data.is_empty() || self.stage == Stage::Ended {
            return Ok(());
        }
        match event.name() {
            Some(name) if !name.is_empty() && name != b"message" => self.event(name, data, out),
            _ => {
                let kind: TypeTag = self.json(data)?;
                self.event(kind.kind.as_bytes(), data, out)
            }
        }
    }

    fn close(&mut self, _out: &mut Vec<Event>) -> Result<(), Fault> {
        match self.stage {
            Stage::Ended => Ok(()),
            _ => Err(fault::upstream_interrupted(&self.decoding.provider)),
        }
    }
}

impl StreamDecoder {
    pub fn new(decoding: Decoding) -> Self {
        let slots = Vec::new();
        Self {
            decoding,
            slots,
            next: 0,
            calls: false,
            usage: None,
            raw_usage: Map::new(),
            stage: Stage::Waiting,
        }
    }

    fn event(&mut self, kind: &[u8], data: &[u8], out: &mut Vec<Event>) -> Result<(), Fault> {
        match kind {
            b"content_block_delta" => self.delta(data, out),
            b"content_block_start" => self.block_start(data, out),
            b"content_block_stop" => {
                let BlockStop { index } = self.json(data)?;
                self.stop(index, out)
            }
            b"message_start" => self.message_start(data, out),
            b"message_delta" => self.message_delta(data, out),
            b"message_stop" if self.stage == Stage::Finished => {
                self.stage = Stage::Ended;
                out.push(Event::End);
                Ok(())
            }
            b"message_stop" => Err(self.invalid("it stops without a reason")),
            b"error" => Err(provider_error::read_stream_error(data, &self.decoding.provider)),
            _ => Ok(()),
        }
    }

    fn invalid(&self, reason: &str) -> Fault {
        fault::upstream_invalid_response(&self.decoding.provider, reason)
    }

    fn json<'de, T: Deserialize<'de>>(&self, data: &'de [u8]) -> Result<T, Fault> {
        serde_json::from_slice(data).map_err(|_| self.invalid("an event is malformed"))
    }

    fn message_start(&mut self, data: &[u8], out: &mut Vec<Event>) -> Result<(), Fault> {
        if self.stage != Stage::Waiting {
            return Err(self.invalid("it begins twice"));
        }
        let MessageStart { message } = self.json(data)?;
        self.stage = Stage::Begun;
        out.push(Event::Begin { id: message.id, model: message.model });
        self.usage(message.usage, out);
        Ok(())
    }

    fn usage(&mut self, raw: Option<&RawValue>, out: &mut Vec<Event>) {
        let Some(raw) = raw else { return };
        let Some(usage) = read_usage(raw.get().as_bytes(), self.usage.as_ref()) else { return };
        if let Ok(reported) = serde_json::from_str::<Map<String, Value>>(raw.get()) {
            self.raw_usage.extend(reported.into_iter().filter(|(_, value)| !value.is_null()));
        }
        let raw = Bytes::from(serde_json::to_vec(&self.raw_usage).unwrap_or_default());
        self.usage = Some(usage.clone());
        out.push(Event::Usage { usage: Box::new(usage), raw });
    }

    fn open(&mut self, block: Block, out: &mut Vec<Event>) -> u32 {
        let index = self.next;
        self.next += 1;
        out.push(Event::Open { index, block });
        index
    }

    fn block_start(&mut self, data: &[u8], out: &mut Vec<Event>) -> Result<(), Fault> {
        if self.stage != Stage::Begun {
            return Err(self.invalid("a block is outside of its message"));
        }
        let start: BlockStart = self.json(data)?;
        if self.slots.iter().any(|slot| slot.index == start.index) {
            return Err(self.invalid("a block begins twice"));
        }
        let block: RawBlock = self.json(start.content_block.get().as_bytes())?;
        let state = match &*block.kind {
            "text" => {
                let index = self.open(Block::Text, out);
                append_text(index, block.text, out);
                State::Text(index)
            }
            "thinking" | "redacted_thinking" => State::Thinking(self.open_thought(block, out)),
            "tool_use" => self.open_call(block, out)?,
            _ => State::Foreign(Gathered::new(self.json(start.content_block.get().as_bytes())?)),
        };
        self.slots.push(Slot { index: start.index, state });
        Ok(())
    }

    fn open_thought(&mut self, block: RawBlock<'_>, out: &mut Vec<Event>) -> u32 {
        let index = self.open(Block::Thinking, out);
        append_text(index, block.thinking, out);
        let whole = block.data.is_some();
        if let Some(data) = block.data.or(block.signature).filter(|data| !data.is_empty()) {
            let delta = Delta::Opaque(state(data, whole, &self.decoding));
            out.push(Event::Delta { index, delta });
        }
        index
    }

    fn open_call(&mut self, block: RawBlock<'_>, out: &mut Vec<Event>) -> Result<State, Fault> {
        let name = block.name.ok_or_else(|| self.invalid("a tool call has no name"))?;
        let whole = block.input.map_or("{}", RawValue::get).to_owned();
        if self.decoding.schema_tool.as_ref() == Some(&name) {
            return Ok(State::StandIn { block: self.open(Block::Text, out), began: false, whole });
        }
        self.calls = true;
        let id = block.id.unwrap_or_else(|| self.decoding.ids.item("toolu_"));
        let block = self.open(Block::ToolCall { id, name, custom: false, opaque: None }, out);
        Ok(State::Call { block, began: false, whole })
    }

    fn delta(&mut self, data: &[u8], out: &mut Vec<Event>) -> Result<(), Fault> {
        let BlockDelta { index, delta } = self.json(data)?;
        let Some(slot) = self.slots.iter_mut().rfind(|slot| slot.index == index) else {
            return Err(self.invalid("a delta belongs to no block"));
        };
        match (&mut slot.state, &*delta.kind) {
            (State::Text(block), "text_delta") => append_text(*block, delta.text, out),
            (State::Thinking(block), "thinking_delta") => append_text(*block, delta.thinking, out),
            (State::Thinking(block), "signature_delta") => {
                if let Some(data) = delta.signature.filter(|data| !data.is_empty()) {
                    let delta = Delta::Opaque(state(data, false, &self.decoding));
                    out.push(Event::Delta { index: *block, delta });
                }
            }
            (State::Call { block, began, .. }, "input_json_delta") => {
                if let Some(more) = delta.partial_json.filter(|more| !more.is_empty()) {
                    *began = true;
                    out.push(Event::Delta { index: *block, delta: Delta::Arguments(more) });
                }
            }
            (State::StandIn { block, began, .. }, "input_json_delta") => {
                *began |= delta.partial_json.as_ref().is_some_and(|more| !more.is_empty());
                append_text(*block, delta.partial_json, out);
            }
            (State::Foreign(gathered), _) => gathered.grow(delta_members(data)),
            // Citations and other deltas besides the text.
            _ => {}
        }
        Ok(())
    }

    fn stop(&mut self, index: u32, out: &mut Vec<Event>) -> Result<(), Fault> {
        let Some(at) = self.slots.iter().rposition(|slot| slot.index == index) else {
            return Err(self.invalid("a block stops that never began"));
        };
        let slot = self.slots.remove(at);
        self.finish(slot.state, out);
        Ok(())
    }

    fn finish(&mut self, state: State, out: &mut Vec<Event>) {
        let index = match state {
            State::Text(block) | State::Thinking(block) => block,
            State::Call { block, began, whole } => {
                if !began {
                    out.push(Event::Delta { index: block, delta: Delta::Arguments(whole) });
                }
                block
            }
            State::StandIn { block, began, whole } => {
                append_text(block, Some(whole).filter(|_| !began), out);
                block
            }
            State::Foreign(gathered) => {
                self.open(Block::Foreign { format: Format::Messages, value: gathered.finish() }, out)
            }
        };
        out.push(Event::Close { index });
    }

    fn message_delta(&mut self, data: &[u8], out: &mut Vec<Event>) -> Result<(), Fault> {
        let MessageDelta { delta, usage } = self.json(data)?;
        if self.stage == Stage::Waiting {
            return Err(self.invalid("it ends before it begins"));
        }
        let reason = delta.stop_reason.filter(|_| self.stage == Stage::Begun);
        if reason.is_some() {
            for slot in std::mem::take(&mut self.slots) {
                self.finish(slot.state, out);
            }
        }
        self.usage(usage, out);
        if let Some(reason) = reason {
            self.stage = Stage::Finished;
            let reason = stop_of(&reason, delta.stop_sequence, &self.decoding, self.calls);
            out.push(Event::Finish { reason });
        }
        Ok(())
    }
}

fn append_text(index: u32, text: Option<String>, out: &mut Vec<Event>) {
    if let Some(text) = text.filter(|text| !text.is_empty()) {
        out.push(Event::Delta { index, delta: Delta::Text(text) });
    }
}

fn delta_members(data: &[u8]) -> Map<String, Value> {
    let event: Value = serde_json::from_slice(data).unwrap_or_default();
    match event {
        Value::Object(mut event) => match event.remove("delta") {
            Some(Value::Object(delta)) => delta,
            _ => Map::new(),
        },
        _ => Map::new(),
    }
}
