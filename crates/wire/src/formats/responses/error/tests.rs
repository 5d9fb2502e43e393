//! Tests that both shapes of an error become the same fault.

use super::*;

#[track_caller]
fn check(data: &str, status: u16, code: &str, message: &str) {
    let fault = read_stream_error(data.as_bytes(), "acme");
    assert_eq!((fault.status, fault.code.as_str(), &*fault.message), (status, code, message), "{data}");
}

#[test]
fn errors_are_read_wherever_they_stand() {
    check(
        r#"{"type":"error","code":"rate_limit_exceeded","message":"slow"}"#,
        429,
        "rate_limit_exceeded",
        "slow",
    );
    check(
        r#"{"type":"error","error":{"type":"invalid_request_error","code":"x","message":"bad","param":"input"}}"#,
        400,
        "x",
        "bad",
    );
    check(
        r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"oops"}}}"#,
        500,
        "server_error",
        "oops",
    );
    check(
        r#"{"status":"failed","error":{"code":"invalid_prompt","message":"bad"}}"#,
        400,
        "invalid_prompt",
        "bad",
    );
    check(
        r#"{"type":"response.failed","response":{"error":{"code":"server_is_overloaded","message":"busy"}}}"#,
        503,
        "overloaded",
        "busy",
    );
    assert_eq!(read_stream_error(b"<html>", "acme").code.as_str(), "upstream_invalid_response");
    let cancelled = br#"{"type":"response.cancelled","response":{"status":"cancelled","error":null}}"#;
    assert!(read_stream_error(cancelled, "acme").message.contains("cancelled"));
}

#[test]
fn a_broken_response_fails_first_and_then_raises() {
    let broken = Broken { id: "resp_1", model: "a/b", created: 7, sequence: 4 };
    let text = render_error_event(&fault::upstream_interrupted("p"), broken);
    let data: Vec<serde_json::Value> = text
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!((&data[0]["type"], &data[0]["sequence_number"]), (&json!("response.failed"), &json!(4)));
    assert_eq!(data[0]["response"]["status"], "failed");
    assert_eq!((&data[1]["type"], &data[1]["sequence_number"]), (&json!("error"), &json!(5)));
    assert_eq!(data[1]["error"]["code"], "upstream_invalid_response");
}
