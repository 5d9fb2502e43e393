//! Renders faults in the client's format: the error body and the in-band stream event.

use bytes::Bytes;
use domain::call::Format;
use domain::fault::{Fault, FaultKind};

use crate::json::quote;

/// The error body: `{"error":{…}}` with all four keys, or the shape of Anthropic or Google for their clients.
pub fn envelope(fault: &Fault, format: Format, request_id: &str) -> Bytes {
    match format {
        Format::Chat | Format::Responses => openai(fault).into(),
        Format::Generate => google(fault).into(),
        Format::Messages => anthropic(fault, Some(request_id)).into(),
    }
}

/// State of an interrupted answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Broken<'a> {
    /// The answer's id, as the client received it.
    pub id: &'a str,
    pub model: &'a str,
    /// Unix time in seconds.
    pub created: i64,
    /// The sequence number that the next event would have had.
    pub sequence: u64,
}

/// The fault as an event in a stream that has begun. Nothing may follow it, in particular no regular end of stream.
pub fn event(fault: &Fault, format: Format, broken: Broken<'_>) -> Bytes {
    match format {
        Format::Chat => format!("data: {}\n\n", openai(fault)).into(),
        Format::Generate => format!("data: {}\r\n\r\n", google(fault)).into(),
        Format::Messages => format!("event: error\ndata: {}\n\n", anthropic(fault, None)).into(),
        Format::Responses => responses(fault, broken).into(),
    }
}

/// Renders a failed response: `response.failed` as the protocol requires, then the `error` event on which the official
/// clients raise.
fn responses(fault: &Fault, broken: Broken<'_>) -> String {
    let (id, model) = (quote(broken.id), quote(broken.model));
    let (code, message) = (quote(fault.code.as_str()), quote(&fault.message));
    // Nothing was sent yet: the protocol requires `response.created` first.
    let (begun, sequence) = match broken.sequence {
        0 => (created(broken), 1),
        sequence => (String::new(), sequence),
    };
    let failed = format!(
        r#"{{"type":"response.failed","sequence_number":{},"response":{{"id":{id},"object":"response","created_at":{},"status":"failed","error":{{"code":{code},"message":{message}}},"incomplete_details":null,"model":{model},"output":[],"parallel_tool_calls":true,"tool_choice":"auto","tools":[],"usage":null}}}}"#,
        sequence, broken.created,
    );
    format!("{begun}event: response.failed\ndata: {failed}\n\n{}", responses_error(fault, sequence + 1))
}

fn created(broken: Broken<'_>) -> String {
    let (id, model) = (quote(broken.id), quote(broken.model));
    let created = format!(
        r#"{{"type":"response.created","sequence_number":0,"response":{{"id":{id},"object":"response","created_at":{},"status":"in_progress","error":null,"incomplete_details":null,"model":{model},"output":[],"parallel_tool_calls":true,"tool_choice":"auto","tools":[],"usage":null}}}}"#,
        broken.created,
    );
    format!("event: response.created\ndata: {created}\n\n")
}

/// The last event of an interrupted response.
pub fn responses_error(fault: &Fault, sequence: u64) -> String {
    let envelope = openai(fault);
    let inner = envelope.trim_start_matches('{').trim_end_matches('}');
    format!("event: error\ndata: {{\"type\":\"error\",\"sequence_number\":{sequence},{inner}}}}}\n\n")
}

/// Renders a `google.rpc.Status`. Google's clients compare the code as a number, read the reason from `ErrorInfo` and
/// wait as long as `RetryInfo` says.
fn google(fault: &Fault) -> String {
    let status = match fault.status {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        408 | 504 => "DEADLINE_EXCEEDED",
        409 => "ABORTED",
        412 => "FAILED_PRECONDITION",
        429 => "RESOURCE_EXHAUSTED",
        501 => "UNIMPLEMENTED",
        502 | 503 | 529 => "UNAVAILABLE",
        400..=499 => "INVALID_ARGUMENT",
        _ => "INTERNAL",
    };
    let param = fault.param.iter().map(|param| ("param", param));
    let detail = fault.detail.iter().map(|detail| (detail.0, &detail.1));
    let metadata: Vec<String> =
        param.chain(detail).map(|(name, value)| format!("{}:{}", quote(name), quote(value))).collect();
    let retry = fault.retry_after.map(|after| {
        format!(
            r#",{{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"{}s"}}"#,
            after.as_secs_f64()
        )
    });
    format!(
        r#"{{"error":{{"code":{},"message":{},"status":"{status}","details":[{{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":{},"domain":"gatehouse","metadata":{{{}}}}}{}]}}}}"#,
        fault.status,
        quote(&fault.message),
        quote(&fault.code.as_str().to_ascii_uppercase()),
        metadata.join(","),
        retry.unwrap_or_default(),
    )
}

fn anthropic(fault: &Fault, request_id: Option<&str>) -> String {
    let kind = match (fault.status, fault.kind) {
        (413, _) => "request_too_large",
        (503 | 529, _) => "overloaded_error",
        (_, FaultKind::Authentication) => "authentication_error",
        (_, FaultKind::Authorization) => "permission_error",
        (_, FaultKind::NotFound) => "not_found_error",
        (_, FaultKind::RateLimit) => "rate_limit_error",
        (400..=499 | 501, _) => "invalid_request_error",
        _ => "api_error",
    };
    let request_id = request_id.map(|id| format!(",\"request_id\":{}", quote(id))).unwrap_or_default();
    format!(
        r#"{{"type":"error","error":{{"type":"{kind}","message":{}}}{request_id}}}"#,
        quote(&fault.message)
    )
}

fn openai(fault: &Fault) -> String {
    let param = fault.param.as_deref().map_or_else(|| "null".to_owned(), quote);
    let detail = fault.detail.as_deref().map(|(key, value)| format!(",{}:{}", quote(key), quote(value)));
    format!(
        r#"{{"error":{{"type":"{}","message":{},"param":{param},"code":{}{}}}}}"#,
        fault.kind.as_str(),
        quote(&fault.message),
        quote(fault.code.as_str()),
        detail.unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use domain::fault::{self, FaultCode};
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(fault: &Fault, expected: serde_json::Value) {
        let body = envelope(fault, Format::Chat, "r");
        assert_eq!(serde_json::from_slice::<serde_json::Value>(&body).unwrap(), expected);
        let event = event(fault, Format::Chat, Broken::default());
        let inside = event.strip_prefix(b"data: ").unwrap().strip_suffix(b"\n\n").unwrap();
        assert_eq!(inside, body);
    }

    #[test]
    fn all_four_keys_are_always_there() {
        check(
            &fault::internal_error(),
            json!({"error": {
                "type": "internal_error", "code": "internal_error", "param": null,
                "message": "The gateway failed to handle this request; its log has the reason.",
            }}),
        );
    }

    #[test]
    fn text_is_escaped_and_details_follow() {
        check(
            &fault::insufficient_scope("admin:\"read\"\n"),
            json!({"error": {
                "type": "authorization_error", "code": "insufficient_scope", "param": null,
                "message": "This key lacks the scope 'admin:\"read\"\n'.", "required_scope": "admin:\"read\"\n",
            }}),
        );
        check(
            &fault::invalid_parameter("a\"b", "No."),
            json!({"error": {
                "type": "invalid_request_error", "code": "invalid_parameter", "param": "a\"b", "message": "No.",
            }}),
        );
    }

    #[test]
    fn anthropics_clients_get_their_own_shape() {
        let body = envelope(&fault::request_too_large(10), Format::Messages, "req_1");
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!((&body["type"], &body["error"]["type"]), (&json!("error"), &json!("request_too_large")));
        assert_eq!(body["request_id"], "req_1");
        for (fault, kind) in [
            (fault::model_required(), "invalid_request_error"),
            (fault::missing_api_key(), "authentication_error"),
            (fault::insufficient_scope("x"), "permission_error"),
            (fault::not_found("no"), "not_found_error"),
            (fault::upstream_interrupted("p"), "api_error"),
        ] {
            let text = event(&fault, Format::Messages, Broken::default());
            let text = std::str::from_utf8(&text).unwrap();
            assert!(text.starts_with("event: error\ndata: {\"type\":\"error\""), "{text}");
            assert!(text.contains(kind), "{text}");
        }
    }

    #[test]
    fn googles_clients_get_their_own_shape() {
        let body = |fault: &Fault| {
            let body = envelope(fault, Format::Generate, "r");
            let event = event(fault, Format::Generate, Broken::default());
            let inside = event.strip_prefix(b"data: ").unwrap().strip_suffix(b"\r\n\r\n").unwrap();
            assert_eq!(inside, body);
            serde_json::from_slice::<serde_json::Value>(&body).unwrap()
        };
        let limited = fault::rate_limit_exceeded("Too \"many\".").retry_after(Duration::from_millis(1500));
        assert_eq!(
            body(&limited),
            json!({"error": {
                "code": 429, "message": "Too \"many\".", "status": "RESOURCE_EXHAUSTED", "details": [
                    {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "RATE_LIMIT_EXCEEDED",
                        "domain": "gatehouse", "metadata": {}},
                    {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1.5s"},
                ],
            }}),
        );
        let info = &body(&fault::insufficient_scope("x").param("p"))["error"]["details"][0];
        assert_eq!(info["metadata"], json!({"param": "p", "required_scope": "x"}));
        for (fault, status) in [
            (fault::model_required(), "INVALID_ARGUMENT"),
            (fault::missing_api_key(), "UNAUTHENTICATED"),
            (fault::insufficient_scope("x"), "PERMISSION_DENIED"),
            (fault::not_found("no"), "NOT_FOUND"),
            (fault::request_too_large(1), "INVALID_ARGUMENT"),
            (fault::unsupported(FaultCode::UnsupportedOperation, "x", "p"), "UNIMPLEMENTED"),
            (fault::upstream_interrupted("p"), "UNAVAILABLE"),
            (fault::upstream_timeout("p", Duration::ZERO), "DEADLINE_EXCEEDED"),
            (fault::internal_error(), "INTERNAL"),
        ] {
            let found = &body(&fault)["error"];
            assert_eq!((&found["code"], &found["status"]), (&json!(fault.status), &json!(status)));
        }
    }

    #[test]
    fn a_broken_response_fails_first_and_then_raises() {
        let broken = Broken { id: "resp_1", model: "a/b", created: 7, sequence: 4 };
        let text = event(&fault::upstream_interrupted("p"), Format::Responses, broken);
        let text = std::str::from_utf8(&text).unwrap();
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
}
