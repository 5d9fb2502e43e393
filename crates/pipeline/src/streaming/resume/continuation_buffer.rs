//! Buffers the events of a continuation until it is joined to the stream that it continues.

use domain::canon::{Block, Delta, Event};

use crate::streaming::event_stage::EventStage;

#[derive(Default)]
pub struct ContinuationBuffer {
    events: Vec<Event>,
    /// Indices of reasoning blocks, which are not shown to the client.
    thoughts: Vec<u32>,
    /// Indices of tool call blocks.
    calls: Vec<u32>,
    has_answer: bool,
    has_content: bool,
    ended: bool,
}

impl ContinuationBuffer {
    /// Whether there is text, a complete tool call or a format-specific block, not only an end.
    pub fn has_answer(&self) -> bool {
        self.has_answer
    }

    /// Whether the client will see something of it, if only the end.
    pub fn has_content(&self) -> bool {
        self.has_content
    }

    pub fn has_ended(&self) -> bool {
        self.ended
    }

    pub fn into_events(self) -> Vec<Event> {
        self.events
    }
}

impl EventStage for ContinuationBuffer {
    /// Buffers the event; nothing is passed on.
    fn push(&mut self, event: Event, _out: &mut Vec<Event>) {
        match &event {
            // Reasoning is dropped when the streams are joined.
            Event::Delta { index, .. } if self.thoughts.contains(index) => return,
            Event::Open { index, block: Block::Thinking } => self.thoughts.push(*index),
            Event::Open { index, block: Block::ToolCall { .. } } => self.calls.push(*index),
            Event::Open { block: Block::Foreign { .. }, .. } => self.has_answer = true,
            Event::Close { index } => self.has_answer |= self.calls.contains(index),
            Event::Delta { delta: Delta::Text(text), .. } => {
                self.has_answer |= !text.is_empty();
            }
            Event::Finish { .. } => self.has_content = true,
            Event::End => (self.has_content, self.ended) = (true, true),
            _ => {}
        }
        self.has_content |= self.has_answer;
        self.events.push(event);
    }
}

#[cfg(test)]
mod tests {
    use domain::call::Format;
    use domain::canon::StopReason;

    use super::*;

    /// Checks the state after each event: whether there is an answer, content, and the end.
    fn check(steps: &[(Event, [bool; 3])]) {
        let (mut buffer, mut out) = (ContinuationBuffer::default(), Vec::new());
        for (event, expected) in steps {
            buffer.push(event.clone(), &mut out);
            let known = [buffer.has_answer(), buffer.has_content(), buffer.has_ended()];
            assert_eq!(known, *expected, "{event:?}");
        }
        assert_eq!(out, [], "nothing is passed on");
        let is_reasoning = |event: &Event| *event == text(0, "hm");
        let events: Vec<Event> =
            steps.iter().map(|(event, _)| event.clone()).filter(|event| !is_reasoning(event)).collect();
        assert_eq!(buffer.into_events(), events);
    }

    fn text(index: u32, text: &str) -> Event {
        Event::Delta { index, delta: Delta::Text(text.into()) }
    }

    #[test]
    fn it_has_an_answer_once_the_client_would_see_some_of_it() {
        let open = |index, block| Event::Open { index, block };
        let close = |index| Event::Close { index };
        let call = Block::ToolCall { id: "c".into(), name: "look".into(), custom: false, opaque: None };
        let foreign = Block::Foreign { format: Format::Chat, value: 1.into() };
        let arguments = Event::Delta { index: 1, delta: Delta::Arguments("{}".into()) };
        let (none, seen) = ([false; 3], [true, true, false]);
        check(&[
            (open(0, Block::Thinking), none),
            (text(0, "hm"), none),
            (close(0), none),
            (open(1, Block::Text), none),
            (text(1, ""), none),
            (text(1, "so"), seen),
            (Event::End, [true; 3]),
        ]);
        check(&[(open(1, call), none), (arguments, none), (close(1), seen)]);
        check(&[(open(0, foreign), seen)]);
    }

    #[test]
    fn a_finish_event_alone_is_content_but_no_answer() {
        let finish = Event::Finish { reason: StopReason::EndTurn };
        check(&[
            (Event::Begin { id: None, model: None }, [false; 3]),
            (finish, [false, true, false]),
            (Event::End, [false, true, true]),
        ]);
    }
}
