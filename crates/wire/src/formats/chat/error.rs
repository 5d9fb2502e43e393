//! Renders errors for clients: OpenAI's error object, as a body and as a stream event.

use domain::fault::Fault;

use crate::json::quote;

/// The error body: `{"error":{…}}` with all four keys.
pub fn render_error(fault: &Fault) -> String {
    let param = fault.param.as_deref().map_or_else(|| "null".to_owned(), quote);
    let detail = fault.detail.as_deref().map(|(key, value)| format!(",{}:{}", quote(key), quote(value)));
    format!(
        r#"{{"error":{{"type":"{}","message":{},"param":{param},"code":{}{}}}}}"#,
        fault.kind.as_str(),
        quote(&fault.message),
        quote(fault.code.as_str()),
        detail.unwrap_or_default(),
    )
}

pub fn render_error_event(fault: &Fault) -> String {
    format!("data: {}\n\n", render_error(fault))
}

#[cfg(test)]
mod tests {
    use domain::fault;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(fault: &Fault, expected: serde_json::Value) {
        let body = render_error(fault);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&body).unwrap(), expected);
        let event = render_error_event(fault);
        let inside = event.strip_prefix("data: ").unwrap().strip_suffix("\n\n").unwrap();
        assert_eq!(inside, body);
    }

    #[test]
    fn all_four_keys_are_always_there() {
        check(
            &fault::internal_error(),
            json!({"error": {
                "type": "internal_error", "code": "internal_error", "param": null,
                "message": "The gateway failed to handle this request; its log has the reason.",
            }}),
        );
    }

    #[test]
    fn text_is_escaped_and_details_follow() {
        check(
            &fault::insufficient_scope("admin:\"read\"\n"),
            json!({"error": {
                "type": "authorization_error", "code": "insufficient_scope", "param": null,
                "message": "This key lacks the scope 'admin:\"read\"\n'.", "required_scope": "admin:\"read\"\n",
            }}),
        );
        check(
            &fault::invalid_parameter("a\"b", "No."),
            json!({"error": {
                "type": "invalid_request_error", "code": "invalid_parameter", "param": "a\"b", "message": "No.",
            }}),
        );
    }
}
