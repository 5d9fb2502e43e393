//! The error type of the gateway: the cause, who is to blame, and the response for the client.

use std::borrow::Cow;
use std::num::NonZeroU16;
use std::time::Duration;

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

/// The reason why a credential was rejected. One byte, because faults are passed by value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    UnknownKey,
    DeactivatedKey,
    ExpiredKey,
    Other,
}

impl Reason {
    pub const ALL: [Self; 4] = [Self::UnknownKey, Self::DeactivatedKey, Self::ExpiredKey, Self::Other];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::UnknownKey => "unknown key",
            Self::DeactivatedKey => "deactivated key",
            Self::ExpiredKey => "expired key",
            Self::Other => "refused key",
        }
    }
}

/// A failure with all data needed to answer it in any API format. Only `server::fault` turns it into an HTTP response.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    pub status: u16,
    pub kind: FaultKind,
    pub code: Cow<'static, str>,
    pub param: Option<String>,
    pub message: String,
    pub retry_after: Option<Duration>,
    pub blame: Blame,
    pub retry_scope: RetryScope,
    /// Extra fields inside `error`, only where the API contract defines them.
    pub details: Vec<(&'static str, String)>,
    /// For the operator only; must not be disclosed to the client.
    pub reason: Option<Reason>,
    /// The status received from the provider, if any. `status` is the one sent to the client.
    pub upstream_status: Option<NonZeroU16>,
}

impl Fault {
    pub fn new(
        status: u16,
        kind: FaultKind,
        code: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
    ) -> Self {
        let blame = match kind {
            FaultKind::Provider => Blame::Upstream,
            FaultKind::ServiceUnavailable | FaultKind::Internal => Blame::Gateway,
            _ => Blame::Client,
        };
        Self {
            status,
            kind,
            code: code.into(),
            param: None,
            message: message.into(),
            retry_after: None,
            blame,
            retry_scope: RetryScope::Never,
            details: Vec::new(),
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
    pub fn because(mut self, reason: &str) -> Self {
        self.reason =
            Some(Reason::ALL.into_iter().find(|known| known.as_str() == reason).unwrap_or(Reason::Other));
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
            && self.code != "circuit_open"
    }

    /// True if the provider rejected the gateway's credential, or denied it access to the model.
    pub fn is_upstream_auth_failure(&self) -> bool {
        self.code == "upstream_auth_failed"
    }

    #[must_use]
    pub fn blame(mut self, blame: Blame) -> Self {
        self.blame = blame;
        self
    }

    #[must_use]
    pub fn detail(mut self, key: &'static str, value: impl Into<String>) -> Self {
        self.details.push((key, value.into()));
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

// Constructors, grouped by who has to act. Client errors:

pub fn invalid_json(message: impl Into<String>) -> Fault {
    Fault::new(400, FaultKind::InvalidRequest, "invalid_json", message)
}

pub fn invalid_parameter(param: impl Into<String>, message: impl Into<String>) -> Fault {
    Fault::new(400, FaultKind::InvalidRequest, "invalid_parameter", message).param(param)
}

/// An unknown body field; the message suggests the nearest known one.
pub fn unknown_parameter(param: impl Into<String>, nearest: Option<&str>) -> Fault {
    let param = param.into();
    let hint = nearest.map(|name| format!(" Did you mean '{name}'?")).unwrap_or_default();
    Fault::new(400, FaultKind::InvalidRequest, "unknown_parameter", format!("Unknown field '{param}'.{hint}"))
        .param(param)
}

/// An unknown query parameter; `hint` suggests the supported ones.
pub fn unknown_query_parameter(param: &str, hint: &str) -> Fault {
    let message = format!("Unknown query parameter '{param}'.{hint}");
    Fault::new(400, FaultKind::InvalidRequest, "unknown_parameter", message).param(param)
}

pub fn model_required() -> Fault {
    Fault::new(400, FaultKind::InvalidRequest, "model_required", "The request names no model: set 'model'.")
        .param("model")
}

pub fn missing_api_key() -> Fault {
    Fault::new(
        401,
        FaultKind::Authentication,
        "missing_api_key",
        "No API key was sent. Send it as 'Authorization: Bearer <key>' or 'x-api-key: <key>'.",
    )
}

/// `Authorization` holds a single word: most likely a key without the `Bearer` scheme.
pub fn missing_bearer_scheme() -> Fault {
    missing_api_key()
        .with_message("Missing \"Bearer \" before the key: send it as 'Authorization: Bearer <key>'.")
}

/// One message for unknown, expired and deactivated keys; the actual reason is for the operator only.
pub fn invalid_api_key() -> Fault {
    Fault::new(401, FaultKind::Authentication, "invalid_api_key", "The API key is not valid.")
}

pub fn insufficient_scope(required: impl Into<String>) -> Fault {
    let required = required.into();
    Fault::new(
        403,
        FaultKind::Authorization,
        "insufficient_scope",
        format!("This key lacks the scope '{required}'."),
    )
    .detail("required_scope", required)
}

pub fn edition_restricted(capability: impl Into<String>) -> Fault {
    let capability = capability.into();
    Fault::new(
        403,
        FaultKind::Authorization,
        "edition_restricted",
        format!(
            "This needs the capability '{capability}', which is not enabled. Set GATEWAY_CAPABILITIES={capability} or \
             GATEWAY_EDITION=enterprise and restart the gateway."
        ),
    )
    .detail("capability", capability)
}

pub fn user_path_denied(requested: &str, own: &str) -> Fault {
    Fault::new(
        403,
        FaultKind::Authorization,
        "user_path_denied",
        format!("The user path '{requested}' is not below this key's own path '{own}'."),
    )
    .param("X-Gateway-User-Path")
}

pub fn key_model_access_denied(model: &str) -> Fault {
    Fault::new(
        403,
        FaultKind::Authorization,
        "key_model_access_denied",
        format!("This key may not use the model '{model}'."),
    )
    .param("model")
}

pub fn key_provider_access_denied(provider: &str) -> Fault {
    Fault::new(
        403,
        FaultKind::Authorization,
        "key_provider_access_denied",
        format!("This key may not use the provider of '{provider}'."),
    )
    .param("model")
}

/// The requested limit of a key is wider than that of the key that creates or changes it.
pub fn key_limit_denied(param: impl Into<String>, message: impl Into<String>) -> Fault {
    Fault::new(403, FaultKind::Authorization, "key_limit_denied", message).param(param)
}

pub fn model_access_denied(model: &str) -> Fault {
    Fault::new(
        403,
        FaultKind::Authorization,
        "model_access_denied",
        format!("The model '{model}' may not be used here."),
    )
    .param("model")
}

/// The model is rejected because it has no price.
pub fn model_unpriced(model: &str) -> Fault {
    let message = format!(
        "The model '{model}' has no price, and models without one may not be used here. An admin can give it one with \
         PUT /admin/api/v1/model-pricing/{{provider}}/{{model}}, or allow such models with UNPRICED_POLICY=allow."
    );
    model_access_denied(model).with_message(message)
}

pub fn model_not_found(model: &str, nearest: &[String]) -> Fault {
    let hint = match nearest {
        [] => String::new(),
        names => format!(
            " Nearest: {}.",
            names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ")
        ),
    };
    let shown: String = model.chars().take(200).collect();
    Fault::new(404, FaultKind::NotFound, "model_not_found", format!("There is no model '{shown}'.{hint}"))
        .param("model")
}

/// A model of the built-in demo provider, which is disabled.
pub fn demo_model_not_found(model: &str) -> Fault {
    let message = format!(
        "The model '{model}' belongs to the built-in demo provider, which is off: by default it is there only while no \
         other provider is configured. Set DEMO_ENABLED=true to keep it."
    );
    model_not_found(model, &[]).with_message(message)
}

pub fn not_found(message: impl Into<String>) -> Fault {
    Fault::new(404, FaultKind::NotFound, "not_found", message)
}

pub fn provider_not_found(name: &str) -> Fault {
    Fault::new(404, FaultKind::NotFound, "provider_not_found", format!("There is no provider '{name}'."))
}

pub fn method_not_allowed(method: &str) -> Fault {
    Fault::new(
        405,
        FaultKind::InvalidRequest,
        "method_not_allowed",
        format!("{method} is not served on this path."),
    )
}

pub fn request_timeout() -> Fault {
    Fault::new(408, FaultKind::InvalidRequest, "request_timeout", "The request was not received in time.")
}

pub fn conflict(message: impl Into<String>) -> Fault {
    Fault::new(409, FaultKind::InvalidRequest, "conflict", message)
}

pub fn precondition_failed() -> Fault {
    Fault::new(
        412,
        FaultKind::InvalidRequest,
        "precondition_failed",
        "The record has changed since it was read: read it again and repeat the change.",
    )
    .param("If-Match")
}

pub fn request_too_large(limit: u64) -> Fault {
    Fault::new(
        413,
        FaultKind::InvalidRequest,
        "request_too_large",
        format!("The request body is larger than {limit} bytes, the limit set by BODY_SIZE_LIMIT."),
    )
}

pub fn unsupported_media_type() -> Fault {
    Fault::new(
        415,
        FaultKind::InvalidRequest,
        "unsupported_media_type",
        "This route takes a JSON body, not multipart.",
    )
}

/// A rate limit of the key; the caller adds the retry time.
pub fn rate_limit_exceeded(message: impl Into<String>) -> Fault {
    Fault::new(429, FaultKind::RateLimit, "rate_limit_exceeded", message)
}

pub fn budget_exceeded(message: impl Into<String>) -> Fault {
    Fault::new(429, FaultKind::RateLimit, "budget_exceeded", message)
}

pub fn budget_not_found(user_path: &str, period: &str) -> Fault {
    Fault::new(
        400,
        FaultKind::InvalidRequest,
        "budget_not_found",
        format!("There is no {period} budget for '{user_path}'."),
    )
    .param("user_path")
}

pub fn idempotency_mismatch() -> Fault {
    Fault::new(
        422,
        FaultKind::InvalidRequest,
        "idempotency_mismatch",
        "This Idempotency-Key was used with another request: use a new key for a new request.",
    )
    .param("Idempotency-Key")
}

// Errors of the gateway itself:

/// Spending cannot be determined, and the operator requires budget checks (`BUDGETS_FAIL=closed`).
pub fn budget_check_failed() -> Fault {
    Fault::new(
        503,
        FaultKind::ServiceUnavailable,
        "budget_check_failed",
        "The budgets of this path cannot be checked at the moment, and BUDGETS_FAIL is closed.",
    )
}

/// A stored budget, or the budget settings, cannot be decoded: affected calls are rejected until it is replaced.
pub fn budget_unreadable() -> Fault {
    Fault::new(
        503,
        FaultKind::ServiceUnavailable,
        "budget_check_failed",
        "A budget of this path cannot be read from storage. An admin has to write it again or delete it.",
    )
}

pub fn internal_error() -> Fault {
    Fault::new(
        500,
        FaultKind::Internal,
        "internal_error",
        "The gateway failed to handle this request; its log has the reason.",
    )
}

pub fn feature_unavailable(message: impl Into<String>) -> Fault {
    Fault::new(503, FaultKind::ServiceUnavailable, "feature_unavailable", message)
}

/// The client disconnected. Recorded in logs and metrics as 499, never sent.
pub fn client_disconnected() -> Fault {
    Fault::new(499, FaultKind::InvalidRequest, "client_disconnected", "The client closed the connection.")
}

// Errors of the provider:

pub fn upstream_unreachable(provider: &str, reason: &str) -> Fault {
    Fault::new(
        502,
        FaultKind::Provider,
        "upstream_unreachable",
        format!("The provider '{provider}' could not be reached: {reason}."),
    )
    .retry_scope(RetryScope::OtherTargetFirst)
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
    Fault::new(502, FaultKind::Provider, "upstream_auth_failed", message)
        .retry_scope(RetryScope::OtherTarget)
        .upstream_status(status)
}

pub fn upstream_invalid_response(provider: &str, reason: &str) -> Fault {
    Fault::new(
        502,
        FaultKind::Provider,
        "upstream_invalid_response",
        format!("The provider '{provider}' sent an answer that could not be read: {reason}."),
    )
    .retry_scope(RetryScope::OtherTarget)
}

/// The stream ended before its terminal event.
pub fn upstream_interrupted(provider: &str) -> Fault {
    Fault::new(
        502,
        FaultKind::Provider,
        "upstream_invalid_response",
        format!("The provider '{provider}' broke off before the end of its answer: what was received is incomplete."),
    )
    .retry_scope(RetryScope::SameTarget)
}

/// The selected provider does not support the operation.
pub fn unsupported(code: &'static str, operation: &str, provider: &str) -> Fault {
    Fault::new(
        501,
        FaultKind::InvalidRequest,
        code,
        format!("The provider '{provider}' does not support {operation}."),
    )
    .retry_scope(RetryScope::OtherTarget)
}

pub fn upstream_timeout(provider: &str, waited: Duration) -> Fault {
    Fault::new(
        504,
        FaultKind::Provider,
        "upstream_timeout",
        format!("The provider '{provider}' did not answer within {} ms.", waited.as_millis()),
    )
    .retry_scope(RetryScope::OtherTarget)
}

/// No connection is available for this call, or the provider rejected the request before processing it.
pub fn upstream_overloaded(provider: &str, reason: &str) -> Fault {
    Fault::new(
        503,
        FaultKind::ServiceUnavailable,
        "overloaded",
        format!("No connection to the provider '{provider}' is available: {reason}"),
    )
    .retry_scope(RetryScope::OtherTargetFirst)
}

/// The circuit breaker is open; no call was made. The caller adds the time of the next probe with [`Fault::retry_in`].
pub fn circuit_open(provider: &str, model: &str) -> Fault {
    let message = format!("Circuit breaker open for provider '{provider}', model '{model}'");
    Fault::new(503, FaultKind::Provider, "circuit_open", message)
}

/// The memory limit for the bodies of in-flight requests is reached.
pub fn overloaded(limit_bytes: u64) -> Fault {
    let message = format!(
        "The gateway is processing as many large request bodies as it can hold ({} MiB). Retry in 1 s.",
        limit_bytes >> 20
    );
    Fault::new(503, FaultKind::ServiceUnavailable, "overloaded", message).retry_after(Duration::from_secs(1))
}

/// The target is in a cooldown, after an overload (`busy`) or after a rate limit or exhausted quota; no call was made.
/// The caller adds the end of the cooldown with [`Fault::retry_in`].
pub fn cooling_down(provider: &str, model: &str, busy: bool) -> Fault {
    let (status, kind, code, cause) = match busy {
        true => (503, FaultKind::Provider, "overloaded", "overload"),
        false => (429, FaultKind::RateLimit, "rate_limit_exceeded", "rate limit or quota"),
    };
    let message =
        format!("Provider '{provider}', model '{model}' is cooling down after a provider {cause} error");
    Fault::new(status, kind, code, message).blame(Blame::Upstream)
}
