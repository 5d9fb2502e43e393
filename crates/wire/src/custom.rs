//! Custom tools, which take free text. For formats that only have JSON tools they become a function with one string
//! member.

use domain::canon::{CustomTool, FunctionTool};
use serde_json::{Value, json};

/// The member that holds the text.
pub const INPUT: &str = "input";

/// The function that emulates a custom tool.
pub fn as_function(tool: &CustomTool) -> FunctionTool {
    let mut description = tool.description.clone().unwrap_or_default();
    if let Some(grammar) = tool.format.as_ref().and_then(|format| format["definition"].as_str()) {
        let syntax = tool.format.as_ref().and_then(|format| format["syntax"].as_str()).unwrap_or("given");
        description
            .push_str(&format!("\n\nThe text of '{INPUT}' must follow this {syntax} grammar:\n{grammar}"));
    }
    FunctionTool {
        name: tool.name.clone(),
        namespace: tool.namespace.clone(),
        description: Some(description).filter(|text| !text.is_empty()),
        parameters: Some(json!({
            "type": "object",
            "properties": {INPUT: {"type": "string", "description": "The tool's input, as plain text."}},
            "required": [INPUT],
            "additionalProperties": false,
        })),
        strict: None,
        cache: None,
    }
}

/// Wraps plain input in JSON arguments.
pub fn wrap(input: &str) -> String {
    json!({ INPUT: input }).to_string()
}

/// Extracts the plain input from JSON arguments; arguments of another shape are returned unchanged.
pub fn unwrap(arguments: &str) -> String {
    match serde_json::from_str::<Value>(arguments) {
        Ok(Value::Object(mut members)) => match members.remove(INPUT) {
            Some(Value::String(input)) => input,
            _ => arguments.to_owned(),
        },
        _ => arguments.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn custom_input_round_trips() {
        for text in ["", "ls -l", "a \"quoted\"\nline", "{\"input\":1}"] {
            assert_eq!(unwrap(&wrap(text)), text);
        }
        assert_eq!(unwrap("plain"), "plain");
    }
}
