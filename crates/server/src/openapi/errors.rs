//! The error answers of every operation: their schemas, statuses and examples.

use domain::fault::FaultCode;
use serde_json::{Value, json};

/// The error format of a route.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ErrorFormat {
    Gateway,
    Anthropic,
    Google,
}

/// Adds the schemas of the three error formats.
pub fn add_schemas(document: &mut Value) {
    let schemas = &mut document["components"]["schemas"];
    let nullable = json!({"type": ["string", "null"]});
    schemas["Error"] = json!({
        "type": "object", "required": ["error"], "description": "The error format of the gateway.",
        "properties": {"error": {"type": "object", "required": ["type", "message", "param", "code"], "properties": {
            "type": {"type": "string"}, "message": {"type": "string"}, "param": nullable, "code": nullable,
        }}},
    });
    schemas["AnthropicError"] = json!({
        "type": "object", "required": ["type", "error"], "description": "The error format of Anthropic's API.",
        "properties": {
            "type": {"const": "error"}, "request_id": {"type": "string"},
            "error": {"type": "object", "required": ["type", "message"], "properties": {
                "type": {"type": "string"}, "message": {"type": "string"},
            }},
        },
    });
    schemas["GoogleError"] = json!({
        "type": "object", "required": ["error"], "description": "The error format of Google's APIs.",
        "properties": {"error": {"type": "object", "required": ["code", "message", "status"], "properties": {
            "code": {"type": "integer"}, "message": {"type": "string"}, "status": {"type": "string"},
        }}},
    });
}

/// Adds the errors that the operation can answer with, and the format of all of them.
pub fn add(operation: &mut Value, path: &str) {
    let format = match path {
        _ if path.starts_with("/v1/messages") => ErrorFormat::Anthropic,
        _ if path.starts_with("/v1beta/") => ErrorFormat::Google,
        _ => ErrorFormat::Gateway,
    };
    let is_google_call = path == "/v1/models/{id}" && operation.get("requestBody").is_some();
    let format = if is_google_call { ErrorFormat::Google } else { format };
    for status in statuses(operation, path) {
        let responses = &mut operation["responses"];
        if responses.get(status).is_none() {
            responses[status] = json!({"description": description(status)});
        }
    }
    for (status, response) in operation["responses"].as_object_mut().into_iter().flatten() {
        let is_error = status.starts_with(['4', '5']) && status != "426";
        if is_error && response.get("content").is_none() && path != "/ready" {
            response["content"] = json!({"application/json": content(status, format)});
        }
    }
}

fn statuses(operation: &Value, path: &str) -> Vec<&'static str> {
    if operation.get("security").is_none() {
        return Vec::new();
    }
    let mut statuses = vec!["400", "401", "403", "500", "503"];
    if operation.get("requestBody").is_some() {
        statuses.extend(["408", "413", "415"]);
    }
    if path.starts_with("/p/") {
        // A provider's own status is passed on.
        statuses.extend(["4XX", "5XX"]);
    } else if !path.starts_with("/admin/") {
        statuses.extend(["404", "429"]);
        if operation.get("requestBody").is_some() || path.contains('{') {
            statuses.extend(["409", "422", "501", "502", "504"]);
        }
    } else if path.contains('{') {
        statuses.push("404");
    }
    statuses
}

fn description(status: &str) -> &'static str {
    match status {
        "400" => "Invalid request",
        "401" => "No credential, or one that is not valid",
        "403" => "The caller may not do this",
        "404" => "Not found",
        "408" => "The body was not received in time",
        "409" => "Conflict with the current state",
        "413" => "The body is too large",
        "415" => "The media type is not accepted",
        "422" => "The Idempotency-Key was used for another request",
        "429" => "A rate limit or a budget is reached",
        "4XX" => "An error of the provider or of the request",
        "500" => "The gateway failed",
        "501" => "The provider does not have this operation",
        "502" => "The provider failed, or could not be reached",
        "503" => "Storage, a feature or a provider is not available",
        "504" => "The provider did not answer in time",
        _ => "An error of the provider or of the gateway",
    }
}

fn content(status: &str, format: ErrorFormat) -> Value {
    let (code, message) = match status {
        "401" => (FaultCode::InvalidApiKey, "The API key is not valid."),
        "403" => (FaultCode::InsufficientScope, "This key lacks the scope of this operation."),
        "404" => (FaultCode::NotFound, "There is nothing of that name."),
        "409" => (FaultCode::Conflict, "The name is taken."),
        "412" => (FaultCode::PreconditionFailed, "It was changed in the meantime."),
        "413" => (FaultCode::RequestTooLarge, "The body has more than 10485760 bytes."),
        "429" => (FaultCode::RateLimitExceeded, "Rate limit reached. Retry in 12 s."),
        "500" => (FaultCode::InternalError, "The gateway failed to handle this request."),
        "503" => (FaultCode::FeatureUnavailable, "Storage is not available."),
        "502" | "504" | "5XX" => (FaultCode::UpstreamUnreachable, "The provider could not be reached."),
        _ => (FaultCode::InvalidParameter, "A value is not valid."),
    };
    let kind = code.defaults().1.as_str();
    match format {
        ErrorFormat::Gateway => json!({
            "schema": {"$ref": "#/components/schemas/Error"},
            "example": {"error": {"type": kind, "message": message, "param": null, "code": code.as_str()}},
        }),
        ErrorFormat::Anthropic => json!({
            "schema": {"$ref": "#/components/schemas/AnthropicError"},
            "example": {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"},
        }),
        ErrorFormat::Google => json!({
            "schema": {"$ref": "#/components/schemas/GoogleError"},
            "example": {"error": {
                "code": status.parse::<u16>().unwrap_or(500), "message": message, "status": "INVALID_ARGUMENT",
            }},
        }),
    }
}
