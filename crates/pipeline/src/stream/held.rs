//! Tool calls of a stream that may be resumed: told only once they are complete, so that one that was cut can restart.

use domain::canon::{Block, Event};

/// Blocks that are open, each from its beginning.
#[derive(Default)]
pub struct Held(Vec<Vec<Event>>);

/// What can be told.
pub enum Told {
    Nothing,
    Event(Event),
    /// A whole call: its opening, what it says, its close.
    Call(Vec<Event>),
}

impl Held {
    pub fn take(&mut self, event: Event) -> Told {
        let (index, closes) = match &event {
            Event::Open { block: Block::ToolCall { .. }, .. } => {
                self.0.push(vec![event]);
                return Told::Nothing;
            }
            Event::Delta { index, .. } => (*index, false),
            Event::Close { index } => (*index, true),
            _ => return Told::Event(event),
        };
        let opened = |events: &Vec<Event>| matches!(events.first(), Some(Event::Open { index: own, .. }) if *own == index);
        let Some(place) = self.0.iter().position(opened) else { return Told::Event(event) };
        self.0[place].push(event);
        if closes { Told::Call(self.0.remove(place)) } else { Told::Nothing }
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
        let mut held = Held::default();
        let text = Event::Delta { index: 0, delta: Delta::Text("so".into()) };
        for event in [open(1), more(1), open(2)] {
            assert!(matches!(held.take(event), Told::Nothing));
        }
        assert!(matches!(held.take(text.clone()), Told::Event(told) if told == text));
        let Told::Call(second) = held.take(Event::Close { index: 2 }) else { panic!() };
        assert_eq!(second, [open(2), Event::Close { index: 2 }]);
        assert!(matches!(held.take(more(1)), Told::Nothing));
        let Told::Call(first) = held.take(Event::Close { index: 1 }) else { panic!() };
        assert_eq!(first, [open(1), more(1), more(1), Event::Close { index: 1 }]);
    }
}
