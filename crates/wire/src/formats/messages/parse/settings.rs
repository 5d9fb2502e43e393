//! Parses limits, sampling, thinking and the output format.

use domain::canon::{Effort, OutputFormat, Prompt, Reasoning};
use domain::fault::Fault;

use super::node::{Node, elements, wrong};

/// Name of the output schema: Anthropic has none, other formats require one.
const SCHEMA_NAME: &str = "output";

pub(super) fn settings(body: &mut Node, prompt: &mut Prompt) -> Result<(), Fault> {
    prompt.max_output = body.count("max_tokens")?.filter(|count| *count > 0);
    prompt.sampling.temperature = body.share("temperature")?;
    prompt.sampling.top_p = body.share("top_p")?;
    prompt.sampling.top_k = body.count("top_k")?;
    if let Some(value) = body.take("stop_sequences") {
        for (index, stop) in elements(value, "stop_sequences")?.into_iter().enumerate() {
            let text = stop.as_str().ok_or_else(|| wrong(format!("stop_sequences[{index}]"), "a string"))?;
            prompt.stop.push(text.to_owned());
        }
    }
    prompt.service_tier = body.text("service_tier")?.map(|tier| match tier.as_str() {
        "standard_only" => "default".to_owned(),
        _ => tier,
    });
    if let Some(mut metadata) = body.object("metadata")? {
        prompt.user = metadata.text("user_id")?;
        metadata.rest(&mut prompt.extra);
    }
    let mut reasoning = thinking(body, prompt)?;
    output(body, prompt, &mut reasoning)?;
    prompt.reasoning = reasoning;
    Ok(())
}

fn thinking(body: &mut Node, prompt: &mut Prompt) -> Result<Option<Reasoning>, Fault> {
    let Some(mut thinking) = body.object("thinking")? else { return Ok(None) };
    let mut reasoning = Reasoning::default();
    let kind = thinking.required_text("type")?;
    reasoning.enabled = Some(!matches!(kind.as_str(), "disabled" | "between_tools"));
    match kind.as_str() {
        "enabled" => {
            let budget = thinking.count("budget_tokens")?;
            reasoning.budget = Some(
                budget.ok_or_else(|| wrong(thinking.at("budget_tokens"), "a whole number, 1024 or above"))?,
            );
        }
        "adaptive" => reasoning.adaptive = true,
        "disabled" | "between_tools" => {}
        _ => return Err(wrong(thinking.at("type"), "'adaptive', 'enabled', 'disabled' or 'between_tools'")),
    }
    reasoning.summary = thinking.text("display")?.map(|display| match display.as_str() {
        "omitted" => "none".to_owned(),
        _ => display,
    });
    thinking.rest(&mut prompt.extra);
    Ok(Some(reasoning))
}

fn output(body: &mut Node, prompt: &mut Prompt, reasoning: &mut Option<Reasoning>) -> Result<(), Fault> {
    let legacy = body.object("output_format")?;
    let Some(mut config) = body.object("output_config")? else {
        prompt.output = legacy.map(format).transpose()?;
        return Ok(());
    };
    if let Some(effort) = config.text("effort")? {
        let effort = Effort::parse(&effort)
            .ok_or_else(|| wrong(config.at("effort"), "'low', 'medium', 'high', 'xhigh' or 'max'"))?;
        reasoning.get_or_insert_default().effort = Some(effort);
    }
    prompt.output = config.object("format")?.or(legacy).map(format).transpose()?;
    config.rest(&mut prompt.extra);
    Ok(())
}

fn format(mut format: Node) -> Result<OutputFormat, Fault> {
    if format.required_text("type")? != "json_schema" {
        return Err(wrong(format.at("type"), "'json_schema'"));
    }
    let schema = format.required("schema")?;
    if !schema.is_object() {
        return Err(wrong(format.at("schema"), "a JSON Schema object"));
    }
    Ok(OutputFormat::Schema { name: SCHEMA_NAME.to_owned(), description: None, schema, strict: None })
}
