//! ValidationResult errors, and helpers for validators.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UpstreamRejection {
    pub status: u16,
    /// The field, in the notation of the format.
    pub param: Option<String>,
    pub message: String,
    pub code: Option<&'static str>,
}

pub(super) type ValidationResult = Result<(), UpstreamRejection>;

impl UpstreamRejection {
    pub fn new(status: u16, message: impl Into<String>) -> Self {
        Self { status, param: None, message: message.into(), code: None }
    }

    pub fn at(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self { param: Some(param.into()), ..Self::new(400, message) }
    }

    pub fn code(self, code: &'static str) -> Self {
        Self { code: Some(code), ..self }
    }
}

/// The first unknown member.
pub(super) fn unknown_member<'v>(value: &'v Value, known: &[&str]) -> Option<&'v str> {
    value.as_object()?.keys().map(String::as_str).find(|member| !known.contains(member))
}

pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// A member; `null` counts as absent, as at the providers.
pub(super) fn given<'v>(value: &'v Value, member: &str) -> Option<&'v Value> {
    value.get(member).filter(|member| !member.is_null())
}

pub(super) fn is_name(text: &str, longest: usize) -> bool {
    (1..=longest).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

pub(super) fn encode(text: &str) -> String {
    STANDARD.encode(text)
}

/// The text of a content that is a string or a list of parts.
pub(super) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join(" ")
        }
        _ => String::new(),
    }
}
