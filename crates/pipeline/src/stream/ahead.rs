//! What a continuation says before it is joined to the stream it continues.

use domain::canon::{Block, Delta, Event};

#[derive(Default)]
pub struct Ahead {
    pub events: Vec<Event>,
    /// Thoughts, which are not shown again.
    thoughts: Vec<u32>,
    /// Calls that are not complete.
    calls: Vec<u32>,
}

impl Ahead {
    /// Keeps the event; true when the client will see something of it.
    pub fn take(&mut self, event: Event) -> bool {
        let shown = match &event {
            Event::Open { index, block: Block::Thinking } => {
                self.thoughts.push(*index);
                false
            }
            Event::Open { index, block: Block::ToolCall { .. } } => {
                self.calls.push(*index);
                false
            }
            Event::Open { block: Block::Foreign { .. }, .. } | Event::Finish { .. } | Event::End => true,
            Event::Close { index } => self.calls.contains(index),
            Event::Delta { index, delta: Delta::Text(text) } => {
                !text.is_empty() && !self.thoughts.contains(index)
            }
            _ => false,
        };
        self.events.push(event);
        shown
    }
}
