//! Validates tools, tool choice, and the schemas that must be closed.

use std::collections::HashSet;

use serde_json::Value;

use super::super::rejection::{ValidationResult, given, is_name, list};
use super::refuse;
use super::validate::{cache_control, each, members};

const CUSTOM: [&str; 10] = [
    "type",
    "name",
    "description",
    "input_schema",
    "cache_control",
    "strict",
    "defer_loading",
    "input_examples",
    "allowed_callers",
    "eager_input_streaming",
];

const UNSUPPORTED_KEYWORDS: [&str; 9] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "maxItems",
    "uniqueItems",
];

pub(super) fn validate(request: &Value) -> ValidationResult {
    let mut names = HashSet::new();
    each(&request["tools"], "tools", |tool, path| {
        cache_control(tool, path)?;
        let name = tool["name"].as_str().unwrap_or_default();
        if !names.insert(name.to_owned()) {
            return Err(refuse("tools", "Tool names must be unique."));
        }
        match tool["type"].as_str() {
            None | Some("custom") => custom(tool, path, name),
            // The provider's own tools have a version date in their type.
            Some(kind) if is_dated(kind) => Ok(()),
            Some(kind) => Err(refuse(
                path,
                &format!("Input tag '{kind}' found using 'type' does not match any of the expected tags"),
            )),
        }
    })?;
    tool_choice(request)
}

fn is_dated(kind: &str) -> bool {
    let date = kind.rsplit('_').next().unwrap_or_default();
    date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit())
}

fn custom(tool: &Value, path: &str, name: &str) -> ValidationResult {
    members(tool, &format!("{path}.custom"), &CUSTOM)?;
    if !is_name(name, 128) {
        return Err(refuse(
            &format!("{path}.custom.name"),
            "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
        ));
    }
    if given(tool, "description").is_some_and(|text| !text.is_string()) {
        return Err(refuse(&format!("{path}.custom.description"), "Input should be a valid string"));
    }
    let schema = &tool["input_schema"];
    if !schema.is_object() {
        return Err(refuse(&format!("{path}.custom.input_schema"), "Field required"));
    }
    if schema["type"] != "object" {
        return Err(refuse(&format!("{path}.custom.input_schema.type"), "Input should be 'object'"));
    }
    if tool["strict"] == true { closed(schema, &format!("{path}.custom")) } else { Ok(()) }
}

fn tool_choice(request: &Value) -> ValidationResult {
    let Some(choice) = given(request, "tool_choice") else { return Ok(()) };
    let known: &[&str] = match choice["type"].as_str() {
        Some("auto" | "any") => &["type", "disable_parallel_tool_use"],
        Some("tool") => &["type", "name", "disable_parallel_tool_use"],
        Some("none") => &["type"],
        _ => {
            return Err(refuse(
                "tool_choice",
                "Input tag does not match any of the expected tags: 'auto', 'any', 'tool', 'none'",
            ));
        }
    };
    members(choice, "tool_choice", known)?;
    let tools = list(&request["tools"]);
    if tools.is_empty() && choice["type"] != "none" {
        return Err(refuse("", "tool_choice may only be specified while providing tools."));
    }
    if choice["type"] == "tool" && !tools.iter().any(|tool| tool["name"] == choice["name"]) {
        let name = choice["name"].as_str().unwrap_or_default();
        return Err(refuse("", &format!("Tool '{name}' not found in provided tools")));
    }
    Ok(())
}

/// Checks a strict schema: every object is closed, and numbers and lengths have no limits.
pub(super) fn closed(schema: &Value, path: &str) -> ValidationResult {
    let Some(object) = schema.as_object() else { return Ok(()) };
    let kind = schema["type"].as_str().unwrap_or_default();
    if (kind == "object" || object.contains_key("properties")) && schema["additionalProperties"] != false {
        return Err(refuse(
            path,
            "For 'object' type, 'additionalProperties' must be explicitly set to false",
        ));
    }
    if let Some(keyword) = UNSUPPORTED_KEYWORDS.iter().find(|keyword| object.contains_key(**keyword)) {
        return Err(refuse(path, &format!("For '{kind}' type, property '{keyword}' is not supported")));
    }
    let maps = ["properties", "$defs", "definitions"].iter().filter_map(|member| schema[*member].as_object());
    let inside = maps.flat_map(|map| map.values());
    let lists = ["anyOf", "allOf", "oneOf"].iter().flat_map(|member| list(&schema[*member]));
    inside.chain(lists).chain(schema.get("items")).try_for_each(|schema| closed(schema, path))
}
