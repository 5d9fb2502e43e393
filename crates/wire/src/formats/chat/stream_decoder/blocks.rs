//! Tracks the open content block. Content of another kind closes it, and so does reasoning after a signed reasoning
//! block.

use domain::canon::{Block, Delta, Event, Opaque};

use crate::formats::chat::details::Detail;

#[derive(Default)]
pub struct Blocks {
    next: u32,
    open: Option<Open>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    Text,
    Refusal,
    Thinking,
    /// A tool call, or the text that replaces one.
    Call,
}

struct Open {
    index: u32,
    kind: BlockKind,
    /// Whether the block has its opaque state, after which no more content can be added.
    signed: bool,
    /// Whether the block has content.
    has_content: bool,
    /// Content emitted if the block has none: a call without arguments gets an empty object.
    default: Option<&'static str>,
}

impl Blocks {
    pub fn text(&mut self, kind: BlockKind, text: &str, out: &mut Vec<Event>) {
        if text.is_empty() {
            return;
        }
        let block = if kind == BlockKind::Refusal { Block::Refusal } else { Block::Text };
        let index = self.continue_or_open(kind, block, out);
        out.push(Event::Delta { index, delta: Delta::Text(text.to_owned()) });
    }

    pub fn thought(&mut self, text: &str, out: &mut Vec<Event>) {
        if text.is_empty() {
            return;
        }
        let index = self.continue_or_open(BlockKind::Thinking, Block::Thinking, out);
        if let Some(open) = &mut self.open {
            open.has_content = true;
        }
        out.push(Event::Delta { index, delta: Delta::Text(text.to_owned()) });
    }

    /// Emits state that belongs to no call: it goes to the open thinking block, or into a block of its own.
    pub fn state(&mut self, detail: &Detail, model: &str, out: &mut Vec<Event>) {
        let index = self.continue_or_open(BlockKind::Thinking, Block::Thinking, out);
        let Some(open) = &mut self.open else { return };
        open.signed = true;
        if let Some(mut opaque) = detail.opaque_of_thought(model, open.has_content) {
            let vouched = opaque.text.take().filter(|_| !open.has_content);
            out.extend(vouched.map(|text| Event::Delta { index, delta: Delta::Text(text) }));
            out.push(Event::Delta { index, delta: Delta::Opaque(opaque) });
        }
    }

    /// Emits state of a tool call; state that arrives after the call was closed is ignored.
    pub fn state_of(&mut self, index: u32, opaque: Opaque, out: &mut Vec<Event>) {
        if self.open.as_ref().is_some_and(|open| open.index == index) {
            out.push(Event::Delta { index, delta: Delta::Opaque(opaque) });
        }
    }

    pub fn open_call(&mut self, block: Block, out: &mut Vec<Event>) -> u32 {
        self.close(out);
        let default = matches!(block, Block::ToolCall { custom: false, .. }).then_some("{}");
        let index = self.open(BlockKind::Call, block, out);
        if let Some(open) = &mut self.open {
            open.default = default;
        }
        index
    }

    /// Appends to a call; false if its block is closed.
    pub fn grow(&mut self, index: u32, delta: Delta, out: &mut Vec<Event>) -> bool {
        match &mut self.open {
            Some(open) if open.index == index => {
                open.has_content = true;
                out.push(Event::Delta { index, delta });
                true
            }
            _ => false,
        }
    }

    pub fn close(&mut self, out: &mut Vec<Event>) {
        let Some(open) = self.open.take() else { return };
        let index = open.index;
        if let Some(arguments) = open.default.filter(|_| !open.has_content) {
            out.push(Event::Delta { index, delta: Delta::Arguments(arguments.to_owned()) });
        }
        out.push(Event::Close { index });
    }

    pub fn close_thought(&mut self, out: &mut Vec<Event>) {
        if self.open.as_ref().is_some_and(|open| open.kind == BlockKind::Thinking) {
            self.close(out);
        }
    }

    fn continue_or_open(&mut self, kind: BlockKind, block: Block, out: &mut Vec<Event>) -> u32 {
        match &self.open {
            Some(open) if open.kind == kind && !open.signed => open.index,
            _ => {
                self.close(out);
                self.open(kind, block, out)
            }
        }
    }

    fn open(&mut self, kind: BlockKind, block: Block, out: &mut Vec<Event>) -> u32 {
        let index = self.next;
        self.next += 1;
        self.open = Some(Open { index, kind, signed: false, has_content: false, default: None });
        out.push(Event::Open { index, block });
        index
    }
}
