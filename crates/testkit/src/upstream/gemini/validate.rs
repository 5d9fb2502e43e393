//! Validates a Gemini request: fields, enums, limits, tools, features a generation lacks.

use std::collections::HashSet;

use serde_json::Value;

use super::super::memory::Memory;
use super::super::model_name::ModelName;
use super::super::rejection::{ValidationResult, given, list, unknown_member};
use super::{declarations, refuse, schema, turns};

const FIELDS: [&str; 11] = [
    "contents",
    "systemInstruction",
    "tools",
    "toolConfig",
    "safetySettings",
    "generationConfig",
    "cachedContent",
    "labels",
    "store",
    "serviceTier",
    "model",
];

const CONFIG: [&str; 27] = [
    "stopSequences",
    "responseMimeType",
    "responseModalities",
    "thinkingConfig",
    "temperature",
    "topP",
    "topK",
    "candidateCount",
    "maxOutputTokens",
    "responseLogprobs",
    "logprobs",
    "presencePenalty",
    "frequencyPenalty",
    "seed",
    "responseSchema",
    "responseJsonSchema",
    "speechConfig",
    "imageConfig",
    "mediaResolution",
    "enableEnhancedCivicAnswers",
    "routingConfig",
    "audioTimestamp",
    "audioTranscriptionConfig",
    "enableAffectiveDialog",
    "modelSelectionConfig",
    "responseFormat",
    "translationConfig",
];

const TOOLS: [&str; 9] = [
    "functionDeclarations",
    "googleSearch",
    "googleSearchRetrieval",
    "codeExecution",
    "urlContext",
    "computerUse",
    "fileSearch",
    "googleMaps",
    "mcpServers",
];

const CATEGORIES: [&str; 5] = [
    "HARM_CATEGORY_HARASSMENT",
    "HARM_CATEGORY_HATE_SPEECH",
    "HARM_CATEGORY_SEXUALLY_EXPLICIT",
    "HARM_CATEGORY_DANGEROUS_CONTENT",
    "HARM_CATEGORY_CIVIC_INTEGRITY",
];

const THRESHOLDS: [&str; 6] = [
    "HARM_BLOCK_THRESHOLD_UNSPECIFIED",
    "BLOCK_LOW_AND_ABOVE",
    "BLOCK_MEDIUM_AND_ABOVE",
    "BLOCK_ONLY_HIGH",
    "BLOCK_NONE",
    "OFF",
];

pub(super) fn members(value: &Value, path: &str, known: &[&str]) -> ValidationResult {
    if !value.is_object() {
        return Err(refuse(path, format!("Invalid value at '{path}' (type.googleapis.com), {value}")));
    }
    let Some(member) = unknown_member(value, known) else { return Ok(()) };
    let place = if path.is_empty() { String::new() } else { format!(" at '{path}'") };
    let message =
        format!("Invalid JSON payload received. Unknown name \"{member}\"{place}: Cannot find field.");
    Err(refuse(&format!("{path}.{member}"), message))
}

pub(super) fn one_of(value: &Value, path: &str, known: &[&str]) -> ValidationResult {
    if value.as_str().is_some_and(|text| known.contains(&text)) {
        return Ok(());
    }
    Err(refuse(path, format!("Invalid value at '{path}' (TYPE_ENUM), {value}")))
}

pub(super) fn validate(request: &Value, name: &ModelName, memory: &Memory) -> ValidationResult {
    members(request, "", &FIELDS)?;
    if let Some(instruction) = given(request, "systemInstruction") {
        members(instruction, "system_instruction", &["role", "parts"])?;
        let textual = |part: &Value| part["text"].is_string();
        if list(&instruction["parts"]).is_empty() || !list(&instruction["parts"]).iter().all(textual) {
            return Err(refuse("system_instruction", "system_instruction must have text parts."));
        }
    }
    if let Some(config) = given(request, "generationConfig") {
        generation_config(config, name)?;
    }
    for (index, setting) in list(&request["safetySettings"]).iter().enumerate() {
        let path = format!("safety_settings[{index}]");
        members(setting, &path, &["category", "threshold", "method"])?;
        one_of(&setting["category"], &format!("{path}.category"), &CATEGORIES)?;
        one_of(&setting["threshold"], &format!("{path}.threshold"), &THRESHOLDS)?;
    }
    tools(request)?;
    turns::validate(request, name, memory)
}

fn generation_config(config: &Value, name: &ModelName) -> ValidationResult {
    let path = "generation_config";
    members(config, path, &CONFIG)?;
    for (field, least, most) in [("temperature", 0.0, 2.0), ("topP", 0.0, 1.0), ("candidateCount", 1.0, 8.0)]
    {
        let outside = |value: &Value| value.as_f64().is_none_or(|number| !(least..=most).contains(&number));
        if given(config, field).is_some_and(outside) {
            let message =
                format!("* GenerateContentRequest.{path}.{field}: must be in the range [{least}, {most}].");
            return Err(refuse(&format!("{path}.{field}"), message));
        }
    }
    if given(config, "maxOutputTokens").is_some_and(|limit| limit.as_u64().is_none_or(|limit| limit == 0)) {
        return Err(refuse(path, "max_output_tokens must be positive."));
    }
    if list(&config["stopSequences"]).len() > 5 {
        let message = "* GenerateContentRequest.generation_config.stop_sequences: at most 5 stop sequences.";
        return Err(refuse(path, message));
    }
    if let Some(mime) = given(config, "responseMimeType") {
        let path = format!("{path}.response_mime_type");
        one_of(mime, &path, &["text/plain", "application/json", "text/x.enum"])?;
    }
    let schemas = ["responseSchema", "responseJsonSchema"].map(|field| given(config, field));
    match schemas {
        [None, None] => {}
        [Some(_), Some(_)] => {
            return Err(refuse(path, "response_schema and response_json_schema are exclusive."));
        }
        _ if config["responseMimeType"] == "text/plain" || given(config, "responseMimeType").is_none() => {
            let message = "A response schema requires response_mime_type 'application/json'.";
            return Err(refuse(path, message));
        }
        [Some(plain), None] => schema::validate(plain, "generation_config.response_schema")?,
        [None, Some(_)] => {}
    }
    given(config, "thinkingConfig").map_or(Ok(()), |thinking| thinking_config(thinking, name))
}

fn thinking_config(config: &Value, name: &ModelName) -> ValidationResult {
    let path = "generation_config.thinking_config";
    members(config, path, &["includeThoughts", "thinkingBudget", "thinkingLevel"])?;
    let (level, budget) = (given(config, "thinkingLevel"), given(config, "thinkingBudget"));
    if let Some(level) = level {
        one_of(
            &Value::from(level.as_str().unwrap_or_default().to_uppercase()),
            path,
            &["MINIMAL", "LOW", "MEDIUM", "HIGH"],
        )?;
        if name.is_gemini_2() {
            return Err(refuse(path, "Thinking level is not supported for this model."));
        }
        if budget.is_some() {
            return Err(refuse(path, "You can only set only one of thinking budget and thinking level."));
        }
    }
    if budget.is_some() && name.is_gemini_3() {
        return Err(refuse(path, "Thinking budget is not supported for this model."));
    }
    if budget.is_some_and(|budget| budget.as_i64().is_none_or(|budget| !(-1..=32_768).contains(&budget))) {
        return Err(refuse(
            path,
            "The thinking budget is out of range. Please use a value between -1 and 32768.",
        ));
    }
    Ok(())
}

fn tools(request: &Value) -> ValidationResult {
    for (index, tool) in list(&request["tools"]).iter().enumerate() {
        members(tool, &format!("tools[{index}]"), &TOOLS)?;
        for (place, declaration) in list(&tool["functionDeclarations"]).iter().enumerate() {
            declared(declaration, &format!("tools[{index}].function_declarations[{place}]"))?;
        }
    }
    let mut names = HashSet::new();
    for declaration in declarations(request) {
        let name = declaration["name"].as_str().unwrap_or_default();
        if !names.insert(name) {
            return Err(refuse("tools", format!("Duplicate function declaration found: {name}")));
        }
    }
    let Some(config) = given(request, "toolConfig") else { return Ok(()) };
    members(
        config,
        "tool_config",
        &["functionCallingConfig", "retrievalConfig", "includeServerSideToolInvocations"],
    )?;
    let Some(calling) = given(config, "functionCallingConfig") else { return Ok(()) };
    let path = "tool_config.function_calling_config";
    members(calling, path, &["mode", "allowedFunctionNames", "streamFunctionCallArguments"])?;
    one_of(&calling["mode"], &format!("{path}.mode"), &["AUTO", "ANY", "NONE", "VALIDATED"])?;
    let allowed = list(&calling["allowedFunctionNames"]);
    if !allowed.is_empty() && !["ANY", "VALIDATED"].iter().any(|mode| calling["mode"] == *mode) {
        return Err(refuse(
            path,
            "Allowed function names may only be set when the mode is ANY or VALIDATED.",
        ));
    }
    if allowed.iter().any(|name| !names.contains(name.as_str().unwrap_or_default())) {
        return Err(refuse(path, "Allowed function names must be declared."));
    }
    Ok(())
}

fn declared(declaration: &Value, path: &str) -> ValidationResult {
    const MEMBERS: [&str; 7] = [
        "name",
        "description",
        "parameters",
        "parametersJsonSchema",
        "response",
        "responseJsonSchema",
        "behavior",
    ];
    members(declaration, path, &MEMBERS)?;
    let name = declaration["name"].as_str().unwrap_or_default();
    let mut letters = name.chars();
    let first = letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_');
    if !first
        || name.len() > 64
        || !letters.all(|letter| letter.is_ascii_alphanumeric() || "_.:-".contains(letter))
    {
        let message = format!(
            "* GenerateContentRequest.{path}.name: [Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.]"
        );
        return Err(refuse(&format!("{path}.name"), message));
    }
    match (given(declaration, "parameters"), given(declaration, "parametersJsonSchema")) {
        (Some(_), Some(_)) => Err(refuse(path, "parameters and parameters_json_schema are exclusive.")),
        (Some(parameters), None) => schema::validate(parameters, &format!("{path}.parameters")),
        (None, Some(schema)) if !schema.is_object() => {
            Err(refuse(path, "parameters_json_schema must be an object."))
        }
        _ => Ok(()),
    }
}
