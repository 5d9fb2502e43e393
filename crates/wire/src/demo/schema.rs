//! Generates a sample value that fits a JSON Schema, deterministically.

use serde_json::{Map, Value, json};

/// Maximum depth, which bounds recursive schemas.
const DEPTH: usize = 12;

pub(super) fn sample(schema: &Value) -> Value {
    match value(schema, schema, 0) {
        Value::Null => json!({}),
        value => value,
    }
}

fn value(root: &Value, schema: &Value, depth: usize) -> Value {
    if depth > DEPTH {
        return Value::Null;
    }
    if let Some(pointer) = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#')) {
        return value(root, root.pointer(pointer).unwrap_or(&Value::Null), depth + 1);
    }
    if let Some(given) = [&schema["const"], &schema["default"], &schema["enum"][0], &schema["examples"][0]]
        .into_iter()
        .find(|given| !given.is_null())
    {
        return given.clone();
    }
    if let Some(branch) = ["anyOf", "oneOf", "allOf"].iter().find_map(|name| schema[name].get(0)) {
        return value(root, branch, depth + 1);
    }
    let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str());
    match kind.unwrap_or(if schema["properties"].is_object() { "object" } else { "" }) {
        "object" => object(root, schema, depth),
        "array" => {
            let length = schema["minItems"].as_u64().unwrap_or(1).clamp(1, 8);
            (0..length).map(|_| value(root, &schema["items"], depth + 1)).collect()
        }
        "string" => json!(string(schema)),
        "integer" => json!(schema["minimum"].as_i64().unwrap_or(1)),
        "number" => json!(schema["minimum"].as_f64().unwrap_or(1.5)),
        "boolean" => json!(true),
        _ => Value::Null,
    }
}

fn object(root: &Value, schema: &Value, depth: usize) -> Value {
    let Some(properties) = schema["properties"].as_object() else { return json!({}) };
    let required = schema["required"].as_array();
    let wanted = |name: &str| required.is_none_or(|list| list.iter().any(|entry| entry == name));
    let members = properties.iter().filter(|(name, _)| wanted(name));
    Value::Object(
        members.map(|(name, inner)| (name.clone(), value(root, inner, depth + 1))).collect::<Map<_, _>>(),
    )
}

fn string(schema: &Value) -> String {
    let text = match schema["format"].as_str() {
        Some("date") => "2024-01-01",
        Some("time") => "12:00:00Z",
        Some("date-time") => "2024-01-01T12:00:00Z",
        Some("email") => "demo@example.com",
        Some("uri") => "https://example.com",
        Some("uuid") => "00000000-0000-4000-8000-000000000000",
        _ => "demo",
    };
    let shortest = schema["minLength"].as_u64().unwrap_or(0).min(1_000) as usize;
    format!("{text:x<shortest$}")
}
