//! The smallest value that satisfies a JSON schema.

use serde_json::{Map, Value, json};

use super::rejection::list;

const DEEPEST: usize = 8;

pub(super) fn sample(schema: &Value) -> Value {
    value(schema, schema, 0)
}

fn value(schema: &Value, root: &Value, depth: usize) -> Value {
    if depth > DEEPEST {
        return Value::Null;
    }
    if let Some(constant) = schema.get("const") {
        return constant.clone();
    }
    if let Some(first) = list(&schema["enum"]).first() {
        return first.clone();
    }
    if let Some(target) = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#')) {
        return root.pointer(target).map_or(Value::Null, |target| value(target, root, depth + 1));
    }
    for union in ["anyOf", "oneOf"] {
        let first = list(&schema[union]).iter().find(|option| option["type"] != "null");
        if let Some(option) = first {
            return value(option, root, depth + 1);
        }
    }
    match kind(schema).as_str() {
        "object" => object(schema, root, depth),
        "array" => array(schema, root, depth),
        "integer" | "number" => number(schema),
        "boolean" => json!(true),
        "null" => Value::Null,
        _ => text(schema),
    }
}

/// The type in lower case; the first that is not null if there are several.
fn kind(schema: &Value) -> String {
    let named = match &schema["type"] {
        Value::String(name) => Some(name.as_str()),
        Value::Array(names) => names.iter().filter_map(Value::as_str).find(|name| *name != "null"),
        _ => None,
    };
    match named {
        Some(name) => name.to_ascii_lowercase(),
        None if schema["properties"].is_object() || schema["allOf"].is_array() => "object".into(),
        None if schema["items"].is_object() => "array".into(),
        None => "string".into(),
    }
}

fn object(schema: &Value, root: &Value, depth: usize) -> Value {
    let mut members = Map::new();
    for part in list(&schema["allOf"]) {
        if let Value::Object(more) = value(part, root, depth + 1) {
            members.extend(more);
        }
    }
    let properties = schema["properties"].as_object();
    let required = schema["required"].as_array();
    for (name, property) in properties.into_iter().flatten() {
        if required.is_none_or(|required| required.iter().any(|known| known == name)) {
            members.insert(name.clone(), value(property, root, depth + 1));
        }
    }
    Value::Object(members)
}

fn array(schema: &Value, root: &Value, depth: usize) -> Value {
    let count = schema["minItems"].as_u64().unwrap_or(1).max(1) as usize;
    (0..count).map(|_| value(&schema["items"], root, depth + 1)).collect()
}

fn number(schema: &Value) -> Value {
    let bound = |name: &str| schema.get(name).filter(|bound| bound.is_number()).cloned();
    if let Some(least) = bound("minimum").or_else(|| bound("multipleOf")) {
        return least;
    }
    match schema["exclusiveMinimum"].as_i64() {
        Some(bound) => json!(bound + 1),
        None => bound("maximum").filter(|most| most.as_f64() < Some(1.0)).unwrap_or(json!(1)),
    }
}

fn text(schema: &Value) -> Value {
    let text = match schema["format"].as_str() {
        Some("date-time") => "2024-01-01T00:00:00Z",
        Some("date") => "2024-01-01",
        Some("time") => "00:00:00Z",
        Some("email") => "someone@example.com",
        Some("uri") => "https://example.com/",
        Some("uuid") => "00000000-0000-4000-8000-000000000000",
        _ => "text",
    };
    let length = schema["minLength"].as_u64().unwrap_or(0) as usize;
    json!(format!("{text:x<length$}"))
}
