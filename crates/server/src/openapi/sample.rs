//! Example values, made from a schema.

use serde_json::{Map, Value, json};

/// Schemas that contain each other end at this depth.
const MOST_LEVELS: usize = 6;

/// A value that satisfies a schema.
pub fn of(schema: &Value, components: &Value) -> Value {
    value(schema, components, 0)
}

fn value(schema: &Value, components: &Value, level: usize) -> Value {
    if level > MOST_LEVELS {
        return Value::Null;
    }
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return value(&components[name], components, level + 1);
    }
    for given in ["example", "default", "const"] {
        if let Some(given) = schema.get(given) {
            return given.clone();
        }
    }
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    if let Some(parts) = schema["allOf"].as_array() {
        let objects = parts.iter().filter_map(|part| value(part, components, level + 1).as_object().cloned());
        return Value::Object(objects.flatten().collect());
    }
    for choice in ["oneOf", "anyOf"] {
        let is_null = |choice: &&Value| choice["type"] == "null";
        if let Some(choices) = schema[choice].as_array() {
            let first = choices.iter().find(|choice| !is_null(choice));
            return first.map_or(Value::Null, |first| value(first, components, level + 1));
        }
    }
    by_type(schema, components, level)
}

fn by_type(schema: &Value, components: &Value, level: usize) -> Value {
    // A type that may be null is a list of both.
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().find_map(|kind| kind.as_str().filter(|kind| *kind != "null")),
        kind => kind.as_str(),
    };
    match kind {
        Some("object") => object(schema, components, level),
        Some("array") => match level < MOST_LEVELS {
            true => json!([value(&schema["items"], components, level + 1)]),
            false => json!([]),
        },
        Some("string") => json!("text"),
        Some("integer") => schema.get("minimum").cloned().unwrap_or_else(|| json!(1)),
        Some("number") => json!(0.5),
        Some("boolean") => json!(true),
        _ => Value::Null,
    }
}

fn object(schema: &Value, components: &Value, level: usize) -> Value {
    let members = schema["properties"].as_object().into_iter().flatten();
    let members = members.map(|(name, member)| (name.clone(), value(member, components, level + 1)));
    Value::Object(members.collect::<Map<String, Value>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_follow_the_schema() {
        let components =
            json!({"Inner": {"type": "object", "properties": {"n": {"type": "integer", "minimum": 3}}}});
        let schema = json!({"type": "object", "properties": {
            "a": {"type": ["string", "null"]},
            "b": {"type": "array", "items": {"$ref": "#/components/schemas/Inner"}},
            "c": {"oneOf": [{"type": "null"}, {"enum": ["x", "y"]}]},
            "d": {"example": 7},
        }});
        assert_eq!(of(&schema, &components), json!({"a": "text", "b": [{"n": 3}], "c": "x", "d": 7}));
    }

    #[test]
    fn schemas_that_contain_themselves_end() {
        let components = json!({"Tree": {"type": "object", "properties": {"next": {"$ref": "#/components/schemas/Tree"}}}});
        of(&json!({"$ref": "#/components/schemas/Tree"}), &components);
    }
}
