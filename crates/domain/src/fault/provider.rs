//! Constructors of errors of the provider, or on the way to it.

use std::time::Duration;

use super::{Blame, Fault, FaultCode, FaultKind, RetryScope};

pub fn upstream_unreachable(provider: &str, reason: &str) -> Fault {
    let message = format!("The provider '{provider}' could not be reached: {reason}.");
    Fault::new(FaultCode::UpstreamUnreachable, message).retry_scope(RetryScope::OtherTargetFirst)
}

/// The provider denied access; `status` and `reason` are the provider's own status and error message.
pub fn upstream_auth_failed(provider: &str, status: u16, reason: Option<&str>) -> Fault {
    let refused = match status {
        403 => "refused the gateway access",
        _ => "rejected the gateway's credential",
    };
    let message = match reason {
        Some(reason) => format!("The provider '{provider}' {refused} (status {status}): {reason}"),
        None => format!("The provider '{provider}' {refused} (status {status}) without a readable reason."),
    };
    Fault::new(FaultCode::UpstreamAuthFailed, message)
        .retry_scope(RetryScope::OtherTarget)
        .upstream_status(status)
}

pub fn upstream_invalid_response(provider: &str, reason: &str) -> Fault {
    let message = format!("The provider '{provider}' sent an answer that could not be read: {reason}.");
    Fault::new(FaultCode::UpstreamInvalidResponse, message).retry_scope(RetryScope::OtherTarget)
}

/// The stream ended before its terminal event.
pub fn upstream_interrupted(provider: &str) -> Fault {
    let message = format!(
        "The provider '{provider}' broke off before the end of its answer: what was received is incomplete."
    );
    Fault::new(FaultCode::UpstreamInvalidResponse, message).retry_scope(RetryScope::SameTarget)
}

/// The selected provider does not support the operation.
pub fn unsupported(code: FaultCode, operation: &str, provider: &str) -> Fault {
    Fault::new(code, format!("The provider '{provider}' does not support {operation}."))
        .retry_scope(RetryScope::OtherTarget)
}

pub fn upstream_timeout(provider: &str, waited: Duration) -> Fault {
    let message = format!("The provider '{provider}' did not answer within {} ms.", waited.as_millis());
    Fault::new(FaultCode::UpstreamTimeout, message).retry_scope(RetryScope::OtherTarget)
}

/// No connection is available for this call, or the provider rejected the request before processing it.
pub fn upstream_overloaded(provider: &str, reason: &str) -> Fault {
    let message = format!("No connection to the provider '{provider}' is available: {reason}");
    Fault::with_status(503, FaultKind::ServiceUnavailable, FaultCode::Overloaded, message)
        .retry_scope(RetryScope::OtherTargetFirst)
}

/// The circuit breaker is open; no call was made. The caller adds the time of the next probe with [`Fault::retry_in`].
pub fn circuit_open(provider: &str, model: &str) -> Fault {
    let message = format!("Circuit breaker open for provider '{provider}', model '{model}'");
    Fault::new(FaultCode::CircuitOpen, message)
}

/// The target is in a cooldown, after an overload (`busy`) or after a rate limit or exhausted quota; no call was made.
/// The caller adds the end of the cooldown with [`Fault::retry_in`].
pub fn cooling_down(provider: &str, model: &str, busy: bool) -> Fault {
    let (code, cause) = match busy {
        true => (FaultCode::Overloaded, "overload"),
        false => (FaultCode::RateLimitExceeded, "rate limit or quota"),
    };
    let message =
        format!("Provider '{provider}', model '{model}' is cooling down after a provider {cause} error");
    Fault::new(code, message).blame(Blame::Upstream)
}
