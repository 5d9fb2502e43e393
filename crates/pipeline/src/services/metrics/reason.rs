//! Failure reasons as label values. Providers choose their own error codes, so these are mapped to a bounded set.

use domain::receipt::{Attempt, Receipt};

/// Error codes of the gateway; any other code came from a provider.
const OWN_CODES: [&str; 38] = [
    "missing_api_key",
    "invalid_api_key",
    "insufficient_scope",
    "edition_restricted",
    "model_required",
    "invalid_json",
    "invalid_parameter",
    "unknown_parameter",
    "model_not_found",
    "model_access_denied",
    "key_model_access_denied",
    "key_provider_access_denied",
    "rate_limit_exceeded",
    "budget_exceeded",
    "budget_check_failed",
    "guardrail_blocked",
    "guardrail_error",
    "unsupported_response_operation",
    "unsupported_rerank_operation",
    "unsupported_operation",
    "feature_unavailable",
    "upstream_auth_failed",
    "overloaded",
    "upstream_unreachable",
    "upstream_timeout",
    "upstream_invalid_response",
    "circuit_open",
    "conflict",
    "client_disconnected",
    "not_found",
    "method_not_allowed",
    "unsupported_media_type",
    "request_timeout",
    "request_too_large",
    "idempotency_mismatch",
    "internal_error",
    "provider_not_found",
    "user_path_denied",
];

/// The reason a call failed; none if it succeeded.
pub fn of_call(receipt: &Receipt) -> Option<&'static str> {
    let code = receipt.error_code.as_deref()?;
    Some(OWN_CODES.into_iter().find(|known| *known == code).unwrap_or("upstream_error"))
}

/// The reason an upstream attempt failed; none if it succeeded.
pub fn of_attempt(attempt: &Attempt) -> Option<&'static str> {
    let code = attempt.error.as_deref()?;
    Some(match (code, attempt.status) {
        ("upstream_unreachable", _) => "unreachable",
        ("upstream_timeout", _) => "timeout",
        ("upstream_auth_failed", _) => "auth_failed",
        ("upstream_invalid_response", _) => "invalid_response",
        (
            "insufficient_quota" | "billing_hard_limit_reached" | "billing_not_active" | "quota_exceeded",
            _,
        )
        | (_, 402) => "quota_exhausted",
        (_, 429) => "rate_limited",
        (_, 503 | 529) => "overloaded",
        (_, 500..) => "server_error",
        _ => "rejected",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_a_bounded_set() {
        for (code, status, expected) in [
            ("upstream_unreachable", 502, "unreachable"),
            ("upstream_auth_failed", 401, "auth_failed"),
            ("insufficient_quota", 429, "quota_exhausted"),
            ("whatever the provider says", 429, "rate_limited"),
            ("overloaded", 529, "overloaded"),
            ("42", 500, "server_error"),
            ("context_length_exceeded", 400, "rejected"),
        ] {
            let attempt = Attempt { status, error: Some(code.into()), ..Attempt::default() };
            assert_eq!(of_attempt(&attempt), Some(expected), "{code}");
        }
        assert_eq!(of_attempt(&Attempt { status: 200, ..Attempt::default() }), None);
        let call =
            |code: Option<&str>| of_call(&Receipt { error_code: code.map(Into::into), ..Receipt::default() });
        assert_eq!(call(Some("budget_exceeded")), Some("budget_exceeded"));
        assert_eq!(call(Some("made up by a provider")), Some("upstream_error"));
        assert_eq!(call(None), None);
    }
}
