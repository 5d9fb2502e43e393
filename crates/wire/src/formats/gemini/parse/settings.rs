//! Parses the generation config: limits, sampling, output format, thinking.

use domain::canon::{Effort, OutputFormat, Prompt, Reasoning};
use domain::fault::Fault;

use super::node::Node;
use super::schema::to_json_schema;

const KNOWN: &[&str] = &[
    "temperature",
    "topP",
    "topK",
    "maxOutputTokens",
    "stopSequences",
    "seed",
    "presencePenalty",
    "frequencyPenalty",
    "candidateCount",
    "responseMimeType",
    "responseSchema",
    "responseJsonSchema",
    "_responseJsonSchema",
    "thinkingConfig",
];

pub fn read(root: &Node<'_>, prompt: &mut Prompt) -> Result<(), Fault> {
    let Some(config) = root.get("generationConfig") else { return Ok(()) };
    config.members()?;
    sampling(&config, prompt)?;
    prompt.max_output = config.get("maxOutputTokens").map(|limit| limit.positive()).transpose()?;
    prompt.choices = config.get("candidateCount").map(|count| count.positive()).transpose()?.unwrap_or(1);
    if let Some(stops) = config.get("stopSequences") {
        for stop in stops.list()? {
            prompt.stop.push(stop.text()?.to_owned());
        }
    }
    output(&config, prompt)?;
    if let Some(thinking) = config.get("thinkingConfig") {
        prompt.reasoning = reasoning(&thinking)?;
    }
    for (name, value) in config.rest(KNOWN) {
        prompt.extra.insert(format!("generationConfig.{name}"), value.clone());
    }
    Ok(())
}

fn sampling(config: &Node<'_>, prompt: &mut Prompt) -> Result<(), Fault> {
    let number = |name: &str| config.get(name).map(|value| value.number()).transpose();
    let sampling = &mut prompt.sampling;
    sampling.temperature = number("temperature")?;
    if sampling.temperature.is_some_and(|temperature| !(0.0..=2.0).contains(&temperature)) {
        return Err(config.required("temperature")?.refuse("must be a number from 0 to 2"));
    }
    sampling.top_p = number("topP")?;
    sampling.presence_penalty = number("presencePenalty")?;
    sampling.frequency_penalty = number("frequencyPenalty")?;
    sampling.top_k = config.get("topK").map(|value| value.positive()).transpose()?;
    sampling.seed = config.get("seed").map(|value| value.integer()).transpose()?;
    Ok(())
}

fn output(config: &Node<'_>, prompt: &mut Prompt) -> Result<(), Fault> {
    let kind = config.get("responseMimeType").map(|kind| kind.text()).transpose()?;
    let plain = config.get("responseJsonSchema").or_else(|| config.get("_responseJsonSchema"));
    let dialect = config.get("responseSchema");
    if let Some(schema) = plain.as_ref().or(dialect.as_ref()) {
        schema.members()?;
    }
    match kind {
        None | Some("text/plain" | "") => {}
        Some("application/json") => {
            let schema = plain
                .map(|schema| schema.value.clone())
                .or_else(|| dialect.map(|schema| to_json_schema(schema.value)));
            prompt.output = Some(match schema {
                None => OutputFormat::Json,
                Some(schema) => OutputFormat::Schema {
                    name: "response".to_owned(),
                    description: None,
                    schema,
                    strict: None,
                },
            });
        }
        // Other media types, such as enumerations as plain text, only exist in this format and are kept as written.
        Some(_) => {
            for name in ["responseMimeType", "responseSchema", "responseJsonSchema"] {
                if let Some(value) = config.get(name) {
                    prompt.extra.insert(format!("generationConfig.{name}"), value.value.clone());
                }
            }
        }
    }
    Ok(())
}

fn reasoning(node: &Node<'_>) -> Result<Option<Reasoning>, Fault> {
    node.members()?;
    let mut reasoning = Reasoning::default();
    if let Some(budget) = node.get("thinkingBudget") {
        match budget.integer()? {
            -1 => reasoning.adaptive = true,
            0 => {}
            tokens => match u64::try_from(tokens) {
                Ok(tokens) => reasoning.budget = Some(tokens),
                Err(_) => return Err(budget.refuse("must be -1, 0 or a number of tokens")),
            },
        }
        reasoning.enabled = Some(reasoning.adaptive || reasoning.budget.is_some());
    }
    if let Some(level) = node.get("thinkingLevel") {
        let word = level.text()?.to_ascii_lowercase();
        if word != "thinking_level_unspecified" {
            reasoning.effort = Some(
                Effort::parse(&word)
                    .ok_or_else(|| level.refuse("must be 'minimal', 'low', 'medium' or 'high'"))?,
            );
            reasoning.enabled = Some(true);
        }
    }
    if let Some(include) = node.get("includeThoughts") {
        let word = if include.boolean()? { "auto" } else { "none" };
        reasoning.summary = Some(word.to_owned());
    }
    Ok((reasoning != Reasoning::default()).then_some(reasoning))
}
