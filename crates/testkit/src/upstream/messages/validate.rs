//! Validates the top level of a Messages request: fields, limits, features a generation lacks.

use serde_json::Value;

use super::super::memory::Memory;
use super::super::model_name::{Claude, ModelName};
use super::super::rejection::{UpstreamRejection, ValidationResult, given, list, unknown_member};
use super::{blocks, pairing, refuse, thinking, tools};

const FIELDS: [&str; 20] = [
    "model",
    "messages",
    "system",
    "max_tokens",
    "metadata",
    "stop_sequences",
    "stream",
    "temperature",
    "top_p",
    "top_k",
    "tools",
    "tool_choice",
    "thinking",
    "output_config",
    "service_tier",
    "container",
    "cache_control",
    "inference_geo",
    "diagnostics",
    "speed",
];

/// Fields that require an `anthropic-beta` header.
const BETA_FIELDS: [&str; 3] = ["context_management", "mcp_servers", "output_format"];

const COUNTED_FIELDS: [&str; 9] = [
    "model",
    "messages",
    "system",
    "tools",
    "tool_choice",
    "thinking",
    "output_config",
    "cache_control",
    "speed",
];

const EFFORTS: [&str; 5] = ["low", "medium", "high", "xhigh", "max"];
const MOST_MARKS: usize = 4;

pub(super) fn members(value: &Value, path: &str, known: &[&str]) -> ValidationResult {
    if !value.is_object() {
        return Err(refuse(path, "Input should be a valid dictionary or object"));
    }
    match unknown_member(value, known) {
        None => Ok(()),
        Some(member) if path.is_empty() => Err(refuse(member, "Extra inputs are not permitted")),
        Some(member) => Err(refuse(&format!("{path}.{member}"), "Extra inputs are not permitted")),
    }
}

pub(super) fn validate(request: &Value, name: &ModelName, beta: bool, memory: &Memory) -> ValidationResult {
    let mut known = FIELDS.to_vec();
    if beta {
        known.extend(BETA_FIELDS);
    }
    members(request, "", &known)?;
    let claude = name.claude();
    let most = claude.most_output();
    match request.get("max_tokens") {
        None => return Err(refuse("max_tokens", "Field required")),
        Some(limit) => match limit.as_u64() {
            None | Some(0) => return Err(refuse("max_tokens", "Input should be greater than or equal to 1")),
            Some(limit) if limit > most => {
                let message = format!(
                    "{limit} > {most}, which is the maximum allowed number of output tokens for {}",
                    name.whole
                );
                return Err(refuse("max_tokens", &message));
            }
            Some(_) => {}
        },
    }
    sampling(request, claude)?;
    stop_sequences(request)?;
    if let Some(metadata) = given(request, "metadata") {
        members(metadata, "metadata", &["user_id"])?;
    }
    if let Some(tier) = given(request, "service_tier")
        && tier != "auto"
        && tier != "standard_only"
    {
        return Err(refuse("service_tier", "Input should be 'auto' or 'standard_only'"));
    }
    substance(request, name, memory)
}

pub(super) fn count_tokens(
    request: &Value,
    name: &ModelName,
    beta: bool,
    memory: &Memory,
) -> ValidationResult {
    let mut known = COUNTED_FIELDS.to_vec();
    if beta {
        known.extend(BETA_FIELDS);
    }
    members(request, "", &known)?;
    substance(request, name, memory)
}

/// Checks shared by token counting and message creation.
fn substance(request: &Value, name: &ModelName, memory: &Memory) -> ValidationResult {
    if name.whole.is_empty() {
        return Err(refuse("model", "Field required"));
    }
    let claude = name.claude();
    let messages = request["messages"].as_array().ok_or_else(|| refuse("messages", "Field required"))?;
    blocks::system(&request["system"])?;
    tools::validate(request)?;
    roles(messages, claude)?;
    blocks::validate(messages)?;
    pairing::validate(messages)?;
    thinking::validate(request, messages, claude, memory)?;
    output_config(request, claude)?;
    let marks = marks(request);
    if marks > MOST_MARKS {
        let message = format!("A maximum of 4 blocks with cache_control may be provided. Found {marks}.");
        return Err(refuse("", &message));
    }
    Ok(())
}

fn sampling(request: &Value, claude: Claude) -> ValidationResult {
    let is_given = |field: &str| given(request, field).is_some();
    for field in ["temperature", "top_p", "top_k"] {
        if claude.is_adaptive_only() && is_given(field) {
            return Err(refuse("", &format!("`{field}` is deprecated for this model.")));
        }
    }
    for (field, most) in [("temperature", 1.0), ("top_p", 1.0), ("top_k", f64::MAX)] {
        let outside = |value: &Value| value.as_f64().is_none_or(|number| !(0.0..=most).contains(&number));
        if given(request, field).is_some_and(outside) {
            return Err(refuse(field, &format!("range: 0..{most}")));
        }
    }
    if is_given("temperature") && is_given("top_p") && !claude.takes_temperature_with_top_p() {
        let message =
            "`temperature` and `top_p` cannot both be specified for this model. Please use only one.";
        return Err(refuse("", message));
    }
    Ok(())
}

fn stop_sequences(request: &Value) -> ValidationResult {
    let Some(sequences) = given(request, "stop_sequences") else { return Ok(()) };
    let Some(sequences) = sequences.as_array() else {
        return Err(refuse("stop_sequences", "Input should be a valid list"));
    };
    if sequences.iter().any(|sequence| sequence.as_str().is_none_or(|text| text.trim().is_empty())) {
        return Err(refuse("stop_sequences", "each stop sequence must contain non-whitespace"));
    }
    Ok(())
}

fn roles(messages: &[Value], claude: Claude) -> ValidationResult {
    if messages.is_empty() {
        return Err(refuse("messages", "at least one message is required"));
    }
    for (index, message) in messages.iter().enumerate() {
        members(message, &format!("messages.{index}"), &["role", "content"])?;
        match message["role"].as_str() {
            Some("user" | "assistant") => {}
            Some("system") if claude.takes_system_turns() => {}
            Some("system") => {
                let message = "Unexpected role \"system\". The Messages API accepts a top-level `system` parameter, not \"system\" as an input message role.";
                return Err(refuse("messages", message));
            }
            other => {
                let message = format!(
                    "Unexpected role \"{}\". Allowed roles are \"user\" or \"assistant\".",
                    other.unwrap_or_default()
                );
                return Err(refuse("messages", &message));
            }
        }
    }
    if messages[0]["role"] != "user" {
        return Err(refuse("messages", "first message must use the \"user\" role"));
    }
    let prefilled = messages.last().is_some_and(|last| last["role"] == "assistant");
    if prefilled && !claude.takes_prefill() {
        let message = "This model does not support assistant message prefill. The conversation must end with a user message.";
        return Err(refuse("", message));
    }
    Ok(())
}

fn output_config(request: &Value, claude: Claude) -> ValidationResult {
    let Some(config) = given(request, "output_config") else { return Ok(()) };
    members(config, "output_config", &["effort", "format", "task_budget"])?;
    if let Some(effort) = given(config, "effort") {
        if !claude.takes_effort() {
            return Err(refuse("", "This model does not support the effort parameter."));
        }
        if !EFFORTS.iter().any(|known| effort == known) {
            return Err(refuse(
                "output_config.effort",
                "Input should be 'low', 'medium', 'high', 'xhigh' or 'max'",
            ));
        }
    }
    let Some(format) = given(config, "format") else { return Ok(()) };
    if !claude.takes_schema() {
        return Err(refuse("output_config.format", "this model does not support structured outputs."));
    }
    members(format, "output_config.format", &["type", "schema"])?;
    if format["type"] != "json_schema" || !format["schema"].is_object() {
        return Err(refuse("output_config.format", "Input should be a json_schema with its schema"));
    }
    tools::closed(&format["schema"], "output_config.format.schema")
}

/// Counts cache breakpoints, ignoring members of that name in schemas and arguments.
fn marks(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(marks).sum(),
        Value::Object(members) => {
            let inside = members
                .iter()
                .filter(|(name, _)| !["input", "input_schema", "schema"].contains(&name.as_str()));
            let own = usize::from(given(value, "cache_control").is_some());
            own + inside.map(|(_, member)| marks(member)).sum::<usize>()
        }
        _ => 0,
    }
}

pub(super) fn cache_control(value: &Value, path: &str) -> ValidationResult {
    let Some(mark) = given(value, "cache_control") else { return Ok(()) };
    let path = format!("{path}.cache_control");
    members(mark, &path, &["type", "ttl", "scope"])?;
    let ttl = given(mark, "ttl").is_none_or(|ttl| ttl == "5m" || ttl == "1h");
    if mark["type"] != "ephemeral" || !ttl {
        return Err(UpstreamRejection::at(
            path.clone(),
            format!("{path}: Input should be 'ephemeral' for '5m' or '1h'"),
        ));
    }
    Ok(())
}

pub(super) fn each(
    value: &Value,
    path: &str,
    mut check: impl FnMut(&Value, &str) -> ValidationResult,
) -> ValidationResult {
    list(value).iter().enumerate().try_for_each(|(index, item)| check(item, &format!("{path}.{index}")))
}
