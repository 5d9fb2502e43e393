//! A fault as the client's dialect says it: the error body and the in-band event.

use bytes::Bytes;
use domain::call::Format;
use domain::fault::Fault;

use crate::json::quote;

/// `{"error":{…}}`, all four keys always there.
pub fn envelope(fault: &Fault, format: Format) -> Bytes {
    match format {
        Format::Chat => openai(fault).into(),
    }
}

/// The fault inside a stream that has begun. Nothing follows it, least of all a clean end.
pub fn event(fault: &Fault, format: Format) -> Bytes {
    match format {
        Format::Chat => format!("data: {}\n\n", openai(fault)).into(),
    }
}

fn openai(fault: &Fault) -> String {
    let param = fault.param.as_deref().map_or_else(|| "null".to_owned(), quote);
    let details: String =
        fault.details.iter().map(|(key, value)| format!(",{}:{}", quote(key), quote(value))).collect();
    format!(
        r#"{{"error":{{"type":"{}","message":{},"param":{param},"code":{}{details}}}}}"#,
        fault.kind.as_str(),
        quote(&fault.message),
        quote(&fault.code),
    )
}

#[cfg(test)]
mod tests {
    use domain::fault;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(fault: &Fault, expected: serde_json::Value) {
        let body = envelope(fault, Format::Chat);
        assert_eq!(serde_json::from_slice::<serde_json::Value>(&body).unwrap(), expected);
        let event = event(fault, Format::Chat);
        let inside = event.strip_prefix(b"data: ").unwrap().strip_suffix(b"\n\n").unwrap();
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
