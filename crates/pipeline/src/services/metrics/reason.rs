//! Failure reasons as label values. Providers choose their own error codes, so these are mapped to a bounded set.

use domain::fault::FaultCode;
use domain::receipt::{Attempt, Receipt};

/// The reason a call failed; none if it succeeded. A code that a provider chose is not a label value.
pub fn of_call(receipt: &Receipt) -> Option<&'static str> {
    let code = FaultCode::known(receipt.error_code.as_deref()?).unwrap_or(FaultCode::UpstreamError);
    code.known_text()
}

/// The reason an upstream attempt failed; none if it succeeded.
pub fn of_attempt(attempt: &Attempt) -> Option<&'static str> {
    Some(match (attempt.error.as_ref()?, attempt.status) {
        (FaultCode::UpstreamUnreachable, _) => "unreachable",
        (FaultCode::UpstreamTimeout, _) => "timeout",
        (FaultCode::UpstreamAuthFailed, _) => "auth_failed",
        (FaultCode::UpstreamInvalidResponse, _) => "invalid_response",
        (FaultCode::ProviderQuota(_), _) | (_, 402) => "quota_exhausted",
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
            let attempt = Attempt { status, error: Some(FaultCode::read(code)), ..Attempt::default() };
            assert_eq!(of_attempt(&attempt), Some(expected), "{code}");
        }
        assert_eq!(of_attempt(&Attempt { status: 200, ..Attempt::default() }), None);
        let call =
            |code: Option<&str>| of_call(&Receipt { error_code: code.map(Into::into), ..Receipt::default() });
        for code in FaultCode::ALL.iter().map(FaultCode::as_str) {
            assert_eq!(call(Some(code)), Some(code));
        }
        assert_eq!(call(Some("made up by a provider")), Some("upstream_error"));
        assert_eq!(call(None), None);
    }
}
