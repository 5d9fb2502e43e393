//! Buffers the tool calls of a resumable stream until they are complete, so that an interrupted call can be restarted.

use domain::canon::{Block, Event};

use crate::streaming::event_stage::EventStage;

/// The events of each open tool call. A complete call is passed on at once, without events of other blocks in between.
#[derive(Default)]
pub struct ToolCallBuffer(Vec<Vec<Event>>);

impl EventStage for ToolCallBuffer {
    fn push(&mut self, event: Event, out: &mut Vec<Event>) {
        let (index, closes) = match &event {
            Event::Open { block: Block::ToolCall { .. }, .. } => return self.0.push(vec![event]),
            Event::Delta { index, .. } => (*index, false),
            Event::Close { index } => (*index, true),
            _ => return out.push(event),
        };
        let opened = |events: &Vec<Event>| matches!(events.first(), Some(Event::Open { index: own, .. }) if *own == index);
        let Some(place) = self.0.iter().position(opened) else { return out.push(event) };
        self.0[place].push(event);
        if closes {
            out.append(&mut self.0.remove(place));
        }
    }

    /// Discards incomplete calls, of which nothing was sent.
    fn finish(&mut self, _out: &mut Vec<Event>) {
        self.0.clear();
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

    fn close(index: u32) -> Event {
        Event::Close { index }
    }

    fn text() -> Event {
        Event::Delta { index: 0, delta: Delta::Text("so".into()) }
    }

    #[test]
    fn a_call_is_passed_on_when_it_is_complete_and_text_at_once() {
        let mut buffer = ToolCallBuffer::default();
        for (event, expected) in [
            (open(1), vec![]),
            (more(1), vec![]),
            (open(2), vec![]),
            (text(), vec![text()]),
            (close(2), vec![open(2), close(2)]),
            (more(1), vec![]),
            (close(1), vec![open(1), more(1), more(1), close(1)]),
            (Event::End, vec![Event::End]),
        ] {
            let mut out = Vec::new();
            buffer.push(event.clone(), &mut out);
            assert_eq!(out, expected, "{event:?}");
        }
    }

    #[test]
    fn a_stream_that_stops_anywhere_leaves_no_part_of_a_call() {
        let events = [open(1), more(1), text(), open(2), more(2), close(2), more(1), close(1)];
        for stop in 0..=events.len() {
            let (mut buffer, mut out) = (ToolCallBuffer::default(), Vec::new());
            events[..stop].iter().for_each(|event| buffer.push(event.clone(), &mut out));
            buffer.finish(&mut out);
            for index in [1, 2] {
                let complete = events[..stop].contains(&close(index));
                assert_eq!(out.contains(&open(index)), complete, "{stop}");
                assert_eq!(out.contains(&more(index)), complete, "{stop}");
            }
            let sent = out.len();
            // The same call starts again in a continuation.
            [open(1), close(1)].into_iter().for_each(|event| buffer.push(event, &mut out));
            assert_eq!(out[sent..], [open(1), close(1)], "{stop}");
        }
    }
}
