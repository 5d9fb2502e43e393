//! Tests that upstream errors keep what the client can use and omit what it must not see.

use super::*;

#[track_caller]
fn check(status: u16, body: &str, expected: (u16, FaultKind, &str, &str, bool)) -> Fault {
    let fault = read_error(status, body.as_bytes(), "acme");
    let (expected_status, kind, code, message, retryable) = expected;
    assert_eq!(
        (
            fault.status,
            fault.kind,
            fault.code.as_str(),
            &*fault.message,
            fault.retry_scope != RetryScope::Never
        ),
        (expected_status, kind, code, message, retryable)
    );
    fault
}

#[test]
fn statuses_decide_the_kind() {
    let openai =
        r#"{"error":{"message":"Bad n.","type":"invalid_request_error","param":"n","code":"bad_n"}}"#;
    let fault = check(400, openai, (400, FaultKind::InvalidRequest, "bad_n", "Bad n.", false));
    assert_eq!((fault.param.as_deref(), fault.blame), (Some("n"), Blame::Client));
    check(
        404,
        r#"{"error":{"message":"Gone","code":null}}"#,
        (404, FaultKind::NotFound, "upstream_error", "Gone", true),
    );
    let limited = check(
        429,
        r#"{"error":{"message":"Slow","code":42}}"#,
        (429, FaultKind::RateLimit, "42", "Slow", true),
    );
    assert_eq!(limited.blame, Blame::Upstream);
    check(500, r#"{"error":"boom"}"#, (500, FaultKind::Provider, "upstream_error", "boom", true));
    check(503, r#"{"message":"Busy"}"#, (503, FaultKind::Provider, "upstream_error", "Busy", true));
    check(
        529,
        r#"{"error":{"message":"Overloaded"}}"#,
        (503, FaultKind::Provider, "overloaded", "Overloaded", true),
    );
    assert_eq!(read_error(302, b"", "acme").code.as_str(), "upstream_invalid_response");
}

#[test]
fn our_credential_is_our_own_trouble() {
    for (status, verb) in [(401, "rejected the gateway's credential"), (403, "refused the gateway access")] {
        let fault = read_error(status, br#"{"error":{"message":"Incorrect API key: sk-abc"}}"#, "acme");
        assert_eq!((fault.status, fault.code.as_str()), (502, "upstream_auth_failed"));
        assert_eq!(fault.upstream_status.map(u16::from), Some(status));
        let expected = format!("The provider 'acme' {verb} (status {status}): Incorrect API key: ***");
        assert_eq!(fault.message, expected);
        let page = read_error(status, b"<html>", "acme");
        assert!(page.message.ends_with(&format!("(status {status}) without a readable reason.")));
    }
}

#[test]
fn the_providers_own_status_is_kept() {
    for status in [302, 400, 404, 429, 500, 529] {
        assert_eq!(read_error(status, b"", "acme").upstream_status.map(u16::from), Some(status));
    }
}

#[test]
fn shapes_other_than_openais_are_read() {
    for (body, message) in [
        (r#"{"detail":"Not allowed"}"#, "Not allowed"),
        (r#"{"detail":[{"msg":"field required","loc":["body"]}]}"#, "field required"),
        (r#"{"object":"error","message":{"detail":[{"msg":"Extra inputs"}]}}"#, "Extra inputs"),
        (r#"[{"error":{"message":"In a list"}}]"#, "In a list"),
        (r#"{"object":"error","message":"From vLLM","code":400}"#, "From vLLM"),
        (r#"{"error":{"message":{"detail":"x"}},"message":"Outside"}"#, "Outside"),
    ] {
        assert_eq!(read_error(422, body.as_bytes(), "acme").message, message);
    }
}

#[test]
fn html_error_pages_are_not_forwarded() {
    for body in ["<html>502 Bad Gateway</html>", "", "\u{0}\u{1}", r#"{"error":"<!doctype html>"}"#] {
        let fault = read_error(502, body.as_bytes(), "acme");
        assert_eq!(fault.message, "The provider 'acme' answered with status 502 and no readable error.");
    }
    let long = serde_json::json!({"error": {"message": "é".repeat(5_000)}}).to_string();
    assert_eq!(read_error(400, long.as_bytes(), "acme").message.chars().count(), MESSAGE_LIMIT + 1);
}

#[test]
fn errors_inside_streams_find_their_status() {
    for (data, status, code, retryable) in [
        (r#"{"error":{"message":"m","code":429}}"#, 429, "429", true),
        (r#"{"error":{"message":"m","type":"rate_limit_error"}}"#, 429, "upstream_error", true),
        (r#"{"error":{"message":"m","type":"server_error","code":null}}"#, 500, "upstream_error", true),
        (r#"{"error":{"message":"m","type":"overloaded_error"}}"#, 503, "overloaded", true),
        (
            r#"{"error":{"message":"m","code":"context_length_exceeded"}}"#,
            400,
            "context_length_exceeded",
            false,
        ),
        (r#"{"object":"error","message":"m","code":400}"#, 400, "400", false),
        (r#"{"error":{"message":"m","code":"401"}}"#, 502, "upstream_auth_failed", true),
        (r#"{"error":{"message":"m"}}"#, 502, "upstream_error", true),
        ("<html>", 502, "upstream_invalid_response", true),
    ] {
        let fault = read_stream_error(data.as_bytes(), "acme");
        assert_eq!(
            (fault.status, fault.code.as_str(), fault.retry_scope != RetryScope::Never),
            (status, code, retryable),
            "{data}"
        );
    }
}
