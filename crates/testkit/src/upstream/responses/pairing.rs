//! Pairs calls and outputs in a response's conversation, and reasoning with the item that follows it.

use serde_json::Value;

use super::super::rejection::{UpstreamRejection, ValidationResult};

/// Checks the pairing; the first `before` items belong to earlier responses.
pub(super) fn validate(items: &[Value], before: usize) -> ValidationResult {
    let kind = |item: &Value| item["type"].as_str().unwrap_or_default().to_owned();
    let mut open: Vec<&str> = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let call_id = item["call_id"].as_str().unwrap_or_default();
        match kind(item).as_str() {
            "function_call" | "custom_tool_call" => open.push(call_id),
            "function_call_output" | "custom_tool_call_output" => {
                let Some(found) = open.iter().position(|known| *known == call_id) else {
                    let message =
                        format!("No tool call found for function call output with call_id {call_id}.");
                    return Err(UpstreamRejection::at("input", message));
                };
                open.remove(found);
            }
            "reasoning" if index >= before => follows(items, index, index - before)?,
            _ => {}
        }
    }
    match open.first() {
        None => Ok(()),
        Some(call_id) => {
            Err(UpstreamRejection::at("input", format!("No tool output found for function call {call_id}.")))
        }
    }
}

/// Requires that reasoning is followed by the message or call it led to.
fn follows(items: &[Value], index: usize, place: usize) -> ValidationResult {
    let next = items[index + 1..].iter().find(|item| item["type"] != "reasoning");
    let led_to = |item: &Value| {
        let kind = item["type"].as_str().unwrap_or_default();
        (kind == "message" && item["role"] == "assistant")
            || kind.ends_with("_call")
            || kind == "item_reference"
    };
    if next.is_some_and(led_to) {
        return Ok(());
    }
    let id = items[index]["id"].as_str().unwrap_or_default();
    let message =
        format!("Item '{id}' of type 'reasoning' was provided without its required following item.");
    Err(UpstreamRejection::at(format!("input[{place}]"), message))
}
