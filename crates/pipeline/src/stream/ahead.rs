//! What a continuation says before it is joined to the stream it continues.

use domain::canon::{Block, Delta, Event};

#[derive(Default)]
pub struct Ahead {
    pub events: Vec<Event>,
    /// Thoughts, which are not shown again.
    thoughts: Vec<u32>,
    /// Calls that are not complete.
    calls: Vec<u32>,
    /// Words, a call, or what only one format knows: more than an end.
    pub says_something: bool,
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
            Event::Finish { .. } | Event::End => true,
            Event::Open { block: Block::Foreign { .. }, .. } => {
                self.says_something = true;
                true
            }
            Event::Close { index } => {
                self.says_something |= self.calls.contains(index);
                self.calls.contains(index)
            }
            Event::Delta { index, delta: Delta::Text(text) } => {
                let told = !text.is_empty() && !self.thoughts.contains(index);
                self.says_something |= told;
                told
            }
            _ => false,
        };
        self.events.push(event);
        shown
    }
}
