//! Validates a chat request as a strict provider does, before any tokens are billed.

use serde_json::Value;

use super::super::model_name::ModelName;
use super::super::openai::{
    EFFORTS, invalid, members, missing, named_schema, one_of, range, texts, unsupported,
};
use super::super::rejection::{UpstreamRejection, ValidationResult, given, list, unknown_member};
use super::{Surface, turns};

const KNOWN_FIELDS: [&str; 37] = [
    "audio",
    "frequency_penalty",
    "function_call",
    "functions",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "metadata",
    "modalities",
    "model",
    "moderation",
    "n",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "reasoning_effort",
    "response_format",
    "safety_identifier",
    "seed",
    "service_tier",
    "stop",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "user",
    "verbosity",
    "web_search_options",
];

/// Extensions of the format by other vendors.
const OTHERS_FIELDS: [&str; 9] = [
    "chat_template_kwargs",
    "enable_thinking",
    "min_p",
    "provider",
    "reasoning",
    "repetition_penalty",
    "thinking",
    "top_k",
    "usage",
];

pub(super) fn validate(request: &Value, name: &ModelName, surface: Surface) -> ValidationResult {
    if !request["model"].is_string() {
        return Err(UpstreamRejection::at("model", "you must provide a model parameter"));
    }
    match request["messages"].as_array() {
        None => return Err(missing("messages")),
        Some(messages) if messages.is_empty() => {
            return Err(UpstreamRejection::at("messages", "Invalid 'messages': empty array."));
        }
        Some(messages) => turns::loosely(messages)?,
    }
    range(request, "temperature", 0.0, 2.0)?;
    if surface == Surface::Ollama {
        ollama(request)?;
    }
    if name.is_strict() {
        fields(request, name)?;
    }
    if name.family.is_some() { strictly(request, name) } else { Ok(()) }
}

fn ollama(request: &Value) -> ValidationResult {
    if given(request, "max_completion_tokens").is_some() {
        return Err(unsupported("max_completion_tokens"));
    }
    let developer = list(&request["messages"]).iter().position(|message| message["role"] == "developer");
    developer.map_or(Ok(()), |index| {
        Err(UpstreamRejection::at(
            format!("messages[{index}].role"),
            "invalid role: developer, expected one of [system user assistant tool]",
        ))
    })
}

fn fields(request: &Value, name: &ModelName) -> ValidationResult {
    let mut known = KNOWN_FIELDS.to_vec();
    if !name.is_openai() {
        known.extend(OTHERS_FIELDS);
    }
    if let Some(unknown) = unknown_member(request, &known) {
        return Err(UpstreamRejection::at(
            unknown,
            format!("Unrecognized request argument supplied: {unknown}"),
        ));
    }
    Ok(())
}

fn strictly(request: &Value, name: &ModelName) -> ValidationResult {
    generation(request, name)?;
    limits(request)?;
    tools(request)?;
    response_format(request)?;
    turns::strictly(list(&request["messages"]), name)
}

/// Checks that depend on the model.
fn generation(request: &Value, name: &ModelName) -> ValidationResult {
    let is_given = |field: &str| given(request, field).is_some();
    if is_given("reasoning_effort") {
        one_of(&request["reasoning_effort"], "reasoning_effort", &EFFORTS)?;
        if name.is_before_reasoning() {
            return Err(unsupported("reasoning_effort"));
        }
    }
    if !name.is_reasoning() {
        return Ok(());
    }
    if is_given("max_tokens") {
        let message = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
        return Err(UpstreamRejection::at("max_tokens", message).code("unsupported_parameter"));
    }
    for (field, default) in
        [("temperature", 1.0), ("top_p", 1.0), ("presence_penalty", 0.0), ("frequency_penalty", 0.0)]
    {
        if given(request, field).is_some_and(|value| value.as_f64() != Some(default)) {
            return Err(unsupported(field));
        }
    }
    for field in ["logprobs", "top_logprobs", "logit_bias"] {
        if given(request, field).is_some_and(|value| *value != false) {
            return Err(unsupported(field));
        }
    }
    Ok(())
}

fn limits(request: &Value) -> ValidationResult {
    range(request, "top_p", 0.0, 1.0)?;
    range(request, "presence_penalty", -2.0, 2.0)?;
    range(request, "frequency_penalty", -2.0, 2.0)?;
    for field in ["max_tokens", "max_completion_tokens", "n"] {
        if given(request, field).is_some_and(|value| value.as_u64().is_none_or(|number| number == 0)) {
            return Err(invalid(field, &request[field]));
        }
    }
    if given(request, "max_tokens").is_some() && given(request, "max_completion_tokens").is_some() {
        let message = "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.";
        return Err(UpstreamRejection::at("max_tokens", message));
    }
    if let Some(stop) = given(request, "stop") {
        let known = texts(stop);
        let all = stop.is_string() || stop.as_array().is_some_and(|stop| stop.len() == known.len());
        if !all || known.is_empty() || known.len() > 4 || known.iter().any(String::is_empty) {
            return Err(invalid("stop", stop));
        }
    }
    if given(request, "stream_options").is_some() {
        members(&request["stream_options"], "stream_options", &["include_usage", "include_obfuscation"])?;
        if request["stream"] != true {
            let message = "The 'stream_options' parameter is only allowed when 'stream' is enabled.";
            return Err(UpstreamRejection::at("stream_options", message));
        }
    }
    Ok(())
}

fn tools(request: &Value) -> ValidationResult {
    let tools = given(request, "tools");
    for field in ["tool_choice", "parallel_tool_calls"] {
        if tools.is_none()
            && given(request, field).is_some_and(|value| field != "tool_choice" || value != "none")
        {
            let message =
                format!("Invalid value for '{field}': '{field}' is only allowed when 'tools' are specified.");
            return Err(UpstreamRejection::at(field, message));
        }
    }
    if tools.is_some_and(|tools| tools.as_array().is_none_or(Vec::is_empty)) {
        return Err(UpstreamRejection::at(
            "tools",
            "Invalid 'tools': empty array. Expected an array with minimum length 1.",
        ));
    }
    for (index, tool) in list(&request["tools"]).iter().enumerate() {
        let path = format!("tools[{index}]");
        one_of(&tool["type"], &format!("{path}.type"), &["function", "custom"])?;
        if tool["type"] == "custom" {
            members(tool, &path, &["type", "custom"])?;
            continue;
        }
        members(tool, &path, &["type", "function"])?;
        let path = format!("{path}.function");
        members(&tool["function"], &path, &["name", "description", "parameters", "strict"])?;
        named_schema(&tool["function"], &path, "parameters", 64)?;
    }
    tool_choice(request)
}

fn tool_choice(request: &Value) -> ValidationResult {
    let choice = &request["tool_choice"];
    match choice {
        Value::Null => Ok(()),
        Value::String(_) => one_of(choice, "tool_choice", &["none", "auto", "required"]),
        _ => {
            members(choice, "tool_choice", &["type", "function", "custom", "allowed_tools"])?;
            one_of(&choice["type"], "tool_choice.type", &["function", "custom", "allowed_tools"])?;
            let name = &choice["function"]["name"];
            let declared = list(&request["tools"]).iter().any(|tool| tool["function"]["name"] == *name);
            if choice["type"] == "function" && !declared {
                return Err(invalid("tool_choice.function.name", name));
            }
            Ok(())
        }
    }
}

fn response_format(request: &Value) -> ValidationResult {
    let Some(format) = given(request, "response_format") else { return Ok(()) };
    members(format, "response_format", &["type", "json_schema"])?;
    one_of(&format["type"], "response_format.type", &["text", "json_object", "json_schema"])?;
    if format["type"] == "json_object" && !request["messages"].to_string().to_lowercase().contains("json") {
        let message = "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.";
        return Err(UpstreamRejection::at("messages", message));
    }
    if format["type"] != "json_schema" {
        return Ok(());
    }
    let path = "response_format.json_schema";
    members(&format["json_schema"], path, &["name", "description", "schema", "strict"])?;
    named_schema(&format["json_schema"], path, "schema", 64)
}
