//! Buffers the events of a continuation until it is joined to the stream that it continues.

use domain::canon::{Block, Delta, Event};

#[derive(Default)]
pub struct ContinuationBuffer {
    pub events: Vec<Event>,
    /// Indices of reasoning blocks, which are not shown to the client.
    thoughts: Vec<u32>,
    /// Indices of tool call blocks.
    calls: Vec<u32>,
    /// The continuation has text, a complete tool call or a format-specific block, not only an end.
    pub says_something: bool,
}

impl ContinuationBuffer {
    /// Buffers the event. Returns true if the client will see something of it.
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
