//! The subset of JSON Schema that Gemini's own schema fields accept.

use serde_json::Value;

use super::super::rejection::{ValidationResult, given, list};
use super::refuse;
use super::validate::{members, one_of};

const KEYWORDS: [&str; 22] = [
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "maxItems",
    "minItems",
    "properties",
    "required",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "pattern",
    "example",
    "anyOf",
    "propertyOrdering",
    "default",
    "items",
    "minimum",
    "maximum",
];

const TYPES: [&str; 7] = ["STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"];

pub(super) fn validate(schema: &Value, path: &str) -> ValidationResult {
    members(schema, path, &KEYWORDS)?;
    let kind = match &schema["type"] {
        Value::Null => String::new(),
        Value::String(kind) => kind.to_uppercase(),
        Value::Array(_) => {
            let message = format!(
                "Invalid JSON payload received. Unknown name \"type\" at '{path}': Proto field is not repeating, cannot start list."
            );
            return Err(refuse(path, message));
        }
        other => return Err(refuse(path, format!("Invalid value at '{path}.type' (TYPE_ENUM), {other}"))),
    };
    if !kind.is_empty() {
        one_of(&Value::from(kind.as_str()), &format!("{path}.type"), &TYPES)?;
    }
    if list(&schema["enum"]).iter().any(|value| !value.is_string()) {
        return Err(refuse(path, format!("Invalid value at '{path}.enum' (TYPE_STRING)")));
    }
    let strange = |format: &Value| format != "enum" && format != "date-time";
    if kind == "STRING" && given(schema, "format").is_some_and(strange) {
        return Err(refuse(
            path,
            format!("{path}.format: only 'enum' and 'date-time' are supported for STRING type"),
        ));
    }
    if kind == "ARRAY" && given(schema, "items").is_none() {
        return Err(refuse(path, format!("* GenerateContentRequest.{path}.items: missing field.")));
    }
    object(schema, &kind, path)?;
    for (index, option) in list(&schema["anyOf"]).iter().enumerate() {
        validate(option, &format!("{path}.any_of[{index}]"))?;
    }
    given(schema, "items").map_or(Ok(()), |items| validate(items, &format!("{path}.items")))
}

fn object(schema: &Value, kind: &str, path: &str) -> ValidationResult {
    let properties = schema["properties"].as_object();
    if kind == "OBJECT" && properties.is_none_or(serde_json::Map::is_empty) {
        let message =
            format!("* GenerateContentRequest.{path}.properties: should be non-empty for OBJECT type");
        return Err(refuse(path, message));
    }
    for (name, property) in properties.into_iter().flatten() {
        validate(property, &format!("{path}.properties[{name}]"))?;
    }
    let undefined = |name: &&Value| {
        properties.is_none_or(|properties| !properties.contains_key(name.as_str().unwrap_or_default()))
    };
    if let Some(name) = list(&schema["required"]).iter().find(undefined) {
        let message = format!("* GenerateContentRequest.{path}.required: property is not defined: {name}");
        return Err(refuse(path, message));
    }
    Ok(())
}
