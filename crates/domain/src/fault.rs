//! The error type of the gateway: the cause, who is to blame, and the response for the client.

mod client;
mod code;
mod gateway;
mod provider;
mod token_rejection;

use std::num::NonZeroU16;
use std::time::Duration;

pub use client::*;
pub use code::FaultCode;
pub use gateway::*;
pub use provider::*;
pub use token_rejection::TokenRejection;

/// The `error.type` in error responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    InvalidRequest,
    Authentication,
    Authorization,
    NotFound,
    RateLimit,
    Provider,
    ServiceUnavailable,
    Internal,
}

impl FaultKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request_error",
            Self::Authentication => "authentication_error",
            Self::Authorization => "authorization_error",
            Self::NotFound => "not_found_error",
            Self::RateLimit => "rate_limit_error",
            Self::Provider => "provider_error",
            Self::ServiceUnavailable => "service_unavailable_error",
            Self::Internal => "internal_error",
        }
    }
}

/// The party that has to change something for the call to succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Blame {
    Client,
    Gateway,
    Upstream,
}

/// The targets on which a retry may succeed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RetryScope {
    #[default]
    Never,
    /// The same target would fail again; another one may succeed.
    OtherTarget,
    /// The account of this target is out of quota: other targets may be tried now, this one after a cooldown.
    QuotaExhausted,
    /// The same target may succeed after a delay, and so may another one.
    SameTarget,
    /// Another target may be tried at once; the same one only if there is no other.
    OtherTargetFirst,
}

/// The reason for which an API key was rejected. One byte, because faults are passed by value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyRejection {
    Unknown,
    Deactivated,
    Expired,
    Token(TokenRejection),
}

impl KeyRejection {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown key",
            Self::Deactivated => "deactivated key",
            Self::Expired => "expired key",
            Self::Token(rejection) => rejection.as_str(),
        }
    }
}

/// A failure with all data needed to answer it in any API format. Only `server::fault` turns it into an HTTP response.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    pub status: u16,
    pub kind: FaultKind,
    pub code: FaultCode,
    pub param: Option<String>,
    pub message: String,
    pub retry_after: Option<Duration>,
    pub blame: Blame,
    pub retry_scope: RetryScope,
    /// True if a provider that had begun to answer may charge for the answer although it was lost; its tokens are then
    /// booked. False if the provider itself reported the error: it charges nothing then.
    pub billable: bool,
    /// An extra field inside `error`, only where the API contract defines one. Boxed, because faults are passed by value
    /// and few have it.
    pub detail: Option<Box<(&'static str, String)>>,
    /// For the operator only; must not be disclosed to the client.
    pub reason: Option<KeyRejection>,
    /// The status received from the provider, if any. `status` is the one sent to the client.
    pub upstream_status: Option<NonZeroU16>,
}

impl Fault {
    /// A fault with the usual status and error type of its code.
    pub fn new(code: FaultCode, message: impl Into<String>) -> Self {
        let (status, kind) = code.defaults();
        Self::with_status(status, kind, code, message)
    }

    pub fn with_status(status: u16, kind: FaultKind, code: FaultCode, message: impl Into<String>) -> Self {
        let blame = match kind {
            FaultKind::Provider => Blame::Upstream,
            FaultKind::ServiceUnavailable | FaultKind::Internal => Blame::Gateway,
            _ => Blame::Client,
        };
        Self {
            status,
            kind,
            billable: code.is_billable(),
            code,
            param: None,
            message: message.into(),
            retry_after: None,
            blame,
            retry_scope: RetryScope::Never,
            detail: None,
            reason: None,
            upstream_status: None,
        }
    }

    #[must_use]
    pub fn param(mut self, param: impl Into<String>) -> Self {
        self.param = Some(param.into());
        self
    }

    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }

    #[must_use]
    pub fn because(mut self, reason: KeyRejection) -> Self {
        self.reason = Some(reason);
        self
    }

    #[must_use]
    pub fn retry_after(mut self, after: Duration) -> Self {
        self.retry_after = Some(after);
        self
    }

    /// Sets `Retry-After` and ends the message with the same number of seconds.
    #[must_use]
    pub fn retry_in(mut self, after: Duration) -> Self {
        let seconds = retry_after_seconds(after);
        self.message = format!("{}; retry in {seconds} s.", self.message);
        self.retry_after(after)
    }

    #[must_use]
    pub fn retry_scope(mut self, retry_scope: RetryScope) -> Self {
        self.retry_scope = retry_scope;
        self
    }

    #[must_use]
    pub fn billable(mut self, billable: bool) -> Self {
        self.billable = billable;
        self
    }

    #[must_use]
    pub fn upstream_status(mut self, status: u16) -> Self {
        self.upstream_status = NonZeroU16::new(status);
        self
    }

    /// True if the provider failed, as opposed to having rejected the request; such faults count towards the circuit
    /// breaker.
    pub fn is_failure(&self) -> bool {
        self.status >= 500
            && self.blame == Blame::Upstream
            && !self.is_upstream_auth_failure()
            && self.code != FaultCode::CircuitOpen
    }

    /// True if the provider rejected the gateway's credential, or denied it access to the model.
    pub fn is_upstream_auth_failure(&self) -> bool {
        self.code == FaultCode::UpstreamAuthFailed
    }

    /// True if a guardrail refused the request or the answer, or failed.
    pub fn is_of_guardrail(&self) -> bool {
        matches!(self.code, FaultCode::GuardrailBlocked | FaultCode::GuardrailError)
    }

    #[must_use]
    pub fn blame(mut self, blame: Blame) -> Self {
        self.blame = blame;
        self
    }

    #[must_use]
    pub fn detail(mut self, key: &'static str, value: impl Into<String>) -> Self {
        self.detail = Some(Box::new((key, value.into())));
        self
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}: {}", self.status, self.code, self.message)
    }
}

impl std::error::Error for Fault {}

/// `Retry-After` in whole seconds, rounded up so that a client that waits this long is not too early.
pub fn retry_after_seconds(after: Duration) -> u64 {
    after.as_secs() + u64::from(after.subsec_nanos() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_answer_may_be_charged_and_a_reported_error_is_not() {
        for fault in [
            upstream_interrupted("p"),
            upstream_invalid_response("p", "r"),
            upstream_timeout("p", Duration::ZERO),
            upstream_unreachable("p", "r"),
        ] {
            assert!(fault.billable, "{fault}");
            assert!(!fault.billable(false).billable);
        }
        for fault in [
            upstream_auth_failed("p", 401, None),
            upstream_overloaded("p", "r"),
            circuit_open("p", "m"),
            internal_error(),
            client_disconnected(),
            Fault::new(FaultCode::read("server_error"), "reported by the provider"),
        ] {
            assert!(!fault.billable, "{fault}");
        }
    }

    /// A fault is the error of most functions: its size is copied with every result.
    #[test]
    fn a_fault_stays_small() {
        assert!(size_of::<Fault>() <= 120, "{}", size_of::<Fault>());
    }
}
