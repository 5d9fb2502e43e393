//! Validates the top level of a Responses API request.

use serde_json::Value;

use super::super::model_name::ModelName;
use super::super::openai::{
    EFFORTS, invalid, members, missing, named_schema, one_of, range, unknown, unsupported,
};
use super::super::rejection::{UpstreamRejection, ValidationResult, given, list, unknown_member};

const FIELDS: [&str; 34] = [
    "access_programs",
    "background",
    "client_metadata",
    "context_management",
    "conversation",
    "image",
    "include",
    "input",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "model",
    "moderation",
    "parallel_tool_calls",
    "previous_response_id",
    "prompt",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "reasoning",
    "safety_identifier",
    "service_tier",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "truncation",
    "user",
];

const INCLUDES: [&str; 8] = [
    "code_interpreter_call.outputs",
    "computer_call_output.output.image_url",
    "file_search_call.results",
    "message.input_image.image_url",
    "message.output_text.logprobs",
    "reasoning.encrypted_content",
    "web_search_call.action.sources",
    "web_search_call.results",
];

const TOOLS: [&str; 18] = [
    "apply_patch",
    "code_interpreter",
    "computer",
    "computer_use_preview",
    "custom",
    "file_search",
    "function",
    "image_generation",
    "local_shell",
    "mcp",
    "namespace",
    "shell",
    "tool_search",
    "web_search",
    "web_search_2025_08_26",
    "web_search_preview",
    "web_search_preview_2025_03_11",
    "programmatic_tool_calling",
];

pub(super) fn validate(request: &Value, name: &ModelName) -> ValidationResult {
    if let Some(field) = unknown_member(request, &FIELDS) {
        return Err(unknown(field));
    }
    if name.whole.is_empty() {
        return Err(missing("model"));
    }
    let nothing = given(request, "input").is_none();
    if nothing
        && ["prompt", "previous_response_id", "conversation"]
            .iter()
            .all(|field| given(request, field).is_none())
    {
        return Err(missing("input"));
    }
    if !nothing && !request["input"].is_string() && !request["input"].is_array() {
        return Err(invalid("input", &request["input"]));
    }
    limits(request)?;
    generation(request, name)?;
    for (index, include) in list(&request["include"]).iter().enumerate() {
        one_of(include, &format!("include[{index}]"), &INCLUDES)?;
    }
    text(request)?;
    tools(&request["tools"], "tools")?;
    tool_choice(request)
}

fn limits(request: &Value) -> ValidationResult {
    range(request, "temperature", 0.0, 2.0)?;
    range(request, "top_p", 0.0, 1.0)?;
    if given(request, "max_output_tokens").is_some_and(|limit| limit.as_u64().is_none_or(|limit| limit < 16))
    {
        let message = format!(
            "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got {} instead.",
            request["max_output_tokens"]
        );
        return Err(UpstreamRejection::at("max_output_tokens", message).code("integer_below_min_value"));
    }
    if let Some(truncation) = given(request, "truncation") {
        one_of(truncation, "truncation", &["auto", "disabled"])?;
    }
    if given(request, "stream_options").is_some() {
        members(&request["stream_options"], "stream_options", &["include_obfuscation"])?;
    }
    if given(request, "conversation").is_some() {
        if given(request, "previous_response_id").is_some() {
            return Err(invalid("conversation", &request["conversation"]));
        }
        return Err(UpstreamRejection {
            status: 404,
            ..UpstreamRejection::at("conversation", "Conversation not found.")
        });
    }
    Ok(())
}

fn generation(request: &Value, name: &ModelName) -> ValidationResult {
    if let Some(reasoning) = given(request, "reasoning") {
        members(reasoning, "reasoning", &["effort", "summary", "generate_summary", "context", "mode"])?;
        if let Some(effort) = given(reasoning, "effort") {
            one_of(effort, "reasoning.effort", &EFFORTS)?;
            if name.is_before_reasoning() {
                return Err(unsupported("reasoning.effort"));
            }
        }
        if let Some(summary) = given(reasoning, "summary") {
            one_of(summary, "reasoning.summary", &["auto", "concise", "detailed"])?;
            if name.is_before_reasoning() {
                return Err(unsupported("reasoning.summary"));
            }
        }
    }
    for field in ["temperature", "top_p"] {
        if name.is_reasoning() && given(request, field).is_some_and(|value| value.as_f64() != Some(1.0)) {
            return Err(unsupported(field));
        }
    }
    Ok(())
}

fn text(request: &Value) -> ValidationResult {
    let Some(text) = given(request, "text") else { return Ok(()) };
    members(text, "text", &["format", "verbosity"])?;
    if let Some(verbosity) = given(text, "verbosity") {
        one_of(verbosity, "text.verbosity", &["low", "medium", "high"])?;
    }
    let Some(format) = given(text, "format") else { return Ok(()) };
    let path = "text.format";
    one_of(&format["type"], "text.format.type", &["text", "json_object", "json_schema"])?;
    if format["type"] != "json_schema" {
        return members(format, path, &["type"]);
    }
    members(format, path, &["type", "name", "description", "schema", "strict"])?;
    if !format["schema"].is_object() {
        return Err(missing("text.format.schema"));
    }
    named_schema(format, path, "schema", 64)
}

fn tools(tools: &Value, path: &str) -> ValidationResult {
    for (index, tool) in list(tools).iter().enumerate() {
        let path = format!("{path}[{index}]");
        one_of(&tool["type"], &format!("{path}.type"), &TOOLS)?;
        match tool["type"].as_str() {
            Some("function") => {
                let known = [
                    "type",
                    "name",
                    "description",
                    "parameters",
                    "strict",
                    "defer_loading",
                    "output_schema",
                    "allowed_callers",
                ];
                members(tool, &path, &known)?;
                named_schema(tool, &path, "parameters", 128)?;
            }
            Some("custom") => {
                members(
                    tool,
                    &path,
                    &["type", "name", "description", "format", "defer_loading", "allowed_callers"],
                )?;
                named_schema(tool, &path, "schema", 128)?;
            }
            Some("namespace") => {
                members(tool, &path, &["type", "name", "description", "tools"])?;
                self::tools(&tool["tools"], &format!("{path}.tools"))?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn tool_choice(request: &Value) -> ValidationResult {
    let Some(choice) = given(request, "tool_choice") else { return Ok(()) };
    if choice.is_string() {
        return one_of(choice, "tool_choice", &["none", "auto", "required"]);
    }
    let kinds = [TOOLS.as_slice(), &["allowed_tools"]].concat();
    one_of(&choice["type"], "tool_choice.type", &kinds)?;
    members(choice, "tool_choice", &["type", "name", "mode", "tools", "server_label"])?;
    let declared = list(&request["tools"]).iter().any(|tool| tool["name"] == choice["name"]);
    if ["function", "custom"].iter().any(|kind| choice["type"] == *kind) && !declared {
        let name = choice["name"].as_str().unwrap_or_default();
        return Err(UpstreamRejection::at(
            "tool_choice",
            format!("Tool choice '{name}' not found in 'tools' parameter."),
        ));
    }
    Ok(())
}
