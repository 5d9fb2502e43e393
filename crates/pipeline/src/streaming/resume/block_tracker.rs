//! Tracks the blocks that are open for the client of a resumable stream.

use domain::canon::{Block, Event};

use crate::streaming::event_stage::EventStage;

#[derive(Default)]
pub struct BlockTracker {
    /// Blocks that are open for the client.
    open: Vec<(u32, BlockKind)>,
    next: u32,
    finished: bool,
    ended: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BlockKind {
    Text,
    Thinking,
    Other,
}

impl BlockTracker {
    /// Whether another provider could continue: only text and reasoning can be interrupted.
    pub fn can_continue(&self) -> bool {
        !self.open.iter().any(|(_, kind)| *kind == BlockKind::Other)
    }

    /// The text block to which a continuation is appended.
    pub fn open_text(&self) -> Option<u32> {
        self.open.iter().rev().find(|(_, kind)| *kind == BlockKind::Text).map(|(index, _)| *index)
    }

    /// The index of the next block.
    pub fn next_index(&self) -> u32 {
        self.next
    }

    /// Closes the open blocks that no continuation can extend.
    pub fn close_all_but(&mut self, kept: Option<u32>, out: &mut Vec<Event>) {
        let over: Vec<u32> =
            self.open.iter().map(|(index, _)| *index).filter(|index| Some(*index) != kept).collect();
        over.into_iter().for_each(|index| self.push(Event::Close { index }, out));
    }
}

impl EventStage for BlockTracker {
    fn push(&mut self, event: Event, out: &mut Vec<Event>) {
        match &event {
            Event::Open { index, block } => {
                self.next = self.next.max(index + 1);
                let kind = match block {
                    Block::Text => BlockKind::Text,
                    Block::Thinking => BlockKind::Thinking,
                    _ => BlockKind::Other,
                };
                self.open.push((*index, kind));
            }
            Event::Close { index } => self.open.retain(|(open, _)| open != index),
            Event::Finish { .. } => self.finished = true,
            Event::End => self.ended = true,
            _ => {}
        }
        out.push(event);
    }

    /// Adds the end event if the provider sent the finish reason and only its last event is missing.
    fn finish(&mut self, out: &mut Vec<Event>) {
        if self.finished && !self.ended {
            self.push(Event::End, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::canon::StopReason;

    use super::*;

    fn open(index: u32, block: Block) -> Event {
        Event::Open { index, block }
    }

    fn tracker(events: &[Event]) -> (BlockTracker, Vec<Event>) {
        let (mut tracker, mut out) = (BlockTracker::default(), Vec::new());
        events.iter().for_each(|event| tracker.push(event.clone(), &mut out));
        assert_eq!(out, events);
        out.clear();
        (tracker, out)
    }

    #[test]
    fn an_answer_can_continue_unless_a_block_of_another_kind_is_open() {
        let close = |index| Event::Close { index };
        let events = [
            open(0, Block::Thinking),
            open(1, Block::Text),
            close(0),
            close(1),
            open(2, Block::Refusal),
            close(2),
        ];
        let expected = [
            (true, None, 0),
            (true, None, 1),
            (true, Some(1), 2),
            (true, Some(1), 2),
            (true, None, 2),
            (false, None, 3),
            (true, None, 3),
        ];
        for (stop, expected) in expected.into_iter().enumerate() {
            let (tracker, _) = tracker(&events[..stop]);
            assert_eq!(
                (tracker.can_continue(), tracker.open_text(), tracker.next_index()),
                expected,
                "{stop}"
            );
        }
        let (mut tracker, mut out) = tracker(&events[..2]);
        tracker.close_all_but(Some(1), &mut out);
        assert_eq!(out, [close(0)]);
        assert_eq!(tracker.open_text(), Some(1));
    }

    #[test]
    fn only_the_missing_end_of_a_finished_answer_is_added() {
        let finish = Event::Finish { reason: StopReason::EndTurn };
        for (events, added) in [
            (vec![open(0, Block::Text)], vec![]),
            (vec![finish.clone()], vec![Event::End]),
            (vec![finish, Event::End], vec![]),
        ] {
            let (mut tracker, mut out) = tracker(&events);
            tracker.finish(&mut out);
            assert_eq!(out, added, "{events:?}");
            tracker.finish(&mut out);
            assert_eq!(out, added, "twice: {events:?}");
        }
    }
}
