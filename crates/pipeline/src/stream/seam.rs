//! Where a continuation is joined to what was said before: one answer, whoever says the rest.

#[cfg(test)]
mod tests;

use domain::canon::{Block, Content, Delta, Event, Reply, StopReason, ToolCall};
use domain::usage::Tokens;
use serde_json::Value;

use super::overlap::Overlap;

pub struct Seam {
    overlap: Overlap,
    /// The text that broke off; it goes on in the same block.
    broken_text: Option<u32>,
    /// The next block of the whole answer.
    next: u32,
    /// What became of the continuation's blocks, by their index.
    fates: Vec<Fate>,
    /// Calls that were made before: each is told once.
    made: Vec<Made>,
    /// What was consumed before.
    earlier: Tokens,
    /// Which continuation this is, for ids that were taken.
    number: u32,
}

struct Made {
    id: String,
    name: String,
    arguments: Value,
    /// The continuation may say each call again once.
    open: bool,
}

#[derive(Clone, Copy, Default)]
enum Fate {
    #[default]
    Dropped,
    /// A text of which nothing new was said yet.
    Silent,
    Text(u32),
    Other(u32),
}

/// The state of the answer at the break.
pub struct Break {
    pub broken_text: Option<u32>,
    pub next: u32,
    pub earlier: Tokens,
    pub number: u32,
}

impl Seam {
    pub fn new(so_far: &Reply, overlap: Overlap, state: Break) -> Self {
        let calls = so_far.parts.iter().filter_map(|part| match &part.content {
            Content::ToolCall(call) => Some(Made::of(call)),
            _ => None,
        });
        Self {
            overlap,
            broken_text: state.broken_text,
            next: state.next,
            fates: Vec::new(),
            made: calls.collect(),
            earlier: state.earlier,
            number: state.number,
        }
    }

    /// An event of the continuation as one of the whole answer.
    pub fn take(&mut self, event: Event, out: &mut Vec<Event>) {
        match event {
            Event::Begin { .. } => {}
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

    /// A whole call. One that was made before the break is not made again.
    pub fn call(&mut self, events: Vec<Event>, out: &mut Vec<Event>) {
        let Some(call) = gathered(&events) else { return };
        let again = Made::of(&call);
        let known =
            |made: &&mut Made| made.open && made.name == again.name && made.arguments == again.arguments;
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
            self.take(event, out);
        }
    }

    fn open(&mut self, index: u32, block: Block, out: &mut Vec<Event>) {
        let fate = match block {
            // Its state is another model's, and the client has seen how the first one thought.
            Block::Thinking => Fate::Dropped,
            Block::Text => self.broken_text.take().map_or(Fate::Silent, Fate::Text),
            block => {
                self.end_text(out);
                Fate::Other(self.begin(block, out))
            }
        };
        let index = index as usize;
        if self.fates.len() <= index {
            self.fates.resize(index + 1, Fate::Dropped);
        }
        self.fates[index] = fate;
    }

    fn delta(&mut self, index: u32, delta: Delta, out: &mut Vec<Event>) {
        match (self.fate(index), delta) {
            (Fate::Silent | Fate::Text(_), Delta::Text(text)) => {
                let new = self.overlap.push(&text);
                self.say(index, new, out);
            }
            (Fate::Other(block), delta) => out.push(Event::Delta { index: block, delta }),
            _ => {}
        }
    }

    fn close(&mut self, index: u32, out: &mut Vec<Event>) {
        if let Fate::Silent | Fate::Text(_) = self.fate(index) {
            let rest = self.overlap.finish();
            self.say(index, rest, out);
        }
        if let Fate::Text(block) | Fate::Other(block) = self.fate(index) {
            out.push(Event::Close { index: block });
        }
    }

    fn say(&mut self, index: u32, text: String, out: &mut Vec<Event>) {
        if text.is_empty() {
            return;
        }
        if let Fate::Silent = self.fate(index) {
            self.fates[index as usize] = Fate::Text(self.begin(Block::Text, out));
        }
        if let Fate::Text(block) = self.fate(index) {
            out.push(Event::Delta { index: block, delta: Delta::Text(text) });
        }
    }

    fn fate(&self, index: u32) -> Fate {
        self.fates.get(index as usize).copied().unwrap_or_default()
    }

    fn begin(&mut self, block: Block, out: &mut Vec<Event>) -> u32 {
        let index = self.next;
        self.next += 1;
        out.push(Event::Open { index, block });
        index
    }

    /// The continuation has nothing to add to the text that broke off.
    fn end_text(&mut self, out: &mut Vec<Event>) {
        out.extend(self.broken_text.take().map(|index| Event::Close { index }));
    }

    /// Who goes on after calls does not know that they were its own.
    fn reason(&self, reason: StopReason) -> StopReason {
        match reason {
            StopReason::EndTurn if !self.made.is_empty() => StopReason::ToolCalls,
            reason => reason,
        }
    }
}

impl Made {
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
