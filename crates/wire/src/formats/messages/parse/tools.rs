//! Parses tools and the tool choice.

use domain::call::Format;
use domain::canon::{ForeignTool, FunctionTool, Prompt, Tool, ToolChoice};
use domain::fault::Fault;

use super::content::cache_mark;
use crate::members::{Members, elements, wrong};

pub(super) fn tools(body: &mut Members, prompt: &mut Prompt) -> Result<(), Fault> {
    let Some(tools) = body.take("tools") else { return Ok(()) };
    for (index, value) in elements(tools, "tools")?.into_iter().enumerate() {
        let place = format!("tools[{index}]");
        let mut tool = Members::of(value, place.clone())?;
        let tool = match tool.peek_string("type") {
            None | Some("custom") => {
                tool.take("type");
                let function = function(&mut tool)?;
                tool.store_rest(&mut prompt.extra);
                Tool::Function(function)
            }
            Some(_) => {
                Tool::Foreign(ForeignTool { format: Format::Messages, place, value: tool.into_value() })
            }
        };
        prompt.tools.push(tool);
    }
    Ok(())
}

fn function(tool: &mut Members) -> Result<FunctionTool, Fault> {
    let parameters = tool.required("input_schema")?;
    if !parameters.is_object() {
        return Err(wrong(tool.path("input_schema"), "a JSON Schema object"));
    }
    Ok(FunctionTool {
        name: tool.required_string("name")?,
        namespace: None,
        description: tool.string("description")?,
        parameters: Some(parameters),
        strict: tool.boolean("strict")?,
        cache: cache_mark(tool)?,
    })
}

pub(super) fn choice(body: &mut Members, prompt: &mut Prompt) -> Result<(), Fault> {
    let Some(mut choice) = body.object("tool_choice")? else { return Ok(()) };
    prompt.tool_choice = Some(match choice.required_string("type")?.as_str() {
        "auto" => ToolChoice::Auto,
        "any" => ToolChoice::Required,
        "none" => ToolChoice::None,
        "tool" => ToolChoice::Named(choice.required_string("name")?),
        _ => return Err(wrong(choice.path("type"), "'auto', 'any', 'tool' or 'none'")),
    });
    prompt.parallel_tools = choice.boolean("disable_parallel_tool_use")?.map(|disabled| !disabled);
    choice.store_rest(&mut prompt.extra);
    Ok(())
}
