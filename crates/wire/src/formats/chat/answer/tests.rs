//! Tests that answers are read and edited without being re-serialised.

use crate::codec::Served;
use crate::formats::chat::answer::{read_answer, splice_answer};
use crate::json::ScanError;
use crate::splice;
use bytes::Bytes;

#[track_caller]
fn spliced(body: &'static str, expected: &str) {
    let body = Bytes::from_static(body.as_bytes());
    let answer = read_answer(&body).unwrap();
    let rope = splice_answer(
        &body,
        &answer,
        &Served { provider: "open\"ai", model: "m", requested_model: "asked", latency_ms: 142 },
    );
    assert_eq!(std::str::from_utf8(&splice::concat(&rope)).unwrap(), expected);
}

#[test]
fn provider_and_latency_are_added_or_replaced() {
    spliced(
        "{\"id\":\"x\", \"choices\":[] ,\"new\":1.50\n}",
        "{\"id\":\"x\", \"choices\":[] ,\"new\":1.50,\"provider\":\"open\\\"ai\",\"latency\":\"142ms\"\n}",
    );
    spliced(
        r#"{"provider":"Upstream","choices":[{}],"latency":null}"#,
        r#"{"provider":"open\"ai","choices":[{}],"latency":"142ms"}"#,
    );
}

#[test]
fn answer_facts_are_found() {
    let body =
        br#"{"id":"a\u0062c","choices":[{"message":{"content":"Hello"}}],"usage":{"completion_tokens":1}}"#;
    let answer = read_answer(body).unwrap();
    assert_eq!(answer.id.as_deref(), Some("abc"));
    assert_eq!(&body[answer.usage.unwrap()], br#"{"completion_tokens":1}"#);
    assert_eq!((answer.content_bytes, answer.error), (0, None));
}

#[test]
fn missing_usage_is_counted_from_the_content() {
    for usage in
        ["{}", r#"{"prompt_tokens":1}"#, r#"{"completion_tokens":null}"#, r#"{"completion_tokens":1e30}"#]
    {
        let body = format!(r#"{{"choices":[{{"message":{{"content":"Hello"}}}}],"usage":{usage}}}"#);
        assert_eq!(read_answer(body.as_bytes()).unwrap().content_bytes, 5, "{usage}");
    }
}

#[test]
fn without_usage_the_text_is_counted() {
    let body = br#"{"usage":null,"choices":[
        {"message":{"content":"Hello","reasoning_content":"Hm","refusal":null}},
        {"message":{"content":null,"tool_calls":[{"function":{"name":"f","arguments":"{\"a\":1}"}},{"function":{"name":"g"}}]}},
        {"message":{"content":null,"function_call":{"name":"h","arguments":"{}"}}}]}"#;
    let answer = read_answer(body).unwrap();
    assert_eq!((answer.usage, answer.content_bytes), (None, 5 + 2 + 8 + 1 + 3));
}

#[test]
fn an_error_inside_a_success_is_exposed_and_nonsense_refused() {
    let body = br#"{"error":{"message":"no"}}"#;
    assert_eq!(&body[read_answer(body).unwrap().error.unwrap()], br#"{"message":"no"}"#);
    assert!(matches!(read_answer(b"{\"ok\":true}"), Err(ScanError::Syntax { .. })));
    assert!(matches!(read_answer(b"<html>"), Err(ScanError::Syntax { at: 0, .. })));
    assert!(matches!(read_answer(b"[]"), Err(ScanError::NotAnObject)));
}
