//! Parses tools and the tool choice.

use domain::call::Format;
use domain::canon::{ForeignTool, FunctionTool, Prompt, Tool, ToolChoice};
use domain::fault::Fault;

use super::content::cache_mark;
use super::node::{Node, elements, wrong};

pub(super) fn tools(body: &mut Node, prompt: &mut Prompt) -> Result<(), Fault> {
    let Some(tools) = body.take("tools") else { return Ok(()) };
    for (index, value) in elements(tools, "tools")?.into_iter().enumerate() {
        let place = format!("tools[{index}]");
        let mut tool = Node::open(value, place.clone())?;
        let tool = match tool.peek_text("type") {
            None | Some("custom") => {
                tool.take("type");
                let function = function(&mut tool)?;
                tool.rest(&mut prompt.extra);
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

fn function(tool: &mut Node) -> Result<FunctionTool, Fault> {
    let parameters = tool.required("input_schema")?;
    if !parameters.is_object() {
        return Err(wrong(tool.at("input_schema"), "a JSON Schema object"));
    }
    Ok(FunctionTool {
        name: tool.required_text("name")?,
        namespace: None,
        description: tool.text("description")?,
        parameters: Some(parameters),
        strict: tool.flag("strict")?,
        cache: cache_mark(tool)?,
    })
}

pub(super) fn choice(body: &mut Node, prompt: &mut Prompt) -> Result<(), Fault> {
    let Some(mut choice) = body.object("tool_choice")? else { return Ok(()) };
    prompt.tool_choice = Some(match choice.required_text("type")?.as_str() {
        "auto" => ToolChoice::Auto,
        "any" => ToolChoice::Required,
        "none" => ToolChoice::None,
        "tool" => ToolChoice::Named(choice.required_text("name")?),
        _ => return Err(wrong(choice.at("type"), "'auto', 'any', 'tool' or 'none'")),
    });
    prompt.parallel_tools = choice.flag("disable_parallel_tool_use")?.map(|disabled| !disabled);
    choice.rest(&mut prompt.extra);
    Ok(())
}
