//! Parses tools and the tool choice.

use domain::call::Format;
use domain::canon::{self, CustomTool, ForeignTool, FunctionTool, Prompt, Tool, ToolChoice};
use domain::fault::Fault;
use serde_json::Value;

use crate::members::{Members, wrong};

/// Reads the tools. `among_items` are those found in the input, with their paths.
pub fn read(root: &mut Members, among_items: Vec<(String, Value)>, prompt: &mut Prompt) -> Result<(), Fault> {
    let listed = root.array("tools")?.unwrap_or_default().into_iter().enumerate();
    let listed = listed.map(|(index, tool)| (format!("tools[{index}]"), tool));
    for (place, tool) in listed.chain(among_items) {
        read_tool(tool, place, None, &mut prompt.tools)?;
    }
    match root.take("tool_choice") {
        None => {}
        Some(Value::String(word)) => {
            prompt.tool_choice = Some(match word.as_str() {
                "auto" => ToolChoice::Auto,
                "none" => ToolChoice::None,
                "required" => ToolChoice::Required,
                _ => return Err(wrong("tool_choice", "'auto', 'none', 'required' or an object")),
            });
        }
        Some(value) => match read_choice(value.clone())? {
            Some(choice) => prompt.tool_choice = Some(choice),
            None => root.put("tool_choice", value),
        },
    }
    Ok(())
}

fn read_tool(value: Value, place: String, outer: Option<&str>, tools: &mut Vec<Tool>) -> Result<(), Fault> {
    let kind = match &value["type"] {
        Value::String(kind) => kind.clone(),
        _ if value.is_object() => return Err(wrong(format!("{place}.type"), "a string")),
        _ => return Err(wrong(&place, "an object")),
    };
    let known = matches!(kind.as_str(), "function" | "custom") || (kind == "namespace" && outer.is_none());
    if !known {
        tools.push(Tool::Foreign(ForeignTool { format: Format::Responses, place, value }));
        return Ok(());
    }
    let mut node = Members::of(value, place)?;
    let name = node.required_string("name")?;
    let namespace = outer.map(str::to_owned);
    let description = node.string("description")?;
    match kind.as_str() {
        "function" => {
            let (parameters, strict) = (node.take("parameters"), node.boolean("strict")?);
            let tool = FunctionTool { name, namespace, description, parameters, strict, cache: None };
            tools.push(Tool::Function(tool));
        }
        "custom" => {
            let format = node.take("format");
            tools.push(Tool::Custom(CustomTool { name, namespace, description, format }));
        }
        _ => {
            let place = node.path("tools");
            for (index, tool) in node.array("tools")?.unwrap_or_default().into_iter().enumerate() {
                read_tool(tool, format!("{place}[{index}]"), Some(&name), tools)?;
            }
        }
    }
    Ok(())
}

/// Reads the tool choice; `None` for a tool that the provider runs itself, which other formats cannot express.
fn read_choice(value: Value) -> Result<Option<ToolChoice>, Fault> {
    let mut node = Members::of(value, "tool_choice")?;
    Ok(Some(match node.required_string("type")?.as_str() {
        "function" | "custom" => ToolChoice::Named(flat_name(&mut node)?),
        "allowed_tools" => {
            let required = match node.string("mode")?.as_deref() {
                None | Some("auto") => false,
                Some("required") => true,
                Some(_) => return Err(node.fault("mode", "must be 'auto' or 'required'.")),
            };
            let place = node.path("tools");
            let mut names = Vec::new();
            for (index, tool) in node.array("tools")?.unwrap_or_default().into_iter().enumerate() {
                let mut tool = Members::of(tool, format!("{place}[{index}]"))?;
                if matches!(tool.peek_string("type"), Some("function" | "custom")) {
                    names.push(flat_name(&mut tool)?);
                }
            }
            ToolChoice::Among { names, required }
        }
        _ => return Ok(None),
    }))
}

fn flat_name(node: &mut Members) -> Result<String, Fault> {
    let namespace = node.string("namespace")?;
    Ok(canon::flat_name(namespace.as_deref(), &node.required_string("name")?))
}
