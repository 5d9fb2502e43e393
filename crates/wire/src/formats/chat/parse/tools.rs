//! Parses tools, tool choice and the output format.

use domain::call::Format;
use domain::canon::{CustomTool, ForeignTool, FunctionTool, OutputFormat, Prompt, Tool, ToolChoice};
use domain::fault::Fault;
use serde_json::Value;

use crate::members::{Members, wrong};

pub fn read(members: &mut Members, prompt: &mut Prompt) -> Result<(), Fault> {
    for (index, tool) in members.array("tools")?.unwrap_or_default().into_iter().enumerate() {
        prompt.tools.push(read_tool(tool, format!("tools[{index}]"))?);
    }
    // Legacy functions.
    for (index, function) in members.array("functions")?.unwrap_or_default().into_iter().enumerate() {
        let function = Members::of(function, format!("functions[{index}]"))?;
        prompt.tools.push(Tool::Function(read_function(function)?));
    }
    let legacy = members.take("function_call").map(read_legacy_choice).transpose()?;
    prompt.tool_choice = match members.take("tool_choice") {
        Some(choice) => Some(read_choice(choice)?),
        None => legacy,
    };
    prompt.parallel_tools = members.boolean("parallel_tool_calls")?;
    prompt.output = match members.object("response_format")? {
        Some(format) => read_output(format)?,
        None => None,
    };
    Ok(())
}

fn read_tool(value: Value, path: String) -> Result<Tool, Fault> {
    let mut tool = Members::of(value.clone(), path.clone())?;
    let cache = tool.cache_mark();
    match tool.required_string("type")?.as_str() {
        "function" => {
            let function = read_function(tool.required_object("function")?)?;
            Ok(Tool::Function(FunctionTool { cache: function.cache.or(cache), ..function }))
        }
        "custom" => {
            let mut custom = tool.required_object("custom")?;
            Ok(Tool::Custom(CustomTool {
                name: custom.required_string("name")?,
                namespace: None,
                description: custom.string("description")?,
                format: custom.take("format").map(flat_grammar),
            }))
        }
        // A tool that the provider runs itself.
        _ => Ok(Tool::Foreign(ForeignTool { format: Format::Chat, place: path, value })),
    }
}

fn read_function(mut function: Members) -> Result<FunctionTool, Fault> {
    let parameters = function.take("parameters");
    if parameters.as_ref().is_some_and(|parameters| !parameters.is_object()) {
        return Err(wrong(function.path("parameters"), "an object"));
    }
    Ok(FunctionTool {
        name: function.required_string("name")?,
        namespace: None,
        description: function.string("description")?,
        parameters,
        strict: function.boolean("strict")?,
        cache: function.cache_mark(),
    })
}

/// Flattens a grammar to the canonical form `{type, syntax, definition}`; chat nests it one level deeper.
fn flat_grammar(mut format: Value) -> Value {
    let Some(Value::Object(mut grammar)) = format.as_object_mut().and_then(|it| it.shift_remove("grammar"))
    else {
        return format;
    };
    let mut flat = serde_json::Map::from_iter([("type".to_owned(), Value::from("grammar"))]);
    flat.append(&mut grammar);
    Value::Object(flat)
}

fn read_choice(value: Value) -> Result<ToolChoice, Fault> {
    let expected = "'none', 'auto', 'required' or an object that names a tool";
    if let Some(word) = value.as_str() {
        return match word {
            "auto" => Ok(ToolChoice::Auto),
            "none" => Ok(ToolChoice::None),
            "required" | "any" => Ok(ToolChoice::Required),
            _ => Err(wrong("tool_choice", expected)),
        };
    }
    let mut choice = Members::of(value, "tool_choice").map_err(|_| wrong("tool_choice", expected))?;
    let kind = choice.required_string("type")?;
    match kind.as_str() {
        "function" | "custom" => {
            Ok(ToolChoice::Named(choice.required_object(&kind)?.required_string("name")?))
        }
        "allowed_tools" => read_allowed(choice.required_object("allowed_tools")?),
        "auto" => Ok(ToolChoice::Auto),
        "none" => Ok(ToolChoice::None),
        "required" => Ok(ToolChoice::Required),
        other => Err(choice.unknown("type", other, "'function', 'custom' and 'allowed_tools'")),
    }
}

fn read_allowed(mut allowed: Members) -> Result<ToolChoice, Fault> {
    let required = match allowed.string("mode")?.as_deref() {
        None | Some("auto") => false,
        Some("required") => true,
        Some(other) => return Err(allowed.unknown("mode", other, "'auto' and 'required'")),
    };
    let mut names = Vec::new();
    for (index, tool) in allowed.array("tools")?.unwrap_or_default().into_iter().enumerate() {
        let mut tool = Members::of(tool, allowed.path(&format!("tools[{index}]")))?;
        let kind = tool.string("type")?.unwrap_or_else(|| "function".to_owned());
        if let Some(mut named) = tool.object(&kind)? {
            names.push(named.required_string("name")?);
        }
    }
    Ok(ToolChoice::Among { names, required })
}

fn read_legacy_choice(value: Value) -> Result<ToolChoice, Fault> {
    match value.as_str() {
        Some("auto") => Ok(ToolChoice::Auto),
        Some("none") => Ok(ToolChoice::None),
        Some(_) => Err(wrong("function_call", "'none', 'auto' or an object with a name")),
        None => Ok(ToolChoice::Named(Members::of(value, "function_call")?.required_string("name")?)),
    }
}

fn read_output(mut format: Members) -> Result<Option<OutputFormat>, Fault> {
    match format.required_string("type")?.as_str() {
        "text" => Ok(None),
        "json_object" => Ok(Some(OutputFormat::Json)),
        "json_schema" => {
            let mut inner = format.required_object("json_schema")?;
            let schema = inner.take("schema").unwrap_or_else(|| serde_json::json!({"type": "object"}));
            if !schema.is_object() && !schema.is_boolean() {
                return Err(wrong(inner.path("schema"), "an object"));
            }
            Ok(Some(OutputFormat::Schema {
                name: inner.required_string("name")?,
                description: inner.string("description")?,
                strict: inner.boolean("strict")?,
                schema,
            }))
        }
        other => Err(format.unknown("type", other, "'text', 'json_object' and 'json_schema'")),
    }
}
