//! Renders errors for clients: Anthropic's error object, as a body and as a stream event.

use domain::fault::{Fault, FaultKind};

use crate::json::quote;

/// The error body. The id of the request is part of a response, not of a stream.
pub fn render_error(fault: &Fault, request_id: Option<&str>) -> String {
    let kind = match (fault.status, fault.kind) {
        (413, _) => "request_too_large",
        (503 | 529, _) => "overloaded_error",
        (_, FaultKind::Authentication) => "authentication_error",
        (_, FaultKind::Authorization) => "permission_error",
        (_, FaultKind::NotFound) => "not_found_error",
        (_, FaultKind::RateLimit) => "rate_limit_error",
        (400..=499 | 501, _) => "invalid_request_error",
        _ => "api_error",
    };
    let request_id = request_id.map(|id| format!(",\"request_id\":{}", quote(id))).unwrap_or_default();
    format!(
        r#"{{"type":"error","error":{{"type":"{kind}","message":{}}}{request_id}}}"#,
        quote(&fault.message)
    )
}

pub fn render_error_event(fault: &Fault) -> String {
    format!("event: error\ndata: {}\n\n", render_error(fault, None))
}

#[cfg(test)]
mod tests {
    use domain::fault;
    use serde_json::json;

    use super::*;

    #[test]
    fn anthropics_clients_get_their_own_shape() {
        let body = render_error(&fault::request_too_large(10), Some("req_1"));
        let body: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert_eq!((&body["type"], &body["error"]["type"]), (&json!("error"), &json!("request_too_large")));
        assert_eq!(body["request_id"], "req_1");
        for (fault, kind) in [
            (fault::model_required(), "invalid_request_error"),
            (fault::missing_api_key(), "authentication_error"),
            (fault::insufficient_scope("x"), "permission_error"),
            (fault::not_found("no"), "not_found_error"),
            (fault::upstream_interrupted("p"), "api_error"),
        ] {
            let text = render_error_event(&fault);
            assert!(text.starts_with("event: error\ndata: {\"type\":\"error\""), "{text}");
            assert!(text.contains(kind), "{text}");
        }
    }
}
