//! What was said before: input as it is stored, and stored turns put in front of a new one.

use bytes::Bytes;
use domain::fault::{self, Fault};
use serde_json::{Value, json};

use crate::json;
use crate::splice::{Patch, concat};

/// The input array exactly as sent; a string is one message of the user.
pub fn normalize_input(request_body: &[u8]) -> Result<Vec<Value>, Fault> {
    let object = json::scan(request_body)?;
    let Some(range) = object.value(request_body, "input") else { return Ok(Vec::new()) };
    match serde_json::from_slice(&request_body[range]) {
        Ok(Value::Array(items)) => Ok(items),
        Ok(Value::String(text)) => Ok(vec![user_message(&text)]),
        _ => Err(fault::invalid_parameter("input", "'input' must be a string or an array of items.")),
    }
}

/// The request as if the client itself had sent all of its past: stored items first, no `previous_response_id`.
pub fn with_history(body: &Bytes, history: &[Value]) -> Bytes {
    let Ok(object) = json::scan(body) else { return body.clone() };
    let mut patch = Patch::new();
    if let Some(index) = object.position(body, "previous_response_id") {
        patch.remove_member(&object, index);
    }
    let mut past: Vec<String> = history.iter().map(Value::to_string).collect();
    let input = object.get(body, "input").map(|member| member.value.clone());
    match input {
        Some(input) if body[input.start] == b'[' => {
            let inside = body[input.start + 1..].trim_ascii_start();
            let comma = if past.is_empty() || inside.starts_with(b"]") { "" } else { "," };
            patch.replace(input.start..input.start + 1, format!("[{}{comma}", past.join(",")));
        }
        Some(input) => {
            past.extend(json::string_at(body, &input).map(|text| user_message(&text).to_string()));
            patch.replace(input, format!("[{}]", past.join(",")));
        }
        None => patch.insert_member(&object, format!("\"input\":[{}]", past.join(","))),
    }
    concat(&patch.apply(body))
}

fn user_message(text: &str) -> Value {
    json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
}

#[cfg(test)]
mod tests;
