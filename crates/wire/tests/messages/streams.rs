//! Decoding of Anthropic streams.

use bytes::Bytes;
use domain::canon::{Content, Event, StopReason};
use domain::fault::Fault;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{collect, decode_stream, fixtures};

#[test]
fn streams_are_decoded() {
    for (name, stream) in fixtures("streams") {
        let events = decode_stream(&[stream], None).unwrap();
        insta::assert_debug_snapshot!(format!("stream_{name}"), events);
    }
}

/// A stream of these events.
fn stream(events: &[Value]) -> Bytes {
    let events =
        events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()));
    events.collect::<String>().into()
}

fn start() -> Value {
    json!({"type": "message_start", "message": {"id": "m", "model": "x", "usage": {"input_tokens": 1, "output_tokens": 0}}})
}

fn open(index: u32, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn input(index: u32, more: &str) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": {"type": "input_json_delta", "partial_json": more}})
}

fn stop(index: u32) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn finish(reason: &str) -> [Value; 2] {
    let delta =
        json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}});
    [delta, json!({"type": "message_stop"})]
}

fn tool(name: &str, input: Value) -> Value {
    json!({"type": "tool_use", "id": "t", "name": name, "input": input})
}

#[test]
fn the_call_of_the_stand_in_streams_as_text() {
    let [delta, end] = finish("tool_use");
    let events = [
        start(),
        open(0, tool("json_output", json!({}))),
        input(0, "{\"a\""),
        input(0, ":1}"),
        stop(0),
        delta,
        end,
    ];
    let reply = collect(&decode_stream(&[stream(&events)], Some("json_output")).unwrap());
    assert_eq!(reply.parts[0].content, Content::Text(r#"{"a":1}"#.into()));
    assert_eq!(reply.stop, StopReason::EndTurn);
    assert_eq!(reply.usage.unwrap().tokens.total(), 6);
}

#[test]
fn arguments_that_come_with_the_block_are_not_lost() {
    for (whole, expected) in [(json!({"a": 1}), r#"{"a":1}"#), (json!({}), "{}")] {
        let [delta, end] = finish("tool_use");
        let events = [start(), open(0, tool("look", whole)), stop(0), delta, end];
        let reply = collect(&decode_stream(&[stream(&events)], None).unwrap());
        let Content::ToolCall(call) = &reply.parts[0].content else { panic!() };
        assert_eq!(call.arguments, expected);
    }
}

#[test]
fn open_blocks_are_closed_before_the_end() {
    let [delta, end] = finish("max_tokens");
    let events = [start(), open(0, json!({"type": "text", "text": "Hi"})), delta, end];
    let events = decode_stream(&[stream(&events)], None).unwrap();
    let close = events.iter().position(|event| matches!(event, Event::Close { .. })).unwrap();
    let finish = events.iter().position(|event| matches!(event, Event::Finish { .. })).unwrap();
    assert!(close < finish);
    assert_eq!(events.last(), Some(&Event::End));
}

#[track_caller]
fn fails(events: &[Value]) -> Fault {
    decode_stream(&[stream(events)], None).unwrap_err()
}

#[test]
fn broken_streams_are_the_providers_fault() {
    let [delta, end] = finish("end_turn");
    for events in [
        vec![open(0, json!({"type": "text", "text": ""}))],
        vec![start(), start()],
        vec![start(), input(0, "x")],
        vec![start(), stop(0)],
        vec![start(), open(0, json!({"type": "tool_use"}))],
        vec![start(), open(0, tool("a", json!({}))), open(0, tool("a", json!({})))],
        vec![start(), json!({"type": "content_block_delta"})],
        vec![start(), end],
        vec![delta.clone()],
        vec![start()],
        vec![start(), delta],
        vec![],
    ] {
        let fault = fails(&events);
        assert_eq!((fault.status, fault.code.as_str()), (502, "upstream_invalid_response"), "{events:?}");
    }
    let error = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    assert_eq!(fails(&[start(), error]).status, 503);
}

#[test]
fn unknown_events_are_ignored() {
    let [delta, end] = finish("end_turn");
    let events = [json!({"type": "ping"}), start(), json!({"type": "something_new"}), delta, end];
    assert_eq!(decode_stream(&[stream(&events)], None).unwrap().len(), 5);
}

proptest! {
    #[test]
    fn chunks_make_no_difference(cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..40)) {
        for (_, stream) in fixtures("streams") {
            let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len())).collect();
            at.extend([0, stream.len()]);
            at.sort_unstable();
            let chunks: Vec<Bytes> = at.windows(2).map(|pair| stream.slice(pair[0]..pair[1])).collect();
            prop_assert_eq!(decode_stream(&chunks, None).unwrap(), decode_stream(&[stream], None).unwrap());
        }
    }
}

#[test]
fn byte_by_byte_it_is_the_same() {
    for (_, stream) in fixtures("streams") {
        let chunks: Vec<Bytes> = (0..stream.len()).map(|at| stream.slice(at..=at)).collect();
        assert_eq!(decode_stream(&chunks, None).unwrap(), decode_stream(&[stream], None).unwrap());
    }
}
