//! Decoding of provider streams.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use bytes::Bytes;
use domain::canon::{Block, Content, Delta, Event, StopReason};
use domain::fault::Fault;
use proptest::prelude::*;

use crate::{check_order, decode_stream, decoding, gather};

fn fixtures() -> Vec<(String, Bytes)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/streams");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let name = |path: &Path| path.file_stem().unwrap().to_string_lossy().into_owned();
    paths.iter().map(|path| (name(path), Bytes::from(fs::read(path).unwrap()))).collect()
}

fn show(events: &Result<Vec<Event>, Fault>) -> String {
    match events {
        Err(fault) => format!("{fault}\n"),
        Ok(events) => events.iter().fold(String::new(), |mut shown, event| {
            writeln!(shown, "{event:?}").unwrap();
            shown
        }),
    }
}

#[test]
fn streams_as_they_are_sent_become_events() {
    for (name, stream) in fixtures() {
        let events = decode_stream([stream], decoding(None));
        if let Ok(events) = &events {
            check_order(events);
        }
        insta::assert_snapshot!(format!("events_{name}"), show(&events));
    }
}

proptest! {
    #[test]
    fn chunks_of_bytes_make_no_difference(which in 0usize..12, cuts in prop::collection::vec(1usize..200, 1..40)) {
        let (_, stream) = &fixtures()[which];
        let whole = decode_stream([stream.clone()], decoding(None));
        let mut rest = stream.clone();
        let mut chunks = Vec::new();
        for cut in cuts.iter().cycle() {
            if rest.is_empty() { break }
            chunks.push(rest.split_to((*cut).min(rest.len())));
        }
        prop_assert_eq!(show(&decode_stream(chunks, decoding(None))), show(&whole));
    }
}

fn stream(events: &[&str]) -> Bytes {
    events.iter().map(|event| format!("data: {event}\n\n")).collect::<String>().into()
}

fn delta(delta: &str) -> String {
    format!(r#"{{"id":"x","model":"m","choices":[{{"index":0,"delta":{delta},"finish_reason":null}}]}}"#)
}

const FINISH: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;

/// The calls of an answer: id, name and arguments.
#[track_caller]
fn calls(deltas: &[&str]) -> Vec<(String, String, String)> {
    let deltas: Vec<String> = deltas.iter().map(|text| delta(text)).collect();
    let all: Vec<&str> = deltas.iter().map(String::as_str).chain([FINISH, "[DONE]"]).collect();
    let events = decode_stream([stream(&all)], decoding(None)).unwrap();
    check_order(&events);
    let reply = gather(&events);
    assert_eq!(reply.stop, StopReason::ToolCalls);
    let call = |content| match content {
        Content::ToolCall(call) => Some((call.id, call.name, call.arguments)),
        _ => None,
    };
    reply.parts.into_iter().filter_map(|part| call(part.content)).collect()
}

#[test]
fn calls_are_distinguished_by_index_or_id() {
    let two = |one: &str, other: &str| {
        vec![
            (one.to_owned(), "f".to_owned(), "{\"a\":1}".to_owned()),
            (other.to_owned(), "g".to_owned(), "{}".to_owned()),
        ]
    };
    // OpenAI: by index.
    assert_eq!(
        calls(&[
            r#"{"tool_calls":[{"index":0,"id":"1","type":"function","function":{"name":"f","arguments":""}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":"}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}"#,
            r#"{"tool_calls":[{"index":1,"id":"2","type":"function","function":{"name":"g","arguments":"{}"}}]}"#,
        ]),
        two("1", "2")
    );
    // No index: a new id or a name starts a call; a fragment with neither continues the last one.
    assert_eq!(
        calls(&[
            r#"{"tool_calls":[{"id":"1","function":{"name":"f","arguments":"{\"a\":"}}]}"#,
            r#"{"tool_calls":[{"id":"1","function":{"name":"f","arguments":"1}"}}]}"#,
            r#"{"tool_calls":[{"id":"2","function":{"name":"g","arguments":""}},{"function":{"arguments":"{}"}}]}"#,
        ]),
        two("1", "2")
    );
    // The same index for all calls, arguments as an object, no ids, no arguments.
    assert_eq!(
        calls(&[
            r#"{"tool_calls":[{"index":0,"id":"1","function":{"name":"f","arguments":{"a":1}}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"2","function":{"name":"g"}}]}"#,
        ]),
        two("1", "2")
    );
    assert_eq!(
        calls(&[
            r#"{"tool_calls":[{"id":"","function":{"name":"f","arguments":"{\"a\":1}"}},{"function":{"name":"g","arguments":"{}"}}]}"#
        ]),
        two("call_seed01", "call_seed02")
    );
    // A different id in every chunk, and a name that arrives after the id.
    assert_eq!(
        calls(&[
            r#"{"tool_calls":[{"index":0,"id":"1"}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"other","function":{"name":"f","arguments":"{\"a\""}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"third","function":{"arguments":":1}"}}]}"#,
            r#"{"tool_calls":[{"index":1,"id":"2","function":{"name":"g","arguments":"{}"}}]}"#,
        ]),
        two("1", "2")
    );
    let legacy = calls(&[
        r#"{"function_call":{"name":"f","arguments":"{\"a\""}}"#,
        r#"{"function_call":{"arguments":":1}"}}"#,
    ]);
    assert_eq!(legacy, two("call_seed01", "")[..1]);
}

#[test]
fn reasoning_text_and_calls_may_alternate() {
    let deltas = [
        r#"{"role":"assistant","content":"","reasoning":"a","reasoning_details":[{"type":"reasoning.text","text":"a","index":0}]}"#,
        r#"{"reasoning":"b","reasoning_details":[{"type":"reasoning.text","text":"b","index":0}]}"#,
        r#"{"reasoning_details":[{"type":"reasoning.text","signature":"s","index":0}]}"#,
        r#"{"reasoning_content":"c"}"#,
        r#"{"content":"d"}"#,
        r#"{"tool_calls":[{"index":0,"id":"1","function":{"name":"f","arguments":"{}"}}],"reasoning_details":[{"type":"reasoning.encrypted","data":"z","id":"1"}]}"#,
        r#"{"content":"e"}"#,
    ]
    .map(delta);
    let all: Vec<&str> = deltas.iter().map(String::as_str).chain([FINISH, "[DONE]"]).collect();
    let events = decode_stream([stream(&all)], decoding(None)).unwrap();
    check_order(&events);
    let kinds: Vec<String> = gather(&events)
        .parts
        .iter()
        .map(|part| match &part.content {
            Content::Thinking(it) => {
                format!("think {} {:?}", it.text, it.opaque.as_ref().map(|state| state.data.as_str()))
            }
            Content::Text(text) => format!("say {text}"),
            Content::ToolCall(call) => {
                format!("call {:?}", call.opaque.as_ref().map(|state| state.data.as_str()))
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(kinds, ["think ab Some(\"s\")", "think c None", "say d", "call Some(\"z\")", "say e"]);
}

#[test]
fn the_stand_in_for_a_schema_is_the_text() {
    let deltas = [
        r#"{"tool_calls":[{"index":0,"id":"1","function":{"name":"json_output","arguments":"{\"a\":"}}]}"#,
        r#"{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}"#,
    ]
    .map(delta);
    let finish = FINISH.replace("stop", "tool_calls");
    let events =
        decode_stream([stream(&[&deltas[0], &deltas[1], &finish, "[DONE]"])], decoding(Some("json_output")))
            .unwrap();
    check_order(&events);
    let reply = gather(&events);
    assert_eq!(
        (reply.parts.len(), reply.parts[0].as_text(), reply.stop),
        (1, Some("{\"a\":1}"), StopReason::EndTurn)
    );
    assert!(
        events.iter().filter(|event| matches!(event, Event::Delta { delta: Delta::Text(_), .. })).count()
            == 2
    );
}

#[test]
fn complete_and_interrupted_streams_are_distinguished() {
    let text = delta(r#"{"content":"a"}"#);
    let code = |parts: &[&str]| {
        decode_stream([stream(parts)], decoding(None))
            .map(|events| gather(&events).stop)
            .map_err(|fault| fault.code.to_string())
    };
    assert_eq!(code(&[&text, FINISH, "[DONE]"]), Ok(StopReason::EndTurn));
    assert_eq!(code(&[&text, FINISH]), Ok(StopReason::EndTurn));
    assert_eq!(code(&[&text, "[DONE]"]), Ok(StopReason::EndTurn));
    assert_eq!(code(&[&text]).unwrap_err(), "upstream_invalid_response");
    assert_eq!(code(&[&text, "{oops"]).unwrap_err(), "upstream_invalid_response");
    assert_eq!(code(&[&text, r#"{"choices":7}"#]).unwrap_err(), "upstream_invalid_response");
    assert_eq!(code(&[&text, r#"{"error":{"message":"slow down","code":429}}"#]).unwrap_err(), "429");
    assert_eq!(code(&[&text, FINISH, &text]).unwrap_err(), "upstream_invalid_response");
    assert_eq!(code(&[&text, FINISH, FINISH, "[DONE]"]), Ok(StopReason::EndTurn));
    let late = [
        delta(r#"{"tool_calls":[{"index":0,"id":"1","function":{"name":"f","arguments":"{"}}]}"#),
        delta(r#"{"content":"then"}"#),
        delta(r#"{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]}"#),
    ];
    assert_eq!(code(&[&late[0], &late[1], &late[2], "[DONE]"]).unwrap_err(), "upstream_invalid_response");
    for (word, reason) in [
        ("length", StopReason::MaxTokens),
        ("content_filter", StopReason::ContentFilter),
        ("model_length", StopReason::MaxTokens),
        ("eos", StopReason::EndTurn),
    ] {
        assert_eq!(code(&[&text, &FINISH.replace("stop", word), "[DONE]"]), Ok(reason));
    }
    let met = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop","stop_reason":"END"}]}"#;
    assert_eq!(code(&[&text, met, "[DONE]"]), Ok(StopReason::StopSequence(Some("END".into()))));
    let refusal = delta(r#"{"refusal":"No."}"#);
    assert_eq!(code(&[&refusal, FINISH, "[DONE]"]), Ok(StopReason::Refusal));
}

#[test]
fn nothing_waits_for_the_next_event() {
    let text = delta(r#"{"content":"a"}"#);
    let azure = r#"{"id":"","model":"","choices":[],"created":0,"prompt_filter_results":[]}"#;
    let usage = r#"{"id":"x","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1}}"#;
    let all = decode_stream([stream(&[azure, &text, FINISH, usage, "[DONE]"])], decoding(None)).unwrap();
    check_order(&all);
    assert_eq!(all[0], Event::Begin { id: Some("x".into()), model: Some("m".into()) });
    assert_eq!(all[1], Event::Open { index: 0, block: Block::Text });
    assert!(matches!(all[all.len() - 2], Event::Usage { .. }), "{all:?}");
    assert_eq!(all.len(), 7);
}
