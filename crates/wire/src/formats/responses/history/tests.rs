//! Tests that stored turns are prepended and the rest of the body is unchanged.

use super::*;

#[track_caller]
fn check(body: &str, history: &[&str], expected: &str) {
    let history: Vec<Bytes> = history.iter().map(|array| Bytes::copy_from_slice(array.as_bytes())).collect();
    let history = history.as_slice();
    let joined = with_history(&Bytes::copy_from_slice(body.as_bytes()), history);
    assert_eq!(std::str::from_utf8(&joined).unwrap(), expected);
    json::scan(&joined).unwrap();
}

#[test]
fn input_is_kept_as_sent_and_text_becomes_a_message() {
    let items = normalize_input(br#"{"input":[{"role":"user","content":"a"}, {"z":1,"a":2}]}"#).unwrap();
    assert_eq!(items, r#"[{"role":"user","content":"a"}, {"z":1,"a":2}]"#);
    assert_eq!(
        normalize_input(br#"{"input":"hi"}"#).unwrap(),
        r#"[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}]"#
    );
    assert_eq!(normalize_input(br#"{"previous_response_id":"resp_1"}"#).unwrap(), "[]");
    assert_eq!(normalize_input(br#"{"input":5}"#).unwrap_err().param.as_deref(), Some("input"));
}

#[test]
fn the_past_is_put_in_front() {
    let past = [r#"[{"a":1}]"#, "[ ]", r#" [ {"b":2} ]"#];
    check(
        r#"{"model":"m", "previous_response_id":"resp_1","input":[ {"c":3}],"x":1.0}"#,
        &past,
        r#"{"model":"m","input":[{"a":1},{"b":2}, {"c":3}],"x":1.0}"#,
    );
    check(
        r#"{"input":"hi","previous_response_id":"r"}"#,
        &past[..1],
        r#"{"input":[{"a":1},{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}]}"#,
    );
    check(r#"{"input":[ ]}"#, &past, r#"{"input":[{"a":1},{"b":2} ]}"#);
    check(r#"{"input":[1]}"#, &[], r#"{"input":[1]}"#);
    check(r#"{"previous_response_id":"r","a":1}"#, &past[..1], r#"{"a":1,"input":[{"a":1}]}"#);
    check(r#"{"previous_response_id":"r"}"#, &past[..1], r#"{"input":[{"a":1}]}"#);
}
