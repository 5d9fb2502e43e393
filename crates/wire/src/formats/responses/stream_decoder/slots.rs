//! Maps output parts to canonical blocks and tracks how much of each was emitted.

use domain::canon::{Block, Delta, Event};

/// Position in the provider's output; reasoning and calls span their whole item.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key {
    pub item: u64,
    pub part: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum BlockKind {
    Text,
    Refusal,
    /// `summary`: whether the summary is used instead of the text, once known; `part`: the current part.
    Reasoning {
        summary: Option<bool>,
        part: u64,
    },
    Call,
}

#[derive(Default)]
pub struct Slots(Vec<Slot>);

struct Slot {
    key: Key,
    kind: BlockKind,
    /// Whether deltas are arguments; those of a schema tool are text.
    arguments: bool,
    emitted: usize,
    open: bool,
}

impl Slots {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn contains(&self, key: Key) -> bool {
        self.find(key).is_some()
    }

    pub fn emitted(&self, key: Key) -> usize {
        self.find(key).map_or(0, |index| self.0[index].emitted)
    }

    /// Opens a block unless it exists.
    pub fn open(&mut self, key: Key, kind: BlockKind, block: Block, out: &mut Vec<Event>) {
        if self.contains(key) {
            return;
        }
        let arguments = matches!(block, Block::ToolCall { .. });
        out.push(Event::Open { index: self.0.len() as u32, block });
        self.0.push(Slot { key, kind, arguments, emitted: 0, open: true });
    }

    pub fn grow(&mut self, key: Key, more: &str, out: &mut Vec<Event>) {
        let Some(index) = self.find(key).filter(|_| !more.is_empty()) else { return };
        let slot = &mut self.0[index];
        if !slot.open {
            return;
        }
        slot.emitted += more.len();
        let more = more.to_owned();
        let delta = if slot.arguments { Delta::Arguments(more) } else { Delta::Text(more) };
        out.push(Event::Delta { index: index as u32, delta });
    }

    /// Emits reasoning; its parts are separated as paragraphs.
    pub fn think(&mut self, key: Key, summary: bool, part: u64, more: &str, out: &mut Vec<Event>) {
        let Some(index) = self.find(key) else { return };
        let BlockKind::Reasoning { summary: last, part: before } = self.0[index].kind else { return };
        if last.is_some_and(|last| last != summary) {
            return;
        }
        self.0[index].kind = BlockKind::Reasoning { summary: Some(summary), part };
        if last.is_some() && part > before {
            self.grow(key, "\n\n", out);
        }
        self.grow(key, more, out);
    }

    /// Emits the part of the complete text that is still missing.
    pub fn complete(&mut self, key: Key, whole: &str, out: &mut Vec<Event>) {
        let rest = whole.get(self.emitted(key)..).unwrap_or_default();
        self.grow(key, rest, out);
    }

    pub fn hand_over(&mut self, key: Key, delta: Delta, out: &mut Vec<Event>) {
        if let Some(index) = self.find(key).filter(|index| self.0[*index].open) {
            out.push(Event::Delta { index: index as u32, delta });
        }
    }

    pub fn close(&mut self, key: Key, out: &mut Vec<Event>) {
        if let Some(index) = self.find(key) {
            self.close_at(index, out);
        }
    }

    pub fn close_all(&mut self, out: &mut Vec<Event>) {
        (0..self.0.len()).for_each(|index| self.close_at(index, out));
    }

    fn close_at(&mut self, index: usize, out: &mut Vec<Event>) {
        if std::mem::replace(&mut self.0[index].open, false) {
            out.push(Event::Close { index: index as u32 });
        }
    }

    /// Position of a slot, searched from the latest, which is the common case.
    fn find(&self, key: Key) -> Option<usize> {
        self.0.iter().rposition(|slot| slot.key == key)
    }
}
