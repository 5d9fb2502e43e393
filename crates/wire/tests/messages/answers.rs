//! Decoding of complete answers.

use domain::canon::{Content, StopReason};
use serde_json::{Value, json};

use crate::{decoding, fixtures, upstream};

#[test]
fn whole_answers_are_read() {
    for (name, body) in fixtures("answers") {
        let reply = upstream().decode(&body, &mut decoding(None)).unwrap();
        insta::assert_debug_snapshot!(format!("answer_{name}"), reply);
    }
}

fn answer(content: Value, stop: &str) -> Vec<u8> {
    json!({"id": "m", "type": "message", "content": content, "stop_reason": stop, "stop_sequence": "END"})
        .to_string()
        .into()
}

#[test]
fn every_stop_reason() {
    for (word, expected) in [
        ("end_turn", StopReason::EndTurn),
        ("max_tokens", StopReason::MaxTokens),
        ("model_context_window_exceeded", StopReason::MaxTokens),
        ("stop_sequence", StopReason::StopSequence(Some("END".into()))),
        ("tool_use", StopReason::ToolCalls),
        ("pause_turn", StopReason::PauseTurn),
        ("refusal", StopReason::Refusal),
        ("something_new", StopReason::EndTurn),
    ] {
        let reply = upstream().decode(&answer(json!([]), word), &mut decoding(None)).unwrap();
        assert_eq!(reply.stop, expected, "{word}");
    }
}

#[test]
fn the_call_of_the_stand_in_is_the_text() {
    let call = |name: &str| json!({"type": "tool_use", "id": "t", "name": name, "input": {"a": 1}});
    let read = |content| {
        upstream().decode(&answer(content, "tool_use"), &mut decoding(Some("json_output"))).unwrap()
    };
    let reply = read(json!([call("json_output")]));
    assert_eq!(reply.parts[0].content, Content::Text(r#"{"a":1}"#.into()));
    assert_eq!(reply.stop, StopReason::EndTurn);
    let reply = read(json!([call("look")]));
    assert!(matches!(reply.parts[0].content, Content::ToolCall(_)));
    assert_eq!(reply.stop, StopReason::ToolCalls);
}

#[test]
fn unreadable_answers_are_the_providers_fault() {
    for body in [
        "",
        "<html>",
        "[]",
        "{}",
        r#"{"content":"x"}"#,
        r#"{"content":[{"type":"text"}]}"#,
        r#"{"content":[1]}"#,
    ] {
        let fault = upstream().decode(body.as_bytes(), &mut decoding(None)).unwrap_err();
        assert_eq!((fault.status, fault.code.as_str()), (502, "upstream_invalid_response"), "{body}");
    }
    let error = br#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let fault = upstream().decode(error, &mut decoding(None)).unwrap_err();
    assert_eq!((fault.status, fault.message.as_str()), (503, "Overloaded"));
}
