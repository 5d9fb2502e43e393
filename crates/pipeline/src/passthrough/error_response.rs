//! Converts error answers of unknown shape into the gateway's error format.

use std::time::Duration;

use bytes::Bytes;
use domain::fault::{Fault, FaultCode, FaultKind};
use http::StatusCode;
use serde_json::Value;

use crate::services::audit::Scrubber;

/// Limits on the size of an error answer and the time spent reading it.
pub(super) const LIMIT: usize = 64 * 1024;
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

const MESSAGE_LIMIT: usize = 2000;

pub(super) fn concerns(status: StatusCode) -> bool {
    matches!(status.as_u16(), 400 | 401 | 502)
}

/// Returns the body unchanged if it is an error object, else a fault of the same status. Secrets that the provider
/// echoes are masked.
pub(super) fn read(status: u16, body: Bytes, provider: &str, scrubber: &Scrubber) -> Result<Bytes, Fault> {
    let body = scrubber.mask(body);
    let value = serde_json::from_slice::<Value>(&body).unwrap_or_default();
    if value.get("error").is_some_and(Value::is_object) {
        return Ok(body);
    }
    let fault = unread(status, provider);
    match error_message(&value) {
        Some(text) => Err(Fault { message: text.chars().take(MESSAGE_LIMIT).collect(), ..fault }),
        None => Err(fault),
    }
}

pub(super) fn unread(status: u16, provider: &str) -> Fault {
    let (kind, code) = match status {
        400 => (FaultKind::InvalidRequest, FaultCode::UpstreamError),
        401 => (FaultKind::Authentication, FaultCode::UpstreamAuthFailed),
        _ => (FaultKind::Provider, FaultCode::UpstreamError),
    };
    let message = format!("The provider '{provider}' answered {status} without saying why.");
    Fault::with_status(status, kind, code, message)
}

/// The error message in a JSON answer of another shape.
fn error_message(value: &Value) -> Option<&str> {
    let value = value.get(0).unwrap_or(value);
    let inner = ["/error/message", "/error", "/message", "/detail", "/error_description"];
    inner.iter().find_map(|place| value.pointer(place)?.as_str()).filter(|text| !text.trim().is_empty())
}
