//! Pairs calls and results in Messages: consecutive turns of a role are merged, and results answer the turn before.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::super::rejection::{UpstreamRejection, ValidationResult, is_name};
use super::refuse;

/// The content as blocks, also if it is a string.
pub(super) fn blocks(message: &Value) -> Vec<Value> {
    match &message["content"] {
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        Value::Array(blocks) => blocks.clone(),
        _ => Vec::new(),
    }
}

/// Merges consecutive turns of a role; system turns are skipped.
pub(super) fn merged(messages: &[Value]) -> Vec<(&str, Vec<Value>)> {
    let mut turns: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in messages {
        let role = message["role"].as_str().unwrap_or_default();
        match turns.last_mut() {
            _ if role == "system" => {}
            Some((last, content)) if *last == role => content.extend(blocks(message)),
            _ => turns.push((role, blocks(message))),
        }
    }
    turns
}

pub(super) fn validate(messages: &[Value]) -> ValidationResult {
    let mut seen = HashSet::new();
    let mut open: Vec<String> = Vec::new();
    for (index, (_, content)) in merged(messages).iter().enumerate() {
        answered(index, content, &mut open)?;
        for block in content.iter().filter(|block| block["type"] == "tool_use") {
            let id = block["id"].as_str().unwrap_or_default();
            if !is_name(id, usize::MAX) {
                let message = "String should match pattern '^[a-zA-Z0-9_-]+$'";
                return Err(refuse(&format!("messages.{index}.content.tool_use.id"), message));
            }
            if !seen.insert(id.to_owned()) {
                return Err(refuse("messages", "`tool_use` ids must be unique"));
            }
            open.push(id.to_owned());
        }
    }
    if open.is_empty() { Ok(()) } else { Err(unanswered(messages.len(), &open)) }
}

/// Checks that results come first and answer each call of the previous turn exactly once.
fn answered(index: usize, content: &[Value], open: &mut Vec<String>) -> ValidationResult {
    let mut others = false;
    for block in content {
        if block["type"] != "tool_result" {
            others = true;
            continue;
        }
        let id = block["tool_use_id"].as_str().unwrap_or_default();
        let Some(found) = open.iter().position(|known| known == id) else {
            let message = format!(
                "unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
            );
            return Err(refuse(&format!("messages.{index}.content"), &message));
        };
        if others {
            return Err(unanswered(index, open));
        }
        open.remove(found);
    }
    if open.is_empty() { Ok(()) } else { Err(unanswered(index, open)) }
}

fn unanswered(index: usize, open: &[String]) -> UpstreamRejection {
    let message = format!(
        "`tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
        open.join(", ")
    );
    refuse(&format!("messages.{index}"), &message)
}
