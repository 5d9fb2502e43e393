//! Buffers the tool calls of a resumable stream until they are complete, so that an interrupted call can be restarted.

use domain::canon::{Block, Event};

/// The events of each open tool call.
#[derive(Default)]
pub struct ToolCallBuffer(Vec<Vec<Event>>);

/// The events that may be sent now.
pub enum Released {
    Nothing,
    Event(Event),
    /// A complete call, from its opening to its close.
    Call(Vec<Event>),
}

impl ToolCallBuffer {
    pub fn take(&mut self, event: Event) -> Released {
        let (index, closes) = match &event {
            Event::Open { block: Block::ToolCall { .. }, .. } => {
                self.0.push(vec![event]);
                return Released::Nothing;
            }
            Event::Delta { index, .. } => (*index, false),
            Event::Close { index } => (*index, true),
            _ => return Released::Event(event),
        };
        let opened = |events: &Vec<Event>| matches!(events.first(), Some(Event::Open { index: own, .. }) if *own == index);
        let Some(place) = self.0.iter().position(opened) else { return Released::Event(event) };
        self.0[place].push(event);
        if closes { Released::Call(self.0.remove(place)) } else { Released::Nothing }
    }
}

#[cfg(test)]
mod tests {
    use domain::canon::Delta;

    use super::*;

    fn open(index: u32) -> Event {
        let block =
            Block::ToolCall { id: format!("c{index}"), name: "look".into(), custom: false, opaque: None };
        Event::Open { index, block }
    }

    fn more(index: u32) -> Event {
        Event::Delta { index, delta: Delta::Arguments("{}".into()) }
    }

    #[test]
    fn a_call_is_told_when_it_is_complete_and_text_at_once() {
        let mut held = ToolCallBuffer::default();
        let text = Event::Delta { index: 0, delta: Delta::Text("so".into()) };
        for event in [open(1), more(1), open(2)] {
            assert!(matches!(held.take(event), Released::Nothing));
        }
        assert!(matches!(held.take(text.clone()), Released::Event(told) if told == text));
        let Released::Call(second) = held.take(Event::Close { index: 2 }) else { panic!() };
        assert_eq!(second, [open(2), Event::Close { index: 2 }]);
        assert!(matches!(held.take(more(1)), Released::Nothing));
        let Released::Call(first) = held.take(Event::Close { index: 1 }) else { panic!() };
        assert_eq!(first, [open(1), more(1), more(1), Event::Close { index: 1 }]);
    }
}
