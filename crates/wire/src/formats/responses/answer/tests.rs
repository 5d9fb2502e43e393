//! Tests of the fields read from a complete answer and of the edits made to it.

use super::*;
use crate::splice::concat;

#[test]
fn usage_id_and_model_are_found_and_only_the_model_changes() {
    let body = Bytes::from_static(
        br#"{ "id":"resp_1","model": "gpt-5","error":null,"output":[ ],"usage":{"input_tokens":3} }"#,
    );
    let answer = read_answer(&body).unwrap();
    assert_eq!((answer.id.as_deref(), answer.content_bytes), (Some("resp_1"), 0));
    assert_eq!(&body[answer.usage.clone().unwrap()], br#"{"input_tokens":3}"#);
    assert!(answer.error.is_none());
    let served = Served { provider: "mine", model: "gpt-5", requested_model: "asked", latency_ms: 7 };
    let sent = concat(&splice_answer(&body, &answer, &served));
    let expected =
        br#"{ "id":"resp_1","model": "mine/gpt-5","error":null,"output":[ ],"usage":{"input_tokens":3} }"#;
    assert_eq!(sent.as_ref(), expected);
}

#[test]
fn a_failure_inside_a_success_is_seen() {
    let body = br#"{"status":"failed","error":{"code":"server_error","message":"no"},"output":[]}"#;
    let answer = read_answer(body).unwrap();
    assert_eq!(&body[answer.error.unwrap()], br#"{"code":"server_error","message":"no"}"#);
    assert!(read_answer(br#"{"id":"x"}"#).is_err());
}

#[test]
fn without_usage_the_content_is_counted() {
    let body = br#"{"output":[{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]},
        {"type":"message","content":[{"type":"output_text","text":"four"},{"type":"refusal","refusal":"no"}]},
        {"type":"function_call","arguments":"{\"a\":1}"},{"type":"custom_tool_call","input":"ls"}]}"#;
    assert_eq!(read_answer(body).unwrap().content_bytes, 2 + 4 + 2 + 7 + 2);
}
