//! Parses limits, sampling, reasoning effort and labels.

use domain::canon::{Effort, Prompt, Reasoning, Sampling};
use domain::fault::Fault;
use serde_json::Value;

use crate::members::{Members, wrong};

pub fn read(members: &mut Members, prompt: &mut Prompt) -> Result<(), Fault> {
    prompt.sampling = sampling(members)?;
    prompt.stop = stop(members)?;
    prompt.reasoning = reasoning(members)?;
    prompt.verbosity = members.string("verbosity")?;
    prompt.metadata = members.take("metadata");
    prompt.service_tier = members.string("service_tier")?;
    prompt.choices = members.positive("n")?.unwrap_or(1);
    Ok(())
}

pub fn limit(members: &mut Members) -> Result<Option<u64>, Fault> {
    let old = members.positive("max_tokens")?;
    Ok(members.positive("max_completion_tokens")?.or(old))
}

fn sampling(members: &mut Members) -> Result<Sampling, Fault> {
    Ok(Sampling {
        temperature: members.number("temperature")?,
        top_p: members.number("top_p")?,
        top_k: top_k(members),
        seed: members.integer("seed")?,
        presence_penalty: members.number("presence_penalty")?,
        frequency_penalty: members.number("frequency_penalty")?,
    })
}

/// Reads `top_k`, which OpenAI does not have. Servers that do accept -1 for "no limit", which is left in place for
/// them.
fn top_k(members: &mut Members) -> Option<u64> {
    let top_k = members.peek("top_k")?.as_u64()?;
    members.take("top_k");
    Some(top_k)
}

fn stop(members: &mut Members) -> Result<Vec<String>, Fault> {
    let expected = "a string or an array of strings";
    match members.take("stop") {
        None => Ok(Vec::new()),
        Some(Value::String(text)) => Ok(vec![text]),
        Some(Value::Array(texts)) => {
            let read = |(index, text)| match text {
                Value::String(text) => Ok(text),
                _ => Err(wrong(format!("stop[{index}]"), "a string")),
            };
            texts.into_iter().enumerate().map(read).collect()
        }
        Some(_) => Err(wrong("stop", expected)),
    }
}

fn reasoning(members: &mut Members) -> Result<Option<Reasoning>, Fault> {
    let Some(word) = members.string("reasoning_effort")? else { return Ok(None) };
    if word == "none" {
        return Ok(Some(Reasoning { enabled: Some(false), ..Reasoning::default() }));
    }
    let Some(effort) = Effort::parse(&word) else {
        let allowed = "'none', 'minimal', 'low', 'medium', 'high', 'xhigh' and 'max'";
        return Err(members.unknown("reasoning_effort", &word, allowed));
    };
    Ok(Some(Reasoning { enabled: Some(true), effort: Some(effort), ..Reasoning::default() }))
}
