//! Validates the messages of a chat request: roles, their content, calls and results.

use serde_json::Value;

use super::super::model_name::ModelName;
use super::super::openai::{invalid, members, missing, one_of, unknown};
use super::super::rejection::{UpstreamRejection, ValidationResult, decode, given, list, unknown_member};

const ROLES: [&str; 6] = ["system", "developer", "user", "assistant", "tool", "function"];
const LONGEST_CALL_ID: usize = 40;

/// Checks that apply to every model: roles, and results only for existing calls.
pub(super) fn loosely(messages: &[Value]) -> ValidationResult {
    let mut called: Vec<&Value> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        if !ROLES.contains(&role) {
            return Err(UpstreamRejection::at(
                format!("messages[{index}].role"),
                format!("Invalid value: '{role}'."),
            ));
        }
        called.extend(list(&message["tool_calls"]).iter().map(|call| &call["id"]));
        if role == "tool" && !called.contains(&&message["tool_call_id"]) {
            return Err(orphan(index));
        }
    }
    Ok(())
}

fn orphan(index: usize) -> UpstreamRejection {
    let message = "messages with role 'tool' must be a response to a preceding message with 'tool_calls'.";
    UpstreamRejection::at(format!("messages[{index}].role"), message)
}

pub(super) fn strictly(messages: &[Value], name: &ModelName) -> ValidationResult {
    let mut open: Vec<&str> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let path = format!("messages[{index}]");
        let role = message["role"].as_str().unwrap_or_default();
        if role == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            let Some(found) = open.iter().position(|known| *known == id) else { return Err(orphan(index)) };
            open.remove(found);
        } else if !open.is_empty() {
            return Err(unanswered(&path, &open));
        }
        message_members(message, role, &path, name)?;
        content(message, role, &path)?;
        for (index, call) in list(&message["tool_calls"]).iter().enumerate() {
            open.push(tool_call(call, &format!("{path}.tool_calls[{index}]"))?);
        }
    }
    if open.is_empty() {
        Ok(())
    } else {
        Err(unanswered(&format!("messages[{}]", messages.len() - 1), &open))
    }
}

fn unanswered(path: &str, open: &[&str]) -> UpstreamRejection {
    let message = format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: {}",
        open.join(", ")
    );
    UpstreamRejection::at(format!("{path}.role"), message)
}

fn message_members(message: &Value, role: &str, path: &str, name: &ModelName) -> ValidationResult {
    const ASSISTANT: [&str; 8] =
        ["role", "content", "name", "refusal", "audio", "annotations", "tool_calls", "function_call"];
    let known: &[&str] = match role {
        "assistant" => &ASSISTANT,
        "tool" => &["role", "content", "tool_call_id", "name"],
        _ => &["role", "content", "name"],
    };
    match unknown_member(message, known) {
        // Models that show their reasoning accept it back.
        Some("reasoning_content" | "reasoning_details") if role == "assistant" && !name.is_openai() => Ok(()),
        Some(member) => Err(unknown(&format!("{path}.{member}"))),
        None => Ok(()),
    }
}

fn content(message: &Value, role: &str, path: &str) -> ValidationResult {
    let path = format!("{path}.content");
    match &message["content"] {
        Value::String(_) => Ok(()),
        Value::Null if role == "assistant" => {
            let says = ["tool_calls", "function_call", "refusal", "audio"];
            if says.iter().any(|member| given(message, member).is_some()) {
                Ok(())
            } else {
                Err(missing(&path))
            }
        }
        Value::Array(parts) if !parts.is_empty() => {
            let mut parts = parts.iter().enumerate();
            parts.try_for_each(|(index, one)| part(one, role, &format!("{path}[{index}]")))
        }
        other => Err(invalid(&path, other)),
    }
}

fn part(part: &Value, role: &str, path: &str) -> ValidationResult {
    let kinds: &[&str] = match role {
        "user" => &["text", "image_url", "input_audio", "file"],
        "assistant" => &["text", "refusal"],
        _ => &["text"],
    };
    one_of(&part["type"], &format!("{path}.type"), kinds)?;
    let kind = part["type"].as_str().unwrap_or_default();
    members(part, path, &["type", kind])?;
    let inside = format!("{path}.{kind}");
    match kind {
        "text" | "refusal" if !part[kind].is_string() => Err(invalid(&inside, &part[kind])),
        "image_url" => {
            members(&part[kind], &inside, &["url", "detail"])?;
            image(part[kind]["url"].as_str().unwrap_or_default(), &format!("{inside}.url"))
        }
        "input_audio" => members(&part[kind], &inside, &["data", "format"]),
        "file" => members(&part[kind], &inside, &["file_data", "file_id", "filename"]),
        _ => Ok(()),
    }
}

/// Accepts a URL, or a data URL that can be decoded.
pub(super) fn image(url: &str, path: &str) -> ValidationResult {
    let data = url.strip_prefix("data:image/").and_then(|rest| rest.split_once(";base64,"));
    if url.starts_with("https://")
        || url.starts_with("http://")
        || data.is_some_and(|(_, data)| decode(data).is_some())
    {
        return Ok(());
    }
    Err(UpstreamRejection::at(path, "Invalid image URL.").code("invalid_image_url"))
}

fn tool_call<'v>(call: &'v Value, path: &str) -> Result<&'v str, UpstreamRejection> {
    let id = call["id"].as_str().filter(|id| !id.is_empty()).ok_or_else(|| missing(&format!("{path}.id")))?;
    if id.len() > LONGEST_CALL_ID {
        let message =
            format!("Invalid '{path}.id': string too long. Expected a string with maximum length 40.");
        return Err(UpstreamRejection::at(format!("{path}.id"), message).code("string_above_max_length"));
    }
    one_of(&call["type"], &format!("{path}.type"), &["function", "custom"])?;
    if call["type"] == "custom" {
        members(call, path, &["id", "type", "custom"])?;
        return Ok(id);
    }
    members(call, path, &["id", "type", "function"])?;
    members(&call["function"], &format!("{path}.function"), &["name", "arguments"])?;
    if !call["function"]["name"].is_string() {
        return Err(missing(&format!("{path}.function.name")));
    }
    let arguments = format!("{path}.function.arguments");
    let text = call["function"]["arguments"]
        .as_str()
        .ok_or_else(|| invalid(&arguments, &call["function"]["arguments"]))?;
    if serde_json::from_str::<Value>(text).is_err() {
        return Err(UpstreamRejection::at(
            arguments.clone(),
            format!("Invalid '{arguments}': not valid JSON."),
        ));
    }
    Ok(id)
}
