//! Reads a Google API error: `{"error":{code, message, status, details}}`.

use std::time::Duration;

use domain::fault::Fault;
use serde_json::Value;

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

#[cfg(test)]
mod tests {
    use domain::fault::RetryScope;

    use super::*;

    #[test]
    fn details_say_what_a_status_does_not() {
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
}
