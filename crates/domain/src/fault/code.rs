//! The error codes of the gateway, each declared once with its text, its usual status and its error type.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::FaultKind;

/// Declares the codes. A code keeps its text forever: clients match on it.
macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $text:literal, $status:literal, $kind:ident;)*) => {
        /// An error code, as in `error.code` of a response and in records. All decisions match on this type; its
        /// text is only for output.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum FaultCode {
            $($(#[$doc])* $variant,)*
            /// The provider's own code, unchanged.
            Provider(Box<str>),
            /// The provider's own code, unchanged: the quota or billing limit of the account is used up.
            ProviderQuota(Box<str>),
        }

        impl FaultCode {
            /// All codes of the gateway.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The code of the gateway with this text.
            pub fn known(text: &str) -> Option<Self> {
                match text {
                    $($text => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// The code of the gateway as text; `None` for a provider's own code.
            pub fn known_text(&self) -> Option<&'static str> {
                match self {
                    $(Self::$variant => Some($text),)*
                    Self::Provider(_) | Self::ProviderQuota(_) => None,
                }
            }

            /// The status and error type of a fault with this code, unless its constructor sets others.
            pub fn defaults(&self) -> (u16, FaultKind) {
                match self {
                    $(Self::$variant => ($status, FaultKind::$kind),)*
                    Self::Provider(_) | Self::ProviderQuota(_) => (502, FaultKind::Provider),
                }
            }
        }
    };
}

codes! {
    MissingApiKey = "missing_api_key", 401, Authentication;
    InvalidApiKey = "invalid_api_key", 401, Authentication;
    InsufficientScope = "insufficient_scope", 403, Authorization;
    EditionRestricted = "edition_restricted", 403, Authorization;
    UserPathDenied = "user_path_denied", 403, Authorization;
    KeyModelAccessDenied = "key_model_access_denied", 403, Authorization;
    KeyProviderAccessDenied = "key_provider_access_denied", 403, Authorization;
    KeyLimitDenied = "key_limit_denied", 403, Authorization;
    ModelAccessDenied = "model_access_denied", 403, Authorization;
    /// The gateway may not write the configuration files of tools.
    CliApplyDisabled = "cli_apply_disabled", 403, Authorization;
    UnmeteredOperation = "unmetered_operation", 403, Authorization;
    TenantSuspended = "tenant_suspended", 403, Authorization;
    InvalidJson = "invalid_json", 400, InvalidRequest;
    InvalidParameter = "invalid_parameter", 400, InvalidRequest;
    UnknownParameter = "unknown_parameter", 400, InvalidRequest;
    ModelRequired = "model_required", 400, InvalidRequest;
    BudgetNotFound = "budget_not_found", 400, InvalidRequest;
    /// A guardrail refused the request or the answer.
    GuardrailBlocked = "guardrail_blocked", 400, InvalidRequest;
    ModelNotFound = "model_not_found", 404, NotFound;
    ProviderNotFound = "provider_not_found", 404, NotFound;
    NotFound = "not_found", 404, NotFound;
    MethodNotAllowed = "method_not_allowed", 405, InvalidRequest;
    RequestTimeout = "request_timeout", 408, InvalidRequest;
    Conflict = "conflict", 409, InvalidRequest;
    PreconditionFailed = "precondition_failed", 412, InvalidRequest;
    RequestTooLarge = "request_too_large", 413, InvalidRequest;
    UnsupportedMediaType = "unsupported_media_type", 415, InvalidRequest;
    IdempotencyMismatch = "idempotency_mismatch", 422, InvalidRequest;
    RateLimitExceeded = "rate_limit_exceeded", 429, RateLimit;
    BudgetExceeded = "budget_exceeded", 429, RateLimit;
    UnsupportedOperation = "unsupported_operation", 501, InvalidRequest;
    UnsupportedRerankOperation = "unsupported_rerank_operation", 501, InvalidRequest;
    UnsupportedResponseOperation = "unsupported_response_operation", 501, InvalidRequest;
    FeatureUnavailable = "feature_unavailable", 503, ServiceUnavailable;
    BudgetCheckFailed = "budget_check_failed", 503, ServiceUnavailable;
    InternalError = "internal_error", 500, Internal;
    UpstreamUnreachable = "upstream_unreachable", 502, Provider;
    UpstreamAuthFailed = "upstream_auth_failed", 502, Provider;
    UpstreamInvalidResponse = "upstream_invalid_response", 502, Provider;
    /// An error that the provider gave no code.
    UpstreamError = "upstream_error", 502, Provider;
    UpstreamTimeout = "upstream_timeout", 504, Provider;
    /// A guardrail failed, and it blocks then.
    GuardrailError = "guardrail_error", 502, Provider;
    Overloaded = "overloaded", 503, Provider;
    CircuitOpen = "circuit_open", 503, Provider;
    /// The client closed the connection. Only in records, never sent.
    ClientDisconnected = "client_disconnected", 499, InvalidRequest;
    /// The process ended before the call did. Only in records, never sent.
    Interrupted = "interrupted", 500, Internal;
    /// An attempt that was cancelled because another target answered first. Only in records, never sent.
    Outrun = "outrun", 499, InvalidRequest;
}

impl FaultCode {
    /// Reads a code that a provider sent or that was recorded. A provider that is a gateway, too, may send the same
    /// codes; they mean the same.
    pub fn read(text: &str) -> Self {
        Self::known(text).unwrap_or_else(|| match text {
            "insufficient_quota" | "billing_hard_limit_reached" | "billing_not_active" | "quota_exceeded" => {
                Self::ProviderQuota(text.into())
            }
            _ => Self::Provider(text.into()),
        })
    }

    /// The text that clients and records get.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Provider(text) | Self::ProviderQuota(text) => text,
            known => known.known_text().unwrap_or_default(),
        }
    }

    /// True if the answer was lost on its way, or is not sent: a provider that had begun it may charge for it. A provider that reports
    /// an error itself charges nothing.
    pub(super) fn is_billable(&self) -> bool {
        matches!(
            self,
            Self::UpstreamInvalidResponse
                | Self::UpstreamTimeout
                | Self::UpstreamUnreachable
                | Self::GuardrailBlocked
                | Self::GuardrailError
        )
    }
}

impl fmt::Display for FaultCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for FaultCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for FaultCode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self::read(&text))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_code_has_its_own_text_and_is_read_from_it() {
        let texts: BTreeSet<&str> = FaultCode::ALL.iter().map(FaultCode::as_str).collect();
        assert_eq!(texts.len(), FaultCode::ALL.len());
        for code in FaultCode::ALL {
            let text = code.as_str();
            assert!(text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{text}");
            assert_eq!(FaultCode::read(text), *code);
            assert_eq!(serde_json::to_string(code).unwrap(), format!("\"{text}\""));
        }
    }

    #[test]
    fn a_providers_code_keeps_its_text() {
        for (text, quota) in [("context_length_exceeded", false), ("42", false), ("insufficient_quota", true)]
        {
            let code: FaultCode = serde_json::from_str(&format!("\"{text}\"")).unwrap();
            assert_eq!((code.as_str(), code.known_text()), (text, None));
            assert_eq!(matches!(code, FaultCode::ProviderQuota(_)), quota, "{text}");
        }
    }

    #[test]
    fn the_error_type_fits_the_status() {
        for code in FaultCode::ALL {
            let (status, kind) = code.defaults();
            let expected = match status {
                401 => FaultKind::Authentication,
                403 => FaultKind::Authorization,
                404 => FaultKind::NotFound,
                429 => FaultKind::RateLimit,
                500 => FaultKind::Internal,
                502 | 504 => FaultKind::Provider,
                503 => continue,
                _ => FaultKind::InvalidRequest,
            };
            assert_eq!(kind, expected, "{code}");
        }
    }
}
