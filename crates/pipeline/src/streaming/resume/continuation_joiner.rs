//! Joins a continuation to the partial answer before it, so that the client sees one answer.

#[cfg(test)]
mod tests;

use domain::canon::{Block, Content, Delta, Event, Reply, StopReason, ToolCall};
use domain::usage::Tokens;
use serde_json::Value;

use super::overlap::Overlap;
use crate::streaming::event_stage::EventStage;

/// Maps the events of a continuation to events of the joined answer. Tool calls must arrive complete, as
/// `ToolCallBuffer` releases them.
pub struct ContinuationJoiner {
    overlap: Overlap,
    /// The text block that was interrupted; the continuation's text is appended to it.
    broken_text: Option<u32>,
    /// The next block index of the joined answer.
    next: u32,
    /// The mapping of the continuation's blocks, by their index.
    mappings: Vec<BlockMapping>,
    /// Tool calls of the partial answer; each is sent only once.
    made: Vec<CompletedCall>,
    /// The events of the tool call that is arriving.
    call: Vec<Event>,
    /// The id that the second provider gave its response.
    provider_id: Option<String>,
    /// Tokens consumed before the continuation.
    earlier: Tokens,
    /// The number of this continuation, used to make duplicate ids unique.
    number: u32,
}

struct CompletedCall {
    id: String,
    name: String,
    arguments: Value,
    /// The call has not been repeated by the continuation yet. One repetition is skipped.
    open: bool,
}

#[derive(Clone, Copy, Default)]
enum BlockMapping {
    #[default]
    Dropped,
    /// A text block without new text so far; not opened for the client yet.
    Silent,
    Text(u32),
    Other(u32),
}

/// The state of the answer at the interruption.
pub struct Break {
    pub broken_text: Option<u32>,
    pub next: u32,
    pub earlier: Tokens,
    pub number: u32,
}

impl ContinuationJoiner {
    pub fn new(so_far: &Reply, overlap: Overlap, state: Break) -> Self {
        let calls = so_far.parts.iter().filter_map(|part| match &part.content {
            Content::ToolCall(call) => Some(CompletedCall::of(call)),
            _ => None,
        });
        Self {
            overlap,
            broken_text: state.broken_text,
            next: state.next,
            mappings: Vec::new(),
            made: calls.collect(),
            call: Vec::new(),
            provider_id: None,
            earlier: state.earlier,
            number: state.number,
        }
    }

    pub fn provider_id(&self) -> Option<&str> {
        self.provider_id.as_deref()
    }

    fn map(&mut self, event: Event, out: &mut Vec<Event>) {
        match event {
            Event::Begin { id, .. } => self.provider_id = id,
            Event::Open { index, block } => self.open(index, block, out),
            Event::Delta { index, delta } => self.delta(index, delta, out),
            Event::Close { index } => self.close(index, out),
            Event::Usage { mut usage, raw } => {
                usage.tokens += self.earlier;
                out.push(Event::Usage { usage, raw });
            }
            Event::Finish { reason } => {
                self.end_text(out);
                out.push(Event::Finish { reason: self.reason(reason) });
            }
            Event::End => out.push(Event::End),
        }
    }

    /// Adds a complete tool call. One that repeats a call of the partial answer is skipped.
    fn add_call(&mut self, events: Vec<Event>, out: &mut Vec<Event>) {
        let Some(call) = gathered(&events) else { return };
        let again = CompletedCall::of(&call);
        let known = |made: &&mut CompletedCall| {
            made.open && made.name == again.name && made.arguments == again.arguments
        };
        if let Some(made) = self.made.iter_mut().find(known) {
            made.open = false;
            return;
        }
        let taken = self.made.iter().any(|made| made.id == call.id);
        for mut event in events {
            if let Event::Open { block: Block::ToolCall { id, .. }, .. } = &mut event
                && taken
            {
                *id = format!("{id}_{}", self.number);
            }
            self.map(event, out);
        }
    }

    fn open(&mut self, index: u32, block: Block, out: &mut Vec<Event>) {
        let mapping = match block {
            // Its opaque state belongs to another model, and the client has already seen the first model's reasoning.
            Block::Thinking => BlockMapping::Dropped,
            Block::Text => self.broken_text.take().map_or(BlockMapping::Silent, BlockMapping::Text),
            block => {
                self.end_text(out);
                BlockMapping::Other(self.begin(block, out))
            }
        };
        let index = index as usize;
        if self.mappings.len() <= index {
            self.mappings.resize(index + 1, BlockMapping::Dropped);
        }
        self.mappings[index] = mapping;
    }

    fn delta(&mut self, index: u32, delta: Delta, out: &mut Vec<Event>) {
        match (self.mapping(index), delta) {
            (BlockMapping::Silent | BlockMapping::Text(_), Delta::Text(text)) => {
                let new = self.overlap.push(&text);
                self.append_text(index, new, out);
            }
            (BlockMapping::Other(block), delta) => out.push(Event::Delta { index: block, delta }),
            _ => {}
        }
    }

    fn close(&mut self, index: u32, out: &mut Vec<Event>) {
        if let BlockMapping::Silent | BlockMapping::Text(_) = self.mapping(index) {
            let rest = self.overlap.finish();
            self.append_text(index, rest, out);
        }
        if let BlockMapping::Text(block) | BlockMapping::Other(block) = self.mapping(index) {
            out.push(Event::Close { index: block });
        }
    }

    fn append_text(&mut self, index: u32, text: String, out: &mut Vec<Event>) {
        if text.is_empty() {
            return;
        }
        if let BlockMapping::Silent = self.mapping(index) {
            self.mappings[index as usize] = BlockMapping::Text(self.begin(Block::Text, out));
        }
        if let BlockMapping::Text(block) = self.mapping(index) {
            out.push(Event::Delta { index: block, delta: Delta::Text(text) });
        }
    }

    fn mapping(&self, index: u32) -> BlockMapping {
        self.mappings.get(index as usize).copied().unwrap_or_default()
    }

    fn begin(&mut self, block: Block, out: &mut Vec<Event>) -> u32 {
        let index = self.next;
        self.next += 1;
        out.push(Event::Open { index, block });
        index
    }

    /// Closes the interrupted text block, if the continuation has not extended it.
    fn end_text(&mut self, out: &mut Vec<Event>) {
        out.extend(self.broken_text.take().map(|index| Event::Close { index }));
    }

    /// The stop reason of the joined answer. A continuation after tool calls may report an ordinary end of turn,
    /// although the answer contains calls.
    fn reason(&self, reason: StopReason) -> StopReason {
        match reason {
            StopReason::EndTurn if !self.made.is_empty() => StopReason::ToolCalls,
            reason => reason,
        }
    }
}

impl EventStage for ContinuationJoiner {
    fn push(&mut self, event: Event, out: &mut Vec<Event>) {
        let begins_call = matches!(event, Event::Open { block: Block::ToolCall { .. }, .. });
        if !begins_call && self.call.is_empty() {
            return self.map(event, out);
        }
        let closes_call = matches!(event, Event::Close { .. });
        self.call.push(event);
        if closes_call {
            let call = std::mem::take(&mut self.call);
            self.add_call(call, out);
        }
    }
}

impl CompletedCall {
    fn of(call: &ToolCall) -> Self {
        let text = || Value::String(call.arguments.clone());
        let arguments = serde_json::from_str(&call.arguments).unwrap_or_else(|_| text());
        Self { id: call.id.clone(), name: call.name.clone(), arguments, open: true }
    }
}

fn gathered(events: &[Event]) -> Option<ToolCall> {
    let Some(Event::Open { block: Block::ToolCall { id, name, custom, .. }, .. }) = events.first() else {
        return None;
    };
    let arguments = events.iter().filter_map(|event| match event {
        Event::Delta { delta: Delta::Arguments(more), .. } => Some(more.as_str()),
        _ => None,
    });
    let (id, name, arguments) = (id.clone(), name.clone(), arguments.collect());
    Some(ToolCall { id, name, arguments, custom: *custom, opaque: None })
}
