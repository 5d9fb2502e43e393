//! Adapts other clients' JSON Schemas to what Claude's structured outputs support.

use serde_json::{Map, Value};

/// Keywords that the constrained decoder rejects; they are moved into the description.
const MOVED_TO_DESCRIPTION: [&str; 13] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "maxItems",
    "uniqueItems",
    "minContains",
    "maxContains",
    "minProperties",
    "maxProperties",
];

/// Adapts a schema: objects are closed, alternatives become `anyOf`, limits move into the description.
pub(super) fn adapt(schema: &Value) -> Value {
    match schema {
        Value::Object(members) => Value::Object(adapt_object(members)),
        Value::Array(items) => Value::Array(items.iter().map(adapt).collect()),
        other => other.clone(),
    }
}

fn adapt_object(members: &Map<String, Value>) -> Map<String, Value> {
    let mut adapted = Map::new();
    let mut moved = Vec::new();
    for (name, value) in members {
        match name.as_str() {
            "properties" | "$defs" | "definitions" => {
                let named = value.as_object().into_iter().flatten();
                let named = named.map(|(name, schema)| (name.clone(), adapt(schema))).collect();
                adapted.insert(name.clone(), Value::Object(named));
            }
            "oneOf" => {
                adapted.insert("anyOf".into(), adapt(value));
            }
            "items" | "anyOf" | "allOf" => {
                adapted.insert(name.clone(), adapt(value));
            }
            "additionalProperties" | "patternProperties" | "$schema" => {}
            "minItems" if value.as_u64().is_none_or(|least| least > 1) => moved.push((name, value)),
            _ if MOVED_TO_DESCRIPTION.contains(&name.as_str()) => moved.push((name, value)),
            _ => {
                adapted.insert(name.clone(), value.clone());
            }
        }
    }
    let is_object = members.get("type").is_some_and(|kind| match kind {
        Value::Array(kinds) => kinds.iter().any(|kind| kind == "object"),
        kind => kind == "object",
    });
    if is_object || members.contains_key("properties") {
        adapted.insert("additionalProperties".into(), false.into());
    }
    if !moved.is_empty() {
        let limits: Vec<String> = moved.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        let given = members.get("description").and_then(Value::as_str).map(|text| format!("{text}\n"));
        let description = format!("{}({})", given.unwrap_or_default(), limits.join(", "));
        adapted.insert("description".into(), description.into());
    }
    adapted
}

/// Whether some object in the schema allows arbitrary member names.
pub(super) fn is_open(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => {
            let free = members.get("additionalProperties").is_some_and(|value| *value != Value::Bool(false));
            let own = |(name, value): (&String, &Value)| match name.as_str() {
                "enum" | "const" | "default" | "examples" => false,
                "properties" | "$defs" | "definitions" => {
                    value.as_object().is_some_and(|inner| inner.values().any(is_open))
                }
                _ => is_open(value),
            };
            free || members.contains_key("patternProperties") || members.iter().any(own)
        }
        Value::Array(items) => items.iter().any(is_open),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unsupported_constraints_move_to_the_description() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "minimum": {"type": "integer", "minimum": 1, "description": "How many"},
                "tags": {"type": "array", "items": {"type": ["object", "null"]}, "minItems": 1, "maxItems": 3},
                "either": {"oneOf": [{"type": "string", "enum": ["a"]}, {"$ref": "#/$defs/x"}]},
            },
            "required": ["minimum"],
            "$defs": {"x": {"properties": {}, "additionalProperties": true}},
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "minimum": {"type": "integer", "description": "How many\n(minimum: 1)"},
                "tags": {
                    "type": "array",
                    "items": {"type": ["object", "null"], "additionalProperties": false},
                    "minItems": 1,
                    "description": "(maxItems: 3)",
                },
                "either": {"anyOf": [{"type": "string", "enum": ["a"]}, {"$ref": "#/$defs/x"}]},
            },
            "required": ["minimum"],
            "$defs": {"x": {"properties": {}, "additionalProperties": false}},
            "additionalProperties": false,
        });
        assert_eq!(adapt(&schema), expected);
    }
}
