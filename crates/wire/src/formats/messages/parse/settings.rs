//! Parses limits, sampling, thinking and the output format.

use domain::canon::{Effort, OutputFormat, Prompt, Reasoning};
use domain::fault::Fault;

use crate::members::{Members, elements, wrong};

/// Name of the output schema: Anthropic has none, other formats require one.
const SCHEMA_NAME: &str = "output";

pub(super) fn settings(body: &mut Members, prompt: &mut Prompt) -> Result<(), Fault> {
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
    prompt.service_tier = body.string("service_tier")?.map(|tier| match tier.as_str() {
        "standard_only" => "default".to_owned(),
        _ => tier,
    });
    if let Some(mut metadata) = body.object("metadata")? {
        prompt.user = metadata.string("user_id")?;
        metadata.store_rest(&mut prompt.extra);
    }
    let mut reasoning = thinking(body, prompt)?;
    output(body, prompt, &mut reasoning)?;
    prompt.reasoning = reasoning;
    Ok(())
}

fn thinking(body: &mut Members, prompt: &mut Prompt) -> Result<Option<Reasoning>, Fault> {
    let Some(mut thinking) = body.object("thinking")? else { return Ok(None) };
    let mut reasoning = Reasoning::default();
    let kind = thinking.required_string("type")?;
    reasoning.enabled = Some(!matches!(kind.as_str(), "disabled" | "between_tools"));
    match kind.as_str() {
        "enabled" => {
            let budget = thinking.count("budget_tokens")?;
            reasoning.budget = Some(
                budget
                    .ok_or_else(|| wrong(thinking.path("budget_tokens"), "a whole number, 1024 or above"))?,
            );
        }
        "adaptive" => reasoning.adaptive = true,
        "disabled" | "between_tools" => {}
        _ => {
            return Err(wrong(thinking.path("type"), "'adaptive', 'enabled', 'disabled' or 'between_tools'"));
        }
    }
    reasoning.summary = thinking.string("display")?.map(|display| match display.as_str() {
        "omitted" => "none".to_owned(),
        _ => display,
    });
    thinking.store_rest(&mut prompt.extra);
    Ok(Some(reasoning))
}

fn output(body: &mut Members, prompt: &mut Prompt, reasoning: &mut Option<Reasoning>) -> Result<(), Fault> {
    let legacy = body.object("output_format")?;
    let Some(mut config) = body.object("output_config")? else {
        prompt.output = legacy.map(format).transpose()?;
        return Ok(());
    };
    if let Some(effort) = config.string("effort")? {
        let effort = Effort::parse(&effort)
            .ok_or_else(|| wrong(config.path("effort"), "'low', 'medium', 'high', 'xhigh' or 'max'"))?;
        reasoning.get_or_insert_default().effort = Some(effort);
    }
    prompt.output = config.object("format")?.or(legacy).map(format).transpose()?;
    config.store_rest(&mut prompt.extra);
    Ok(())
}

fn format(mut format: Members) -> Result<OutputFormat, Fault> {
    if format.required_string("type")? != "json_schema" {
        return Err(wrong(format.path("type"), "'json_schema'"));
    }
    let schema = format.required("schema")?;
    if !schema.is_object() {
        return Err(wrong(format.path("schema"), "a JSON Schema object"));
    }
    Ok(OutputFormat::Schema { name: SCHEMA_NAME.to_owned(), description: None, schema, strict: None })
}
