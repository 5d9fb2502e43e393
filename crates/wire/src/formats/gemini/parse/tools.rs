//! Parses tools and the tool choice.

use domain::call::Format;
use domain::canon::{ForeignTool, FunctionTool, Prompt, Tool, ToolChoice};
use domain::fault::Fault;
use serde_json::{Map, Value};

use super::node::Node;
use super::schema::to_json_schema;

pub fn read(root: &Node<'_>, prompt: &mut Prompt) -> Result<(), Fault> {
    if let Some(tools) = root.get("tools") {
        for tool in tools.list()? {
            read_tool(&tool, &mut prompt.tools)?;
        }
    }
    let Some(config) = root.get("toolConfig") else { return Ok(()) };
    config.members()?;
    if let Some(calling) = config.get("functionCallingConfig") {
        prompt.tool_choice = choice(&calling)?;
        for (name, value) in calling.rest(&["mode", "allowedFunctionNames"]) {
            prompt.extra.insert(format!("toolConfig.functionCallingConfig.{name}"), value.clone());
        }
    }
    for (name, value) in config.rest(&["functionCallingConfig"]) {
        prompt.extra.insert(format!("toolConfig.{name}"), value.clone());
    }
    Ok(())
}

/// Reads one tool element, which may declare functions and also enable the provider's own tools.
fn read_tool(node: &Node<'_>, tools: &mut Vec<Tool>) -> Result<(), Fault> {
    node.members()?;
    if let Some(declarations) = node.get("functionDeclarations") {
        for declaration in declarations.list()? {
            tools.push(Tool::Function(function(&declaration)?));
        }
    }
    let own: Map<String, Value> =
        node.rest(&["functionDeclarations"]).into_iter().map(|(name, value)| (name, value.clone())).collect();
    if !own.is_empty() {
        let place = node.path.clone();
        tools.push(Tool::Foreign(ForeignTool { format: Format::Gemini, place, value: Value::Object(own) }));
    }
    Ok(())
}

fn function(node: &Node<'_>) -> Result<FunctionTool, Fault> {
    node.members()?;
    let parameters = match (node.get("parametersJsonSchema"), node.get("parameters")) {
        (Some(schema), _) => Some(schema.value.clone()),
        (None, Some(schema)) => {
            schema.members()?;
            Some(to_json_schema(schema.value))
        }
        (None, None) => None,
    };
    let description = node.get("description").map(|text| text.text()).transpose()?.map(str::to_owned);
    let name = node.required("name")?.text()?.to_owned();
    Ok(FunctionTool { name, description, parameters, ..FunctionTool::default() })
}

fn choice(node: &Node<'_>) -> Result<Option<ToolChoice>, Fault> {
    let names = match node.get("allowedFunctionNames") {
        None => Vec::new(),
        Some(names) => {
            names.list()?.iter().map(|name| name.text().map(str::to_owned)).collect::<Result<Vec<_>, _>>()?
        }
    };
    let Some(mode) = node.get("mode") else { return Ok(None) };
    Ok(match (mode.text()?.to_ascii_uppercase().as_str(), names) {
        ("MODE_UNSPECIFIED", _) => None,
        ("NONE", _) => Some(ToolChoice::None),
        ("AUTO" | "VALIDATED", names) if names.is_empty() => Some(ToolChoice::Auto),
        ("AUTO" | "VALIDATED", names) => Some(ToolChoice::Among { names, required: false }),
        ("ANY", names) => Some(match <[String; 1]>::try_from(names) {
            Ok([name]) => ToolChoice::Named(name),
            Err(names) if names.is_empty() => ToolChoice::Required,
            Err(names) => ToolChoice::Among { names, required: true },
        }),
        _ => return Err(mode.refuse("must be 'AUTO', 'ANY', 'NONE' or 'VALIDATED'")),
    })
}
