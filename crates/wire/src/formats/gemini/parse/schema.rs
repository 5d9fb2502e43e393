//! Converts Gemini's schema dialect to JSON Schema: types in capitals, `nullable`, counts as strings.

use serde_json::{Map, Value};

pub fn to_json_schema(schema: &Value) -> Value {
    let Value::Object(members) = schema else { return schema.clone() };
    let mut written = Map::new();
    let mut nullable = false;
    for (key, value) in members {
        match key.as_str() {
            "nullable" => nullable = value.as_bool().unwrap_or(false),
            // Output order of the properties, for which JSON Schema has no keyword.
            "propertyOrdering" | "property_ordering" => {}
            "type" if value == "TYPE_UNSPECIFIED" => {}
            "type" => {
                written.insert(key.clone(), lower(value));
            }
            "properties" | "$defs" | "defs" => {
                written.insert(key.clone(), each(value));
            }
            "items" | "additionalProperties" | "additional_properties" => {
                written.insert(word(key).to_owned(), to_json_schema(value));
            }
            "anyOf" | "any_of" | "oneOf" | "allOf" | "prefixItems" | "prefix_items" => {
                let list = value.as_array().map(|list| list.iter().map(to_json_schema).collect());
                written.insert(word(key).to_owned(), list.unwrap_or_else(|| value.clone()));
            }
            "minItems" | "maxItems" | "minLength" | "maxLength" | "minProperties" | "maxProperties"
            | "min_items" | "max_items" | "min_length" | "max_length" | "min_properties"
            | "max_properties" => {
                let count = value.as_str().and_then(|text| text.parse::<u64>().ok());
                written.insert(word(key).to_owned(), count.map_or_else(|| value.clone(), Value::from));
            }
            _ => {
                written.insert(key.clone(), value.clone());
            }
        }
    }
    if nullable {
        admit_null(&mut written);
    }
    Value::Object(written)
}

fn admit_null(schema: &mut Map<String, Value>) {
    if let Some(Value::String(kind)) = schema.get("type") {
        let both = vec![Value::from(kind.clone()), Value::from("null")];
        schema.insert("type".into(), both.into());
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.push(Value::Null);
    }
}

fn each(schemas: &Value) -> Value {
    match schemas {
        Value::Object(members) => {
            members.iter().map(|(name, schema)| (name.clone(), to_json_schema(schema))).collect()
        }
        other => other.clone(),
    }
}

fn lower(kind: &Value) -> Value {
    match kind {
        Value::String(text) => text.to_ascii_lowercase().into(),
        Value::Array(kinds) => kinds.iter().map(lower).collect(),
        other => other.clone(),
    }
}

/// The JSON Schema spelling of a keyword.
fn word(key: &str) -> &str {
    match key {
        "additional_properties" => "additionalProperties",
        "any_of" => "anyOf",
        "prefix_items" => "prefixItems",
        "min_items" => "minItems",
        "max_items" => "maxItems",
        "min_length" => "minLength",
        "max_length" => "maxLength",
        "min_properties" => "minProperties",
        "max_properties" => "maxProperties",
        other => other,
    }
}
