//! Tests of joined continuations of every kind.

use domain::canon::{Collector, Part, Thinking};

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
    let mut seam = ContinuationJoiner::new(&first, Overlap::with(&said), state);
    let mut events = Vec::new();
    let mut held = crate::streaming::resume::tool_call_buffer::ToolCallBuffer::default();
    for event in second.into_events() {
        match held.take(event) {
            crate::streaming::resume::tool_call_buffer::Released::Nothing => {}
            crate::streaming::resume::tool_call_buffer::Released::Event(event) => {
                seam.take(event, &mut events)
            }
            crate::streaming::resume::tool_call_buffer::Released::Call(call) => seam.call(call, &mut events),
        }
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
fn a_text_goes_on_in_its_block_and_thoughts_are_not_shown_again() {
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
