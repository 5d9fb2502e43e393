//! Encodes tools, flat as this format requires, and grouped by namespace.

use domain::call::Format;
use domain::canon::{self, CustomTool, Field, FunctionTool, OutputFormat, Tool, ToolChoice};
use serde_json::{Value, json};

use super::Encoder;

pub(super) fn write(encoder: &mut Encoder<'_>) {
    let prompt = encoder.prompt;
    let mut written: Vec<Value> = Vec::new();
    for tool in &prompt.tools {
        let (namespace, value) = match tool {
            Tool::Function(function) => {
                if function.cache.is_some() {
                    encoder.drop(Field::CacheControl);
                }
                (&function.namespace, write_function(function, encoder.native()))
            }
            Tool::Custom(custom) => (&custom.namespace, write_custom(custom)),
            Tool::Foreign(foreign) if foreign.format == Format::Responses => (&None, foreign.value.clone()),
            Tool::Foreign(foreign) => {
                encoder.dropped.name(foreign.place.as_str());
                continue;
            }
        };
        match namespace {
            None => written.push(value),
            Some(namespace) => add_to(&mut written, namespace, value),
        }
    }
    let alone = written.is_empty();
    if let (Some(name), Some(OutputFormat::Schema { schema, description, .. })) =
        (&encoder.schema_tool, &prompt.output)
    {
        let description = description.as_deref().unwrap_or("Gives the answer.");
        written.push(json!({
            "type": "function", "name": name, "description": description, "parameters": schema, "strict": false,
        }));
    }
    let choice = match (&encoder.schema_tool, &prompt.tool_choice) {
        (Some(name), _) if alone => Some(json!({"type": "function", "name": name})),
        (Some(_), _) => Some("required".into()),
        (None, choice) => choice.as_ref().map(|choice| write_choice(choice, &prompt.tools)),
    };
    if !written.is_empty() {
        encoder.set("tools", Value::Array(written));
    }
    if let Some(choice) = choice {
        encoder.set("tool_choice", choice);
    }
    if let Some(parallel) = prompt.parallel_tools {
        encoder.set("parallel_tool_calls", parallel.into());
    }
}

/// Encodes a function. The API defaults to strict, clients of other formats expect the opposite.
fn write_function(tool: &FunctionTool, native: bool) -> Value {
    let mut written = json!({"type": "function", "name": tool.name});
    if let Some(description) = &tool.description {
        written["description"] = description.as_str().into();
    }
    written["parameters"] = match &tool.parameters {
        Some(parameters) => parameters.clone(),
        None if native => Value::Null,
        None => json!({"type": "object", "properties": {}}),
    };
    match tool.strict {
        None if native => {}
        strict => written["strict"] = strict.unwrap_or(false).into(),
    }
    written
}

fn write_custom(tool: &CustomTool) -> Value {
    let mut written = json!({"type": "custom", "name": tool.name});
    if let Some(description) = &tool.description {
        written["description"] = description.as_str().into();
    }
    if let Some(format) = &tool.format {
        written["format"] = format.clone();
    }
    written
}

/// Adds a tool to its namespace; adjacent tools of one namespace share a group.
fn add_to(written: &mut Vec<Value>, namespace: &str, tool: Value) {
    if let Some(last) = written.last_mut()
        && last["type"] == "namespace"
        && last["name"] == namespace
        && let Some(tools) = last["tools"].as_array_mut()
    {
        return tools.push(tool);
    }
    // The API requires a description, which the canonical model only has for tools.
    let description = format!("The tools of {namespace}.");
    written.push(json!({
        "type": "namespace", "name": namespace, "description": description, "tools": [tool],
    }));
}

fn write_choice(choice: &ToolChoice, tools: &[Tool]) -> Value {
    match choice {
        ToolChoice::Auto => "auto".into(),
        ToolChoice::None => "none".into(),
        ToolChoice::Required => "required".into(),
        ToolChoice::Named(name) => named(name, tools),
        ToolChoice::Among { names, required } => {
            let mode = if *required { "required" } else { "auto" };
            let allowed: Vec<Value> = names.iter().map(|name| named(name, tools)).collect();
            json!({"type": "allowed_tools", "mode": mode, "tools": allowed})
        }
    }
}

fn named(flat: &str, tools: &[Tool]) -> Value {
    let custom = tools
        .iter()
        .any(|tool| matches!(tool, Tool::Custom(_)) && tool.flat_name().is_some_and(|name| name == flat));
    let (namespace, name) = apart(tools, flat);
    let mut written = json!({"type": if custom { "custom" } else { "function" }, "name": name});
    if let Some(namespace) = namespace {
        written["namespace"] = namespace.into();
    }
    written
}

/// Splits a flat name into namespace and name if its tool has a namespace.
pub(super) fn apart<'a>(tools: &'a [Tool], flat: &'a str) -> (Option<&'a str>, &'a str) {
    let found = tools.iter().find_map(|tool| {
        let (namespace, name) = match tool {
            Tool::Function(tool) => (tool.namespace.as_deref()?, &tool.name),
            Tool::Custom(tool) => (tool.namespace.as_deref()?, &tool.name),
            Tool::Foreign(_) => return None,
        };
        (flat == canon::flat_name(Some(namespace), name)).then_some((Some(namespace), name.as_str()))
    });
    found.unwrap_or((None, flat))
}
