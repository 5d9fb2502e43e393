//! Validates thinking in Messages: supported models, and the blocks that are accepted back.

use serde_json::Value;

use super::super::memory::Memory;
use super::super::model_name::Claude;
use super::super::rejection::{ValidationResult, given};
use super::pairing::merged;
use super::refuse;
use super::validate::members;

const LEAST_BUDGET: u64 = 1024;

pub(super) fn validate(
    request: &Value,
    messages: &[Value],
    claude: Claude,
    memory: &Memory,
) -> ValidationResult {
    signatures(messages, memory)?;
    let Some(thinking) = given(request, "thinking") else { return Ok(()) };
    members(thinking, "thinking", &["type", "budget_tokens", "display"])?;
    match thinking["type"].as_str() {
        Some("disabled" | "between_tools") => Ok(()),
        Some("adaptive") if !claude.takes_adaptive() => {
            Err(refuse("", "adaptive thinking is not supported on this model"))
        }
        Some("adaptive") => {
            if given(thinking, "budget_tokens").is_some() {
                return Err(refuse("thinking.adaptive.budget_tokens", "Extra inputs are not permitted"));
            }
            companions(request)
        }
        Some("enabled") => {
            enabled(request, thinking, claude)?;
            companions(request)?;
            leading(messages)
        }
        _ => Err(refuse(
            "thinking",
            "Input tag does not match any of the expected tags: 'adaptive', 'disabled', 'enabled'",
        )),
    }
}

fn enabled(request: &Value, thinking: &Value, claude: Claude) -> ValidationResult {
    if claude.is_adaptive_only() {
        let message = "\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior.";
        return Err(refuse("", message));
    }
    if !claude.thinks() {
        return Err(refuse("thinking", "this model does not support thinking"));
    }
    let Some(budget) = thinking["budget_tokens"].as_u64() else {
        return Err(refuse("thinking.enabled.budget_tokens", "Field required"));
    };
    if budget < LEAST_BUDGET {
        let message = "Input should be greater than or equal to 1024";
        return Err(refuse("thinking.enabled.budget_tokens", message));
    }
    if request["max_tokens"].as_u64().is_some_and(|limit| limit <= budget) {
        return Err(refuse("", "`max_tokens` must be greater than `thinking.budget_tokens`."));
    }
    Ok(())
}

/// Rejects parameters that are incompatible with thinking.
fn companions(request: &Value) -> ValidationResult {
    if given(request, "temperature").is_some_and(|value| value.as_f64() != Some(1.0)) {
        return Err(refuse("", "`temperature` may only be set to 1 when thinking is enabled."));
    }
    if given(request, "top_k").is_some() {
        return Err(refuse("", "`top_k` must be unset when thinking is enabled."));
    }
    if given(request, "top_p").is_some_and(|value| value.as_f64() < Some(0.95)) {
        return Err(refuse(
            "",
            "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.",
        ));
    }
    if matches!(request["tool_choice"]["type"].as_str(), Some("any" | "tool")) {
        return Err(refuse("", "Thinking may not be enabled when tool_choice forces tool use."));
    }
    if request["messages"]
        .as_array()
        .and_then(|messages| messages.last())
        .is_some_and(|last| last["role"] == "assistant")
    {
        return Err(refuse(
            "",
            "When thinking is enabled, the conversation must not end with an assistant message.",
        ));
    }
    Ok(())
}

/// Requires that the turn whose calls are being answered begins with its thinking.
fn leading(messages: &[Value]) -> ValidationResult {
    let turns = merged(messages);
    let [.., (_, calls), (_, results)] = turns.as_slice() else { return Ok(()) };
    let answers = results.iter().any(|block| block["type"] == "tool_result");
    let first = calls.first().and_then(|block| block["type"].as_str()).unwrap_or_default();
    if answers && !["thinking", "redacted_thinking"].contains(&first) {
        let path = format!("messages.{}.content.0.type", turns.len() - 2);
        let message = format!(
            "Expected `thinking` or `redacted_thinking`, but found `{first}`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceding the lastmost set of `tool_use` and `tool_result` blocks)."
        );
        return Err(refuse(&path, &message));
    }
    Ok(())
}

/// Accepts only issued signatures with their original text.
fn signatures(messages: &[Value], memory: &Memory) -> ValidationResult {
    for (index, (_, content)) in merged(messages).iter().enumerate() {
        for (place, block) in content.iter().enumerate() {
            let text = |member: &str| block[member].as_str().unwrap_or_default();
            let (known, member) = match text("type") {
                "thinking" => (memory.matches_seal(text("signature"), text("thinking")), "signature"),
                "redacted_thinking" => (memory.matches_seal(text("data"), ""), "data"),
                _ => continue,
            };
            if !known {
                let message = format!("Invalid `{member}` in `{}` block", text("type"));
                return Err(refuse(&format!("messages.{index}.content.{place}"), &message));
            }
        }
    }
    Ok(())
}
