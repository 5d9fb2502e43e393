//! Tests of joined continuations of every kind.

use bytes::Bytes;
use domain::canon::{Collector, Part, Thinking};
use domain::usage::Usage;

use super::*;

fn call(id: &str, arguments: &str) -> Content {
    let (id, name, arguments) = (id.into(), "look".into(), arguments.into());
    Content::ToolCall(ToolCall { id, name, arguments, custom: false, opaque: None })
}

/// Joins an interrupted reply of a first provider and the continuation of a second one.
fn joined(
    first: Vec<Content>,
    text_is_open: bool,
    second: Vec<Content>,
    stop: StopReason,
) -> (Reply, Vec<Event>) {
    let first = Reply { parts: first.into_iter().map(Part::new).collect(), ..Reply::default() };
    let second = Reply { parts: second.into_iter().map(Part::new).collect(), stop, ..Reply::default() };
    let said: String = first.parts.iter().filter_map(Part::as_text).collect();
    let next = first.parts.len() as u32;
    let state =
        Break { broken_text: text_is_open.then(|| next - 1), next, earlier: Tokens::default(), number: 1 };
    let mut joiner = ContinuationJoiner::new(&first, Overlap::with(&said), state);
    let mut events = Vec::new();
    for event in second.into_events() {
        joiner.push(event, &mut events);
    }
    let mut collector = Collector::default();
    let before = first.into_events();
    let shown = |event: &&Event| matches!(event, Event::Open { .. } | Event::Delta { .. });
    before.iter().filter(shown).for_each(|event| collector.take(event));
    events.iter().for_each(|event| collector.take(event));
    (collector.finish(), events)
}

fn text(text: &str) -> Content {
    Content::Text(text.into())
}

#[test]
fn text_continues_in_its_block_and_reasoning_is_dropped() {
    let thought = Content::Thinking(Thinking { text: "once more".into(), opaque: None });
    let (reply, events) =
        joined(vec![text("Hello")], true, vec![thought, text("Hello you"), text("!")], StopReason::EndTurn);
    let expected = [Part::text("Hello you"), Part::text("!")];
    assert_eq!(reply.parts, expected);
    assert_eq!(events[0], Event::Delta { index: 0, delta: Delta::Text(" you".into()) });
    assert_eq!(events[1], Event::Close { index: 0 });
    assert_eq!(events[2], Event::Open { index: 1, block: Block::Text });
    assert_eq!(reply.stop, StopReason::EndTurn);
}

#[test]
fn calls_are_made_once_and_keep_ids_of_their_own() {
    let first = vec![text("Let me see."), call("c", "{\"a\": 1}")];
    let second = vec![call("x", "{\"a\":1}"), call("c", "{\"a\":2}")];
    let (reply, _) = joined(first, false, second, StopReason::EndTurn);
    let ids: Vec<&str> = reply
        .parts
        .iter()
        .filter_map(|part| match &part.content {
            Content::ToolCall(call) => Some(call.id.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(ids, ["c", "c_1"]);
    assert_eq!(reply.stop, StopReason::ToolCalls);
}

#[test]
fn a_text_that_is_followed_by_a_call_or_by_nothing_is_closed() {
    let (_, events) = joined(vec![text("Hello")], true, vec![call("c", "{}")], StopReason::ToolCalls);
    assert_eq!(events[0], Event::Close { index: 0 });
    let (reply, events) = joined(vec![text("Hello")], true, vec![], StopReason::EndTurn);
    assert_eq!((events[0].clone(), reply.parts.len()), (Event::Close { index: 0 }, 1));
    // A repetition of complete text opens no empty text block.
    let (reply, _) = joined(vec![text("Hello")], false, vec![text("Hello")], StopReason::EndTurn);
    assert_eq!(reply.parts, [Part::text("Hello")]);
}

/// However the continuation's text is divided into deltas, the joined text and the block structure are the same.
#[test]
fn a_text_is_joined_alike_wherever_its_deltas_are_cut() {
    let first = Reply { parts: vec![Part::text("Once upon a time there ")], ..Reply::default() };
    let continuation = "upon a time there wäs a gateway";
    for cut in (0..=continuation.len()).filter(|cut| continuation.is_char_boundary(*cut)) {
        let state = Break { broken_text: Some(0), next: 1, earlier: Tokens::default(), number: 1 };
        let mut joiner = ContinuationJoiner::new(&first, Overlap::with("Once upon a time there "), state);
        let mut events = Vec::new();
        let delta = |text: &str| Event::Delta { index: 3, delta: Delta::Text(text.into()) };
        let (begin, end) = continuation.split_at(cut);
        for event in [
            Event::Open { index: 3, block: Block::Text },
            delta(begin),
            delta(end),
            Event::Close { index: 3 },
        ] {
            joiner.push(event, &mut events);
        }
        let new: String = events
            .iter()
            .map(|event| match event {
                Event::Delta { index: 0, delta: Delta::Text(text) } => text.as_str(),
                Event::Close { index: 0 } => "",
                event => panic!("{event:?}"),
            })
            .collect();
        assert_eq!(new, "wäs a gateway", "{cut}");
        assert_eq!(events.last(), Some(&Event::Close { index: 0 }), "{cut}");
    }
}

#[test]
fn usage_is_added_to_that_of_the_first_provider_and_the_id_is_kept() {
    let earlier = Tokens { input: 3, output: 5, ..Tokens::default() };
    let state = Break { broken_text: None, next: 0, earlier, number: 1 };
    let mut joiner = ContinuationJoiner::new(&Reply::default(), Overlap::with(""), state);
    let mut events = Vec::new();
    joiner.push(Event::Begin { id: Some("second".into()), model: None }, &mut events);
    let usage = Usage { tokens: Tokens { input: 10, output: 20, ..Tokens::default() }, ..Usage::default() };
    joiner.push(Event::Usage { usage: Box::new(usage), raw: Bytes::new() }, &mut events);
    let [Event::Usage { usage, .. }] = &events[..] else { panic!("{events:?}") };
    assert_eq!((usage.tokens.input, usage.tokens.output), (13, 25));
    assert_eq!(joiner.provider_id(), Some("second"));
}
