//! Parses output format, limits, sampling and reasoning.

use domain::canon::{Effort, OutputFormat, Prompt, Reasoning};
use domain::fault::Fault;
use serde_json::Value;

use crate::members::{Members, wrong};

pub fn read(root: &mut Members, prompt: &mut Prompt) -> Result<(), Fault> {
    prompt.sampling.temperature = root.number("temperature")?;
    prompt.sampling.top_p = root.number("top_p")?;
    prompt.parallel_tools = root.boolean("parallel_tool_calls")?;
    prompt.user = match root.string("user")? {
        None => root.string("safety_identifier")?,
        user => user,
    };
    prompt.service_tier = root.string("service_tier")?;
    prompt.max_output = match root.take("max_output_tokens") {
        None => None,
        Some(value) => match value.as_u64().filter(|limit| *limit > 0) {
            Some(limit) => Some(limit),
            None => return Err(wrong("max_output_tokens", "a whole number above 0")),
        },
    };
    prompt.metadata = match root.take("metadata") {
        Some(value) if !value.is_object() => return Err(wrong("metadata", "an object")),
        metadata => metadata.filter(|value| value.as_object().is_some_and(|labels| !labels.is_empty())),
    };
    text(root, prompt)?;
    prompt.reasoning = reasoning(root)?;
    if let Some(truncation) = root.string("truncation")?.filter(|word| word != "disabled") {
        root.put("truncation", Value::String(truncation));
    }
    Ok(())
}

fn text(root: &mut Members, prompt: &mut Prompt) -> Result<(), Fault> {
    let Some(mut text) = root.object("text")? else { return Ok(()) };
    prompt.verbosity = text.string("verbosity")?;
    let Some(mut format) = text.object("format")? else { return Ok(()) };
    prompt.output = match format.required_string("type")?.as_str() {
        "text" => None,
        "json_object" => Some(OutputFormat::Json),
        "json_schema" => Some(OutputFormat::Schema {
            name: format.required_string("name")?,
            description: format.string("description")?,
            schema: match format.take("schema") {
                Some(schema) if schema.is_object() => schema,
                _ => return Err(wrong("text.format.schema", "an object")),
            },
            strict: format.boolean("strict")?,
        }),
        _ => return Err(wrong("text.format.type", "'text', 'json_object' or 'json_schema'")),
    };
    Ok(())
}

fn reasoning(root: &mut Members) -> Result<Option<Reasoning>, Fault> {
    let Some(mut node) = root.object("reasoning")? else { return Ok(None) };
    let mut reasoning = Reasoning::default();
    match node.string("effort")?.as_deref() {
        None => {}
        Some("none") => reasoning.enabled = Some(false),
        Some(word) => match Effort::parse(word) {
            Some(effort) => reasoning.effort = Some(effort),
            None => {
                let words = "'none', 'minimal', 'low', 'medium', 'high', 'xhigh' or 'max'";
                return Err(wrong("reasoning.effort", words));
            }
        },
    }
    let old_name = node.string("generate_summary")?;
    reasoning.summary = node.string("summary")?.or(old_name);
    Ok((reasoning != Reasoning::default()).then_some(reasoning))
}
