//! Rules shared by OpenAI's formats: credential, strict schemas, names.

use serde_json::Value;

use super::rejection::{UpstreamRejection, ValidationResult, is_name, list, unknown_member};
use super::upstream_request::UpstreamRequest;

pub(super) const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

pub(super) fn bearer(context: &UpstreamRequest<'_>) -> ValidationResult {
    let value = context.header("authorization").unwrap_or_default();
    if value.strip_prefix("Bearer ").is_none_or(|key| key.trim().is_empty()) {
        let message = "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth.";
        return Err(UpstreamRejection::new(401, message).code("missing_api_key"));
    }
    Ok(())
}

pub(super) fn unknown(path: &str) -> UpstreamRejection {
    UpstreamRejection::at(path, format!("Unknown parameter: '{path}'.")).code("unknown_parameter")
}

pub(super) fn missing(path: &str) -> UpstreamRejection {
    UpstreamRejection::at(path, format!("Missing required parameter: '{path}'."))
        .code("missing_required_parameter")
}

pub(super) fn invalid(path: &str, value: &Value) -> UpstreamRejection {
    UpstreamRejection::at(path, format!("Invalid value for '{path}': {value}.")).code("invalid_value")
}

pub(super) fn unsupported(path: &str) -> UpstreamRejection {
    UpstreamRejection::at(path, format!("Unsupported parameter: '{path}' is not supported with this model."))
        .code("unsupported_parameter")
}

pub(super) fn members(value: &Value, path: &str, known: &[&str]) -> ValidationResult {
    if !value.is_object() {
        return Err(invalid(path, value));
    }
    unknown_member(value, known).map_or(Ok(()), |member| Err(unknown(&format!("{path}.{member}"))))
}

pub(super) fn one_of(value: &Value, path: &str, known: &[&str]) -> ValidationResult {
    match value.as_str() {
        Some(text) if known.contains(&text) => Ok(()),
        _ => Err(invalid(path, value)),
    }
}

pub(super) fn range(request: &Value, field: &str, least: f64, most: f64) -> ValidationResult {
    match request.get(field).filter(|value| !value.is_null()) {
        Some(value) if value.as_f64().is_none_or(|number| !(least..=most).contains(&number)) => {
            let message = format!("Invalid '{field}': {value} is outside {least}..{most}.");
            Err(UpstreamRejection::at(field, message))
        }
        _ => Ok(()),
    }
}

/// Reads a string or a list of strings.
pub(super) fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        _ => list(value).iter().filter_map(|text| text.as_str().map(str::to_owned)).collect(),
    }
}

/// Validates the common part of tools and output formats: a name, and a schema that may be strict.
pub(super) fn named_schema(value: &Value, path: &str, schema: &str, longest: usize) -> ValidationResult {
    let name = value["name"].as_str().ok_or_else(|| missing(&format!("{path}.name")))?;
    if !is_name(name, longest) {
        let message = format!(
            "Invalid '{path}.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
        );
        return Err(UpstreamRejection::at(format!("{path}.name"), message).code("invalid_value"));
    }
    let schema_path = format!("{path}.{schema}");
    let schema = &value[schema];
    if !schema.is_null() && !schema.is_object() {
        return Err(invalid(&schema_path, schema));
    }
    if value["strict"] == true
        && let Some(offence) = loose(schema)
    {
        let message = format!("Invalid schema for '{name}': {offence}");
        return Err(UpstreamRejection::at(schema_path, message).code("invalid_function_parameters"));
    }
    Ok(())
}

/// The reason why a schema is not strict: every object must be closed and require all its properties.
fn loose(schema: &Value) -> Option<String> {
    let object = schema.as_object()?;
    if object.get("type").is_some_and(|kind| kind == "object") || object.contains_key("properties") {
        if schema["additionalProperties"] != false {
            return Some("'additionalProperties' is required to be supplied and to be false.".into());
        }
        let required = list(&schema["required"]);
        let names = schema["properties"].as_object().into_iter().flat_map(|properties| properties.keys());
        for name in names {
            if !required.iter().any(|known| known == name) {
                return Some(format!(
                    "'required' is required to be an array including every key in properties. Missing '{name}'."
                ));
            }
        }
    }
    let maps = ["properties", "$defs", "definitions"].iter().filter_map(|member| schema[*member].as_object());
    let inside = maps.flat_map(|map| map.values());
    let lists = ["anyOf", "allOf"].iter().flat_map(|member| list(&schema[*member]));
    inside.chain(lists).chain(schema.get("items")).find_map(loose)
}
