//! Validates the input items of a response: types, roles, members, ids, and sealed reasoning.

use serde_json::Value;

use super::super::memory::Memory;
use super::super::openai::{invalid, members, missing, one_of};
use super::super::rejection::{UpstreamRejection, ValidationResult, decode, given, list};

/// Item types whose members are not checked.
const OTHER_TYPES: [&str; 22] = [
    "additional_tools",
    "apply_patch_call",
    "apply_patch_call_output",
    "code_interpreter_call",
    "compaction_trigger",
    "computer_call",
    "computer_call_output",
    "file_search_call",
    "image_generation_call",
    "local_shell_call",
    "local_shell_call_output",
    "mcp_approval_request",
    "mcp_approval_response",
    "mcp_call",
    "mcp_list_tools",
    "program",
    "program_output",
    "shell_call",
    "shell_call_output",
    "tool_search_call",
    "tool_search_output",
    "web_search_call",
];

const LONGEST_CALL_ID: usize = 64;

pub(super) fn validate(items: &[Value], memory: &Memory) -> ValidationResult {
    for (index, one) in items.iter().enumerate() {
        item(one, &format!("input[{index}]"), memory)?;
    }
    Ok(())
}

fn item(item: &Value, path: &str, memory: &Memory) -> ValidationResult {
    match item["type"].as_str().unwrap_or_default() {
        "message" => message(item, path),
        "function_call" => {
            members(
                item,
                path,
                &["type", "id", "call_id", "name", "arguments", "status", "namespace", "caller"],
            )?;
            identified(item, path, "fc_")?;
            call_id(item, path)?;
            let arguments = format!("{path}.arguments");
            if !item["name"].is_string() {
                return Err(missing(&format!("{path}.name")));
            }
            let text = item["arguments"].as_str().ok_or_else(|| invalid(&arguments, &item["arguments"]))?;
            serde_json::from_str::<Value>(text).map(drop).map_err(|_| invalid(&arguments, &item["arguments"]))
        }
        "custom_tool_call" => {
            members(item, path, &["type", "id", "call_id", "name", "input", "status", "namespace"])?;
            call_id(item, path)
        }
        "function_call_output" | "custom_tool_call_output" => {
            members(item, path, &["type", "id", "call_id", "output", "status", "name"])?;
            call_id(item, path)?;
            output(&item["output"], &format!("{path}.output"))
        }
        "reasoning" => reasoning(item, path, memory),
        "compaction" => {
            members(item, path, &["type", "id", "encrypted_content", "created_by"])?;
            sealed(item, path, memory)
        }
        "item_reference" => {
            members(item, path, &["type", "id"])?;
            let id = item["id"].as_str().unwrap_or_default();
            memory.item(id).map(drop).ok_or_else(|| absent(path, id))
        }
        other if OTHER_TYPES.contains(&other) => Ok(()),
        _ => Err(invalid(&format!("{path}.type"), &item["type"])),
    }
}

fn absent(path: &str, id: &str) -> UpstreamRejection {
    let message = format!(
        "Item with id '{id}' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input."
    );
    UpstreamRejection { status: 404, ..UpstreamRejection::at(path, message) }
}

fn identified(item: &Value, path: &str, prefix: &str) -> ValidationResult {
    match given(item, "id") {
        Some(id) if !id.as_str().is_some_and(|id| id.starts_with(prefix) && id.len() <= LONGEST_CALL_ID) => {
            let message = format!("Invalid '{path}.id': {id}. Expected an ID that begins with '{prefix}'.");
            Err(UpstreamRejection::at(format!("{path}.id"), message).code("invalid_value"))
        }
        _ => Ok(()),
    }
}

fn call_id(item: &Value, path: &str) -> ValidationResult {
    let path = format!("{path}.call_id");
    let id = item["call_id"].as_str().filter(|id| !id.is_empty()).ok_or_else(|| missing(&path))?;
    if id.len() > LONGEST_CALL_ID {
        let message = format!("Invalid '{path}': string too long. Expected a string with maximum length 64.");
        return Err(UpstreamRejection::at(path, message).code("string_above_max_length"));
    }
    Ok(())
}

fn message(item: &Value, path: &str) -> ValidationResult {
    members(item, path, &["type", "id", "role", "content", "status", "phase"])?;
    one_of(&item["role"], &format!("{path}.role"), &["user", "assistant", "system", "developer"])?;
    identified(item, path, "msg_")?;
    let of_assistant = item["role"] == "assistant";
    match &item["content"] {
        Value::String(_) => Ok(()),
        Value::Array(parts) => {
            let mut parts = parts.iter().enumerate();
            parts.try_for_each(|(index, one)| part(one, of_assistant, &format!("{path}.content[{index}]")))
        }
        Value::Null => Err(missing(&format!("{path}.content"))),
        other => Err(invalid(&format!("{path}.content"), other)),
    }
}

fn part(part: &Value, of_assistant: bool, path: &str) -> ValidationResult {
    let kinds: &[&str] = match of_assistant {
        true => &["output_text", "refusal"],
        false => &["input_text", "input_image", "input_file"],
    };
    one_of(&part["type"], &format!("{path}.type"), kinds)?;
    match part["type"].as_str().unwrap_or_default() {
        "output_text" => members(part, path, &["type", "text", "annotations", "logprobs"])?,
        "refusal" => return members(part, path, &["type", "refusal"]),
        "input_text" => members(part, path, &["type", "text"])?,
        "input_image" => return image(part, path),
        _ => return members(part, path, &["type", "file_data", "file_id", "file_url", "filename", "detail"]),
    }
    if part["text"].is_string() { Ok(()) } else { Err(missing(&format!("{path}.text"))) }
}

fn image(part: &Value, path: &str) -> ValidationResult {
    members(part, path, &["type", "image_url", "file_id", "detail"])?;
    if given(part, "file_id").is_some() {
        return Ok(());
    }
    let path = format!("{path}.image_url");
    let url = part["image_url"].as_str().ok_or_else(|| invalid(&path, &part["image_url"]))?;
    let data = url.strip_prefix("data:image/").and_then(|rest| rest.split_once(";base64,"));
    let readable = data.is_some_and(|(_, data)| decode(data).is_some());
    if readable || url.starts_with("https://") || url.starts_with("http://") {
        return Ok(());
    }
    Err(UpstreamRejection::at(path, "Invalid image URL.").code("invalid_image_url"))
}

fn output(output: &Value, path: &str) -> ValidationResult {
    match output {
        Value::String(_) => Ok(()),
        Value::Array(parts) => {
            let mut parts = parts.iter().enumerate();
            parts.try_for_each(|(index, one)| part(one, false, &format!("{path}[{index}]")))
        }
        Value::Null => Err(missing(path)),
        other => Err(invalid(path, other)),
    }
}

/// Validates reasoning, which is identified by its seal, or by its id if it was stored.
fn reasoning(item: &Value, path: &str, memory: &Memory) -> ValidationResult {
    members(item, path, &["type", "id", "summary", "content", "encrypted_content", "status"])?;
    if !item["summary"].is_array() {
        return Err(missing(&format!("{path}.summary")));
    }
    for (index, part) in list(&item["summary"]).iter().enumerate() {
        members(part, &format!("{path}.summary[{index}]"), &["type", "text"])?;
    }
    identified(item, path, "rs_")?;
    if given(item, "encrypted_content").is_some() {
        return sealed(item, path, memory);
    }
    let id = item["id"].as_str().ok_or_else(|| missing(&format!("{path}.id")))?;
    memory.item(id).map(drop).ok_or_else(|| absent(path, id))
}

fn sealed(item: &Value, path: &str, memory: &Memory) -> ValidationResult {
    if memory.issued(item["encrypted_content"].as_str().unwrap_or_default()) {
        return Ok(());
    }
    let message = "The encrypted content could not be verified. Reason: Encrypted content could not be decrypted or parsed.";
    Err(UpstreamRejection::at(format!("{path}.encrypted_content"), message).code("invalid_encrypted_content"))
}
