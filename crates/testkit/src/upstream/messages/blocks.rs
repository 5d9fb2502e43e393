//! Validates the content blocks of Messages: allowed roles, members, images.

use serde_json::Value;

use super::super::rejection::{ValidationResult, decode, given};
use super::refuse;
use super::validate::{cache_control, each, members};

const LARGEST_IMAGE: usize = 5 * 1024 * 1024;
const IMAGES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

pub(super) fn system(system: &Value) -> ValidationResult {
    match system {
        Value::Null | Value::String(_) => Ok(()),
        Value::Array(_) => each(system, "system", |block, path| {
            if block["type"] != "text" {
                return Err(refuse(&format!("{path}.type"), "Input should be 'text'"));
            }
            text(block, path)
        }),
        _ => Err(refuse("system", "Input should be a valid string or list")),
    }
}

pub(super) fn validate(messages: &[Value]) -> ValidationResult {
    let last = messages.len().saturating_sub(1);
    for (index, message) in messages.iter().enumerate() {
        let path = format!("messages.{index}");
        let role = message["role"].as_str().unwrap_or_default();
        let is_prefill = index == last && role == "assistant";
        match &message["content"] {
            Value::String(content) if content.is_empty() && !is_prefill => {
                return Err(refuse(&path, &format!("{role} messages must have non-empty content")));
            }
            Value::String(content) if is_prefill => prefill(content)?,
            Value::String(_) => {}
            Value::Array(blocks) if blocks.is_empty() && !is_prefill => {
                return Err(refuse(&path, &format!("{role} messages must have non-empty content")));
            }
            Value::Array(blocks) => {
                each(&message["content"], &format!("{path}.content"), |one, path| block(one, role, path))?;
                if let Some(text) =
                    blocks.last().filter(|_| is_prefill).and_then(|block| block["text"].as_str())
                {
                    prefill(text)?;
                }
            }
            _ => return Err(refuse(&format!("{path}.content"), "Input should be a valid string or list")),
        }
    }
    Ok(())
}

fn prefill(text: &str) -> ValidationResult {
    if text.ends_with(char::is_whitespace) {
        return Err(refuse("messages", "final assistant content cannot end with trailing whitespace"));
    }
    Ok(())
}

fn block(block: &Value, role: &str, path: &str) -> ValidationResult {
    let kind = block["type"].as_str().unwrap_or_default();
    cache_control(block, path)?;
    match (role, kind) {
        (_, "text") => text(block, path),
        ("user", "image") => image(block, path),
        ("user", "document") => document(block, path),
        ("user", "tool_result") => tool_result(block, path),
        ("user", "search_result") => {
            members(block, path, &["type", "source", "title", "content", "citations", "cache_control"])
        }
        ("user", "container_upload") => members(block, path, &["type", "file_id", "cache_control"]),
        ("assistant", "thinking") => members(block, path, &["type", "thinking", "signature"]),
        ("assistant", "redacted_thinking") => members(block, path, &["type", "data"]),
        ("assistant", "tool_use") => {
            members(block, path, &["type", "id", "name", "input", "cache_control", "caller"])?;
            if !block["input"].is_object() {
                return Err(refuse(&format!("{path}.tool_use.input"), "Input should be a valid dictionary"));
            }
            Ok(())
        }
        ("assistant", "server_tool_use") => {
            members(block, path, &["type", "id", "name", "input", "cache_control", "caller"])
        }
        ("assistant", kind) if kind.ends_with("_tool_result") => Ok(()),
        _ => Err(refuse(
            path,
            &format!("Input tag '{kind}' found using 'type' does not match any of the expected tags"),
        )),
    }
}

fn text(block: &Value, path: &str) -> ValidationResult {
    members(block, path, &["type", "text", "cache_control", "citations"])?;
    cache_control(block, path)?;
    match block["text"].as_str() {
        None => Err(refuse(&format!("{path}.text"), "Field required")),
        Some("") => Err(refuse("messages", "text content blocks must be non-empty")),
        Some(text) if text.trim().is_empty() => {
            Err(refuse("messages", "text content blocks must contain non-whitespace text"))
        }
        Some(_) => Ok(()),
    }
}

fn image(block: &Value, path: &str) -> ValidationResult {
    members(block, path, &["type", "source", "cache_control"])?;
    let (source, path) = (&block["source"], format!("{path}.source"));
    match source["type"].as_str() {
        Some("base64") => {
            members(source, &path, &["type", "media_type", "data"])?;
            if !IMAGES.iter().any(|known| source["media_type"] == *known) {
                return Err(refuse(
                    &format!("{path}.base64.media_type"),
                    "Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
                ));
            }
            let data = source["data"].as_str().unwrap_or_default();
            if data.len() > LARGEST_IMAGE {
                let message =
                    format!("image exceeds 5 MB maximum: {} bytes > {LARGEST_IMAGE} bytes", data.len());
                return Err(refuse(&format!("{path}.base64"), &message));
            }
            base64(data, &path)
        }
        Some("url") => members(source, &path, &["type", "url"]),
        Some("file") => members(source, &path, &["type", "file_id"]),
        _ => Err(refuse(&path, "Input tag does not match any of the expected tags: 'base64', 'url', 'file'")),
    }
}

fn document(block: &Value, path: &str) -> ValidationResult {
    members(block, path, &["type", "source", "title", "context", "citations", "cache_control"])?;
    let (source, path) = (&block["source"], format!("{path}.source"));
    match source["type"].as_str() {
        Some("base64") => {
            members(source, &path, &["type", "media_type", "data"])?;
            if source["media_type"] != "application/pdf" {
                return Err(refuse(
                    &format!("{path}.base64.media_type"),
                    "Input should be 'application/pdf'",
                ));
            }
            base64(source["data"].as_str().unwrap_or_default(), &path)
        }
        Some("text") => members(source, &path, &["type", "media_type", "data"]),
        Some("content") => members(source, &path, &["type", "content"]),
        Some("url") => members(source, &path, &["type", "url"]),
        Some("file") => members(source, &path, &["type", "file_id"]),
        _ => Err(refuse(&path, "Input tag does not match any of the expected tags")),
    }
}

fn base64(data: &str, path: &str) -> ValidationResult {
    if data.is_empty() || decode(data).is_none() {
        return Err(refuse(&format!("{path}.base64.data"), "Invalid base64 data"));
    }
    Ok(())
}

fn tool_result(block: &Value, path: &str) -> ValidationResult {
    members(block, path, &["type", "tool_use_id", "content", "is_error", "cache_control"])?;
    match given(block, "content") {
        None | Some(Value::String(_)) => Ok(()),
        Some(content @ Value::Array(_)) => each(content, &format!("{path}.content"), |part, path| {
            cache_control(part, path)?;
            match part["type"].as_str() {
                Some("text") => text(part, path),
                Some("image") => image(part, path),
                Some("document") => document(part, path),
                Some("search_result" | "tool_reference") => Ok(()),
                _ => Err(refuse(path, "Input tag does not match any of the expected tags")),
            }
        }),
        Some(_) => Err(refuse(&format!("{path}.content"), "Input should be a valid string or list")),
    }
}
