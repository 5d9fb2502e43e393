//! Google API errors, `{"error":{code, message, status, details}}`: reads a provider's and renders them for clients.

use std::time::Duration;

use domain::fault::Fault;
use serde_json::Value;

use crate::json::quote;
use crate::provider_error;

pub fn read_error(status: u16, body: &[u8], provider: &str) -> Fault {
    with_details(provider_error::read_error(status, body, provider), body, provider)
}

pub fn read_stream_error(data: &[u8], provider: &str) -> Fault {
    with_details(provider_error::read_stream_error(data, provider), data, provider)
}

fn with_details(mut fault: Fault, body: &[u8], provider: &str) -> Fault {
    let value = serde_json::from_slice::<Value>(body).unwrap_or_default();
    let error = &value.get(0).unwrap_or(&value)["error"];
    for detail in error["details"].as_array().into_iter().flatten() {
        // An invalid key is answered with 400, which would otherwise look like a client error.
        if detail["reason"] == "API_KEY_INVALID" {
            let status = fault.upstream_status.map_or(400, u16::from);
            return provider_error::auth_failed(status, body, provider);
        }
        if let Some(delay) = detail["retryDelay"].as_str().and_then(seconds) {
            fault.retry_after.get_or_insert(delay);
        }
        if let Some(field) = detail["fieldViolations"][0]["field"].as_str().filter(|field| !field.is_empty())
        {
            fault.param.get_or_insert_with(|| field.chars().take(200).collect());
        }
    }
    fault
}

/// Parses a duration such as `34s` or `0.5s`.
fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.strip_suffix('s')?.parse().ok()?).ok()
}

/// Renders a `google.rpc.Status`. Google's clients compare the code as a number, read the reason from `ErrorInfo` and
/// wait as long as `RetryInfo` says.
pub fn render_error(fault: &Fault) -> String {
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

pub fn render_error_event(fault: &Fault) -> String {
    format!("data: {}\r\n\r\n", render_error(fault))
}

#[cfg(test)]
mod tests {
    use domain::fault::{self, FaultCode, RetryScope};
    use serde_json::json;

    use super::*;

    #[test]
    fn error_details_refine_the_status() {
        let body = br#"{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT",
            "details":[{"reason":"API_KEY_INVALID"}]}}"#;
        let fault = read_error(400, body, "g");
        assert_eq!(
            (fault.code.as_str(), fault.upstream_status.map(u16::from)),
            ("upstream_auth_failed", Some(400))
        );
        assert!(fault.message.ends_with("(status 400): API key not valid."), "{}", fault.message);
        let body = br#"[{"error":{"code":429,"message":"Quota.","status":"RESOURCE_EXHAUSTED","details":[
            {"violations":[]},{"retryDelay":"34.5s"}]}}]"#;
        let fault = read_error(429, body, "g");
        assert_eq!((fault.status, fault.retry_scope != RetryScope::Never), (429, true));
        assert_eq!(fault.retry_after, Some(Duration::from_millis(34_500)));
        let body = br#"{"error":{"code":400,"message":"Bad.","details":[{"fieldViolations":[{"field":"contents[0]"}]}]}}"#;
        assert_eq!(read_error(400, body, "g").param.as_deref(), Some("contents[0]"));
        let fault = read_stream_error(
            br#"{"error":{"code":503,"message":"Overloaded.","status":"UNAVAILABLE"}}"#,
            "g",
        );
        assert_eq!(
            (fault.status, fault.message.as_str(), fault.retry_scope != RetryScope::Never),
            (503, "Overloaded.", true)
        );
        assert_eq!(read_stream_error(b"<html>", "g").code.as_str(), "upstream_invalid_response");
    }

    #[test]
    fn googles_clients_get_their_own_shape() {
        let body = |fault: &Fault| {
            let body = render_error(fault);
            let event = render_error_event(fault);
            let inside = event.strip_prefix("data: ").unwrap().strip_suffix("\r\n\r\n").unwrap();
            assert_eq!(inside, body);
            serde_json::from_str::<Value>(&body).unwrap()
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
}
