//! Converts a provider's error, in a response or inside a stream, into a fault.

mod credentials;

use domain::fault::{self, Blame, Fault, FaultCode, FaultKind, RetryScope};
use serde_json::Value;

use credentials::mask_credentials;

const MESSAGE_LIMIT: usize = 2_000;

/// Reads an error response. Its text is shown only if it is a readable error object, never as raw bytes.
pub fn read_error(status: u16, body: &[u8], provider: &str) -> Fault {
    let value = serde_json::from_slice(body).unwrap_or(Value::Null);
    from_parts(status, Parts::read(&value), provider)
}

/// Reads an error object inside a stream event.
pub fn read_stream_error(data: &[u8], provider: &str) -> Fault {
    let Ok(value) = serde_json::from_slice::<Value>(data) else {
        return fault::upstream_invalid_response(provider, "an event is not JSON");
    };
    let parts = Parts::read(&value);
    let status = parts.status.unwrap_or(502);
    from_parts(status, parts, provider)
}

/// The same error as a rejected credential, for formats that report one with another status.
pub fn auth_failed(status: u16, body: &[u8], provider: &str) -> Fault {
    let value = serde_json::from_slice(body).unwrap_or(Value::Null);
    let reason = Parts::read(&value).message.map(|message| mask_credentials(&message));
    fault::upstream_auth_failed(provider, status, reason.as_deref())
}

fn from_parts(status: u16, parts: Parts, provider: &str) -> Fault {
    if status == 401 || status == 403 {
        let reason = parts.message.map(|message| mask_credentials(&message));
        return fault::upstream_auth_failed(provider, status, reason.as_deref());
    }
    if !(400..600).contains(&status) {
        return fault::upstream_invalid_response(provider, &format!("its status is {status}"))
            .upstream_status(status);
    }
    let message = parts.message.unwrap_or_else(|| {
        format!("The provider '{provider}' answered with status {status} and no readable error.")
    });
    if status == 529 {
        return Fault::new(FaultCode::Overloaded, message)
            .retry_scope(RetryScope::SameTarget)
            .upstream_status(status);
    }
    let kind = match status {
        404 => FaultKind::NotFound,
        429 => FaultKind::RateLimit,
        500.. => FaultKind::Provider,
        _ => FaultKind::InvalidRequest,
    };
    let code = parts.code.as_deref().map_or(FaultCode::UpstreamError, FaultCode::read);
    let mut fault = Fault::with_status(status, kind, code, message).upstream_status(status);
    fault.param = parts.param;
    fault.retry_scope = match status {
        402 => RetryScope::QuotaExhausted,
        429 if matches!(fault.code, FaultCode::ProviderQuota(_)) => RetryScope::QuotaExhausted,
        429 => RetryScope::OtherTargetFirst,
        408 | 409 | 425 | 500 | 502..=504 => RetryScope::SameTarget,
        404 | 413 | 500.. => RetryScope::OtherTarget,
        _ => RetryScope::Never,
    };
    // Billing problems and limits of the gateway's own account are not the client's fault.
    if matches!(status, 402 | 408 | 425 | 429) {
        fault.blame = Blame::Upstream;
    }
    fault
}

#[derive(Default)]
struct Parts {
    message: Option<String>,
    param: Option<String>,
    code: Option<String>,
    status: Option<u16>,
}

impl Parts {
    /// Reads `{"error":{…}}`, `{"error":"…"}`, `[{"error":…}]`, `{"message":…}`, `{"detail":…}` and their nested forms.
    fn read(value: &Value) -> Self {
        let value = value.get(0).unwrap_or(value);
        let error = match value.get("error") {
            Some(error) if !error.is_null() => error,
            _ => value,
        };
        let (message, detail) = (&error["message"], &error["detail"]);
        let places =
            [error, message, detail, &detail[0]["msg"], &message["detail"][0]["msg"], &value["message"]];
        let message = places.into_iter().find_map(readable);
        let code = text(&error["code"]).or_else(|| text(&value["code"]));
        let named = [code.as_deref(), error["type"].as_str()];
        let status =
            [&error["code"], &error["status"], &error["status_code"], &value["status"], &value["code"]]
                .into_iter()
                .find_map(http_status)
                .or_else(|| named.into_iter().flatten().find_map(status_of_name));
        Self { message, param: text(&error["param"]), code, status }
    }
}

fn readable(value: &Value) -> Option<String> {
    let text = value.as_str()?.trim();
    if text.is_empty() || text.starts_with('<') {
        return None;
    }
    match text.char_indices().nth(MESSAGE_LIMIT) {
        Some((end, _)) => Some(format!("{}…", &text[..end])),
        None => Some(text.to_owned()),
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) if text.is_empty() => None,
        Value::String(text) => Some(text.chars().take(200).collect()),
        other => Some(other.to_string().chars().take(200).collect()),
    }
}

fn http_status(value: &Value) -> Option<u16> {
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok())?;
    u16::try_from(number).ok().filter(|status| (400..600).contains(status))
}

fn status_of_name(name: &str) -> Option<u16> {
    Some(match name {
        "rate_limit_error" | "rate_limit_exceeded" | "insufficient_quota" | "too_many_requests" => 429,
        "overloaded_error" | "overloaded" | "service_unavailable" => 529,
        "authentication_error" | "invalid_api_key" | "permission_error" => 401,
        "invalid_request_error" | "context_length_exceeded" | "content_filter" => 400,
        "not_found_error" | "model_not_found" => 404,
        "server_error" | "internal_server_error" | "api_error" => 500,
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
