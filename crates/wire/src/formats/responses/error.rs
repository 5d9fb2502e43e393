//! Reads errors inside a stream or a successful response (the `error` event, and the `error` of a failed response), and
//! renders errors for clients.

use domain::fault::{self, Fault};
use serde_json::{Value, json};

use crate::codec::Broken;
use crate::json::quote;
use crate::provider_error;

pub(super) use crate::formats::chat::render_error;

/// Reads the error from an event's data, a complete response or an error object.
pub fn read_stream_error(data: &[u8], provider: &str) -> Fault {
    let Ok(mut value) = serde_json::from_slice::<Value>(data) else {
        return fault::upstream_invalid_response(provider, "an event is not JSON");
    };
    let response = if value["response"].is_object() { value["response"].take() } else { value };
    if response["error"].is_null() && response["status"] == "cancelled" {
        return fault::upstream_invalid_response(provider, "it cancelled the response");
    }
    let mut error = if response["error"].is_object() { response["error"].clone() } else { response };
    let status = error["code"].as_str().and_then(status_of);
    if let (Some(status), Some(members)) = (status, error.as_object_mut()) {
        members.insert("status".to_owned(), status.into());
    }
    let wrapped = json!({ "error": error }).to_string();
    provider_error::read_stream_error(wrapped.as_bytes(), provider)
}

/// The status of error codes that only this format has; the others are shared with chat.
fn status_of(code: &str) -> Option<u16> {
    Some(match code {
        "invalid_prompt" | "bio_policy" | "cyber_policy" | "image_content_policy_violation" => 400,
        "server_is_overloaded" | "slow_down" => 529,
        _ if code.starts_with("invalid_image") || code.starts_with("image_") => 400,
        "invalid_base64_image" | "empty_image_file" | "failed_to_download_image" => 400,
        "unsupported_image_media_type" => 400,
        "vector_store_timeout" => 504,
        _ => return None,
    })
}

/// Renders a failed response: `response.failed` as the protocol requires, then the `error` event on which the official
/// clients raise.
pub fn render_error_event(fault: &Fault, broken: Broken<'_>) -> String {
    let (id, model) = (quote(broken.id), quote(broken.model));
    let (code, message) = (quote(fault.code.as_str()), quote(&fault.message));
    // Nothing was sent yet: the protocol requires `response.created` first.
    let (begun, sequence) = match broken.sequence {
        0 => (created(broken), 1),
        sequence => (String::new(), sequence),
    };
    let failed = format!(
        r#"{{"type":"response.failed","sequence_number":{},"response":{{"id":{id},"object":"response","created_at":{},"status":"failed","error":{{"code":{code},"message":{message}}},"incomplete_details":null,"model":{model},"output":[],"parallel_tool_calls":true,"tool_choice":"auto","tools":[],"usage":null}}}}"#,
        sequence, broken.created,
    );
    format!("{begun}event: response.failed\ndata: {failed}\n\n{}", error_event(fault, sequence + 1))
}

fn created(broken: Broken<'_>) -> String {
    let (id, model) = (quote(broken.id), quote(broken.model));
    let created = format!(
        r#"{{"type":"response.created","sequence_number":0,"response":{{"id":{id},"object":"response","created_at":{},"status":"in_progress","error":null,"incomplete_details":null,"model":{model},"output":[],"parallel_tool_calls":true,"tool_choice":"auto","tools":[],"usage":null}}}}"#,
        broken.created,
    );
    format!("event: response.created\ndata: {created}\n\n")
}

/// The last event of an interrupted response.
pub fn error_event(fault: &Fault, sequence: u64) -> String {
    let body = render_error(fault);
    let inner = body.trim_start_matches('{').trim_end_matches('}');
    format!("event: error\ndata: {{\"type\":\"error\",\"sequence_number\":{sequence},{inner}}}}}\n\n")
}

#[cfg(test)]
mod tests;
