//! Conversation history: normalises input for storage and prepends stored turns to a new request.

use std::ops::Range;

use bytes::Bytes;
use domain::fault::{self, Fault};
use serde_json::{Value, json};

use crate::json;
use crate::splice::{Patch, concat};

/// The input as a JSON array, unchanged; a string becomes one user message.
pub fn normalize_input(request_body: &[u8]) -> Result<Bytes, Fault> {
    let object = json::scan(request_body)?;
    input_items(request_body, object.value(request_body, "input"))
}

/// Like [`normalize_input`], for a scanned body with its input at `range`.
pub fn input_items(request_body: &[u8], range: Option<Range<usize>>) -> Result<Bytes, Fault> {
    let Some(range) = range else { return Ok(Bytes::from_static(b"[]")) };
    let text = &request_body[range.clone()];
    if text.starts_with(b"[") {
        return Ok(Bytes::copy_from_slice(text));
    }
    match json::string_at(request_body, &range) {
        Some(text) => Ok(format!("[{}]", user_message(&text)).into()),
        None => Err(fault::invalid_parameter("input", "'input' must be a string or an array of items.")),
    }
}

/// Expands a request with its history: stored items first, no `previous_response_id`. `history` holds JSON arrays of
/// items, oldest first; they are joined as text and never parsed.
pub fn with_history(body: &Bytes, history: &[Bytes]) -> Bytes {
    let Ok(object) = json::scan(body) else { return body.clone() };
    let mut patch = Patch::new();
    if let Some(index) = object.position(body, "previous_response_id") {
        patch.remove_member(&object, index);
    }
    let mut past: Vec<&[u8]> = history.iter().filter_map(|array| array_content(array)).collect();
    let input = object.get(body, "input").map(|member| member.value.clone());
    match input {
        Some(input) if body[input.start] == b'[' => {
            let inside = body[input.start + 1..].trim_ascii_start();
            if !past.is_empty() && !inside.starts_with(b"]") {
                past.push(b"");
            }
            patch.replace(input.start..input.start + 1, [b"[".as_slice(), &past.join(&b',')].concat());
        }
        Some(input) => {
            let message = json::string_at(body, &input).map(|text| user_message(&text).to_string());
            past.extend(message.as_ref().map(|message| message.as_bytes()));
            patch.replace(input, [b"[".as_slice(), &past.join(&b','), b"]"].concat());
        }
        None => {
            let member = [b"\"input\":[".as_slice(), &past.join(&b','), b"]"].concat();
            patch.insert_member(&object, member);
        }
    }
    concat(&patch.apply(body))
}

/// The text between the brackets of an array; `None` if it is empty.
fn array_content(array: &[u8]) -> Option<&[u8]> {
    let content = array.trim_ascii().strip_prefix(b"[")?.strip_suffix(b"]")?.trim_ascii();
    (!content.is_empty()).then_some(content)
}

fn user_message(text: &str) -> Value {
    json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
}

#[cfg(test)]
mod tests;
