//! Constructors of errors that the client has to fix.

use super::{Fault, FaultCode};

pub fn invalid_json(message: impl Into<String>) -> Fault {
    Fault::new(FaultCode::InvalidJson, message)
}

pub fn invalid_parameter(param: impl Into<String>, message: impl Into<String>) -> Fault {
    Fault::new(FaultCode::InvalidParameter, message).param(param)
}

/// An unknown body field; the message suggests the nearest known one.
pub fn unknown_parameter(param: impl Into<String>, nearest: Option<&str>) -> Fault {
    let param = param.into();
    let hint = nearest.map(|name| format!(" Did you mean '{name}'?")).unwrap_or_default();
    Fault::new(FaultCode::UnknownParameter, format!("Unknown field '{param}'.{hint}")).param(param)
}

/// An unknown query parameter; `hint` suggests the supported ones.
pub fn unknown_query_parameter(param: &str, hint: &str) -> Fault {
    let message = format!("Unknown query parameter '{param}'.{hint}");
    Fault::new(FaultCode::UnknownParameter, message).param(param)
}

pub fn model_required() -> Fault {
    Fault::new(FaultCode::ModelRequired, "The request names no model: set 'model'.").param("model")
}

pub fn missing_api_key() -> Fault {
    Fault::new(
        FaultCode::MissingApiKey,
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
    Fault::new(FaultCode::InvalidApiKey, "The API key is not valid.")
}

pub fn insufficient_scope(required: impl Into<String>) -> Fault {
    let required = required.into();
    Fault::new(FaultCode::InsufficientScope, format!("This key lacks the scope '{required}'."))
        .detail("required_scope", required)
}

pub fn edition_restricted(capability: impl Into<String>) -> Fault {
    let capability = capability.into();
    let message = format!(
        "This needs the capability '{capability}', which is not enabled. Set GATEWAY_CAPABILITIES={capability} or \
         GATEWAY_EDITION=enterprise and restart the gateway."
    );
    Fault::new(FaultCode::EditionRestricted, message).detail("capability", capability)
}

pub fn user_path_denied(requested: &str, own: &str) -> Fault {
    Fault::new(
        FaultCode::UserPathDenied,
        format!("The user path '{requested}' is not below this key's own path '{own}'."),
    )
    .param("X-Gateway-User-Path")
}

/// The caller belongs to a tenant, and the request concerns more than that tenant.
pub fn tenant_denied(tenant: &str) -> Fault {
    let message = format!(
        "This concerns the whole installation, and the caller belongs to the tenant '{tenant}'. Use a key without a tenant."
    );
    Fault::new(FaultCode::UserPathDenied, message)
}

/// The caller belongs to a tenant, and the request names another one. Does not tell whether that exists.
pub fn other_tenant_denied(tenant: &str) -> Fault {
    let message =
        format!("The caller belongs to the tenant '{tenant}' and can name no other in 'tenant_id'.");
    tenant_denied(tenant).with_message(message).param("tenant_id")
}

/// The request names a tenant that does not exist.
pub fn unknown_tenant(id: &str) -> Fault {
    let shown: String = id.chars().take(100).collect();
    invalid_parameter("tenant_id", format!("There is no tenant '{shown}'. Create it, or name another."))
}

/// The caller belongs to a tenant that an admin has suspended.
pub fn tenant_suspended(tenant: &str) -> Fault {
    let message = format!("The tenant '{tenant}' is suspended. Ask an administrator to activate it.");
    Fault::new(FaultCode::TenantSuspended, message)
}

pub fn key_model_access_denied(model: &str) -> Fault {
    Fault::new(FaultCode::KeyModelAccessDenied, format!("This key may not use the model '{model}'."))
        .param("model")
}

pub fn key_provider_access_denied(provider: &str) -> Fault {
    Fault::new(
        FaultCode::KeyProviderAccessDenied,
        format!("This key may not use the provider of '{provider}'."),
    )
    .param("model")
}

/// The requested limit of a key is wider than that of the key that creates or changes it.
pub fn key_limit_denied(param: impl Into<String>, message: impl Into<String>) -> Fault {
    Fault::new(FaultCode::KeyLimitDenied, message).param(param)
}

pub fn model_access_denied(model: &str) -> Fault {
    Fault::new(FaultCode::ModelAccessDenied, format!("The model '{model}' may not be used here."))
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
    Fault::new(FaultCode::ModelNotFound, format!("There is no model '{shown}'.{hint}")).param("model")
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
    Fault::new(FaultCode::NotFound, message)
}

pub fn provider_not_found(name: &str) -> Fault {
    Fault::new(FaultCode::ProviderNotFound, format!("There is no provider '{name}'."))
}

pub fn method_not_allowed(method: &str) -> Fault {
    Fault::new(FaultCode::MethodNotAllowed, format!("{method} is not served on this path."))
}

pub fn request_timeout() -> Fault {
    Fault::new(FaultCode::RequestTimeout, "The request was not received in time.")
}

pub fn conflict(message: impl Into<String>) -> Fault {
    Fault::new(FaultCode::Conflict, message)
}

pub fn precondition_failed() -> Fault {
    Fault::new(
        FaultCode::PreconditionFailed,
        "The record has changed since it was read: read it again and repeat the change.",
    )
    .param("If-Match")
}

pub fn request_too_large(limit: u64) -> Fault {
    Fault::new(
        FaultCode::RequestTooLarge,
        format!("The request body is larger than {limit} bytes, the limit set by BODY_SIZE_LIMIT."),
    )
}

pub fn unsupported_media_type() -> Fault {
    Fault::new(FaultCode::UnsupportedMediaType, "This route takes a JSON body, not multipart.")
}

/// A rate limit of the key; the caller adds the retry time.
pub fn rate_limit_exceeded(message: impl Into<String>) -> Fault {
    Fault::new(FaultCode::RateLimitExceeded, message)
}

pub fn budget_exceeded(message: impl Into<String>) -> Fault {
    Fault::new(FaultCode::BudgetExceeded, message)
}

pub fn budget_not_found(user_path: &str, period: &str) -> Fault {
    Fault::new(FaultCode::BudgetNotFound, format!("There is no {period} budget for '{user_path}'."))
        .param("user_path")
}

pub fn idempotency_mismatch() -> Fault {
    Fault::new(
        FaultCode::IdempotencyMismatch,
        "This Idempotency-Key was used with another request: use a new key for a new request.",
    )
    .param("Idempotency-Key")
}

/// A guardrail refused a text of the request or of the answer. Its rules are not disclosed.
pub fn guardrail_blocked(name: &str, subject: &str) -> Fault {
    Fault::new(FaultCode::GuardrailBlocked, format!("The guardrail '{name}' does not allow this {subject}."))
}
