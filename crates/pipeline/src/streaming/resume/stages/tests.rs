//! Tests of answers that break off after any event and are continued.

use domain::canon::{Block, Collector, Content, Delta, Part, StopReason, ToolCall};
use wire::renames::Renames;

use super::*;
use crate::streaming::stages::Stages;

const WORDS: [&str; 6] = ["Once ", "upon ", "a time ", "there was ", "a gateway ", "that gave up."];

/// A complete answer: reasoning, text in several deltas and a tool call in several deltas.
fn answer() -> Vec<Event> {
    let text = |index, text: &str| Event::Delta { index, delta: Delta::Text(text.into()) };
    let arguments = |more: &str| Event::Delta { index: 2, delta: Delta::Arguments(more.into()) };
    let call = Block::ToolCall { id: "c".into(), name: "look".into(), custom: false, opaque: None };
    let mut events = vec![Event::Begin { id: Some("x".into()), model: None }];
    events.extend([
        Event::Open { index: 0, block: Block::Thinking },
        text(0, "hm"),
        Event::Close { index: 0 },
    ]);
    events.push(Event::Open { index: 1, block: Block::Text });
    events.extend(WORDS.map(|word| text(1, word)));
    events.extend([Event::Close { index: 1 }, Event::Open { index: 2, block: call }]);
    events.extend([arguments("{\"at\""), arguments(":\"it\"}"), Event::Close { index: 2 }]);
    events.extend([Event::Finish { reason: StopReason::ToolCalls }, Event::End]);
    events
}

/// The answer that the client receives, collected and checked for the order of events.
#[derive(Default)]
struct Client {
    collector: Collector,
    open: Vec<u32>,
    opened: Vec<u32>,
    finished: bool,
    ended: bool,
}

impl Client {
    fn receive(&mut self, events: Vec<Event>) {
        for event in events {
            assert!(!self.ended, "{event:?} after the end");
            match &event {
                Event::Open { index, .. } => {
                    assert!(!self.opened.contains(index), "{event:?} again");
                    self.open.push(*index);
                    self.opened.push(*index);
                }
                Event::Delta { index, .. } => assert!(self.open.contains(index), "{event:?} in no block"),
                Event::Close { index } => {
                    assert!(self.open.contains(index), "{event:?} of no block");
                    self.open.retain(|open| open != index);
                }
                Event::Finish { .. } => {
                    assert!(self.open.is_empty() && !self.finished, "{event:?} too early or again");
                    self.finished = true;
                }
                Event::End => self.ended = true,
                Event::Begin { .. } | Event::Usage { .. } => {}
            }
            self.collector.take(&event);
        }
    }

    fn text(&self) -> String {
        self.collector.so_far().parts.iter().filter_map(Part::as_text).collect()
    }
}

fn push(stages: &mut Stages, events: &[Event]) -> Vec<Event> {
    let mut events = events.to_vec();
    stages.push(&mut events);
    events
}

/// A stream that broke off after these events.
fn interrupted(events: &[Event]) -> (Stages, Client) {
    let mut stages = Stages::new(Renames::default(), Continuity::Resumable);
    let mut client = Client::default();
    client.receive(push(&mut stages, events));
    let mut added = Vec::new();
    stages.finish(&mut added);
    client.receive(added);
    (stages, client)
}

fn expect_whole(client: &Client, case: &str) {
    let so_far = client.collector.so_far();
    assert!(client.ended, "{case}");
    assert_eq!(client.text(), WORDS.concat(), "{case}");
    let calls: Vec<&ToolCall> = so_far
        .parts
        .iter()
        .filter_map(|part| match &part.content {
            Content::ToolCall(call) => Some(call),
            _ => None,
        })
        .collect();
    let [call] = calls[..] else { panic!("{case}: {} calls", calls.len()) };
    assert_eq!((&*call.name, &*call.arguments), ("look", "{\"at\":\"it\"}"), "{case}");
    assert_eq!(so_far.stop, StopReason::ToolCalls, "{case}");
}

/// The first provider stops after any number of events; the second starts the answer again, and its stream is joined
/// after any number of its events.
#[test]
fn an_answer_that_breaks_off_anywhere_is_continued_without_loss_or_repetition() {
    let events = answer();
    let finish = events.len() - 2;
    for stop in 0..=events.len() {
        for joined_at in 1..=events.len() {
            let case = format!("stopped after {stop}, joined after {joined_at}");
            let (mut stages, mut client) = interrupted(&events[..stop]);
            if stop > finish {
                expect_whole(&client, &case);
                continue;
            }
            assert!(stages.resume().can_continue(), "{case}");
            let mut next = Stages::new(Renames::default(), Continuity::Continuation);
            assert_eq!(push(&mut next, &events[..joined_at]), [], "{case}");
            let so_far = client.collector.so_far().clone();
            let overlap = Overlap::with(&client.text());
            client.receive(stages.join(next, &so_far, overlap, Tokens::default(), 1));
            client.receive(push(&mut stages, &events[joined_at..]));
            expect_whole(&client, &case);
            assert_eq!(stages.resume().provider_id(), Some("x"), "{case}");
        }
    }
}

#[test]
fn an_answer_that_breaks_off_twice_is_continued_twice() {
    let events = answer();
    let finish = events.len() - 2;
    for (first, second) in (0..=finish).flat_map(|first| (0..=finish).map(move |second| (first, second))) {
        let case = format!("stopped after {first}, then after {second}");
        let (mut stages, mut client) = interrupted(&events[..first]);
        for (number, stop) in [(1, second), (2, events.len())] {
            let next = Stages::new(Renames::default(), Continuity::Continuation);
            let so_far = client.collector.so_far().clone();
            let overlap = Overlap::with(&client.text());
            client.receive(stages.join(next, &so_far, overlap, Tokens::default(), number));
            client.receive(push(&mut stages, &events[..stop]));
            let mut added = Vec::new();
            stages.finish(&mut added);
            client.receive(added);
        }
        expect_whole(&client, &case);
    }
}

#[test]
fn a_stream_that_cannot_be_resumed_passes_unchanged_and_is_not_completed() {
    let events = answer();
    let mut stages = Stages::new(Renames::default(), Continuity::Single);
    assert_eq!(push(&mut stages, &events), events);
    assert!(!stages.resume().can_continue());
    let mut stages = Stages::new(Renames::default(), Continuity::Single);
    push(&mut stages, &events[..events.len() - 1]);
    let mut added = Vec::new();
    stages.finish(&mut added);
    assert_eq!(added, []);
}
