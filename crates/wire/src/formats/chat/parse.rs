//! Parses a client's chat request into the canonical model.

mod content;
mod members;
mod messages;
mod tools;

use domain::call::Format;
use domain::canon::{Effort, Prompt, Reasoning, Sampling};
use domain::fault::{self, Fault};
use serde_json::Value;

use crate::codec::Request;
use members::{Members, wrong};

/// Members that control transport and storage and are not part of the prompt.
const TRANSPORT: [&str; 4] = ["model", "stream", "stream_options", "store"];

pub fn parse(request: &Request) -> Result<Prompt, Fault> {
    request.object.check_elements()?;
    let body: Value = serde_json::from_slice(&request.body)
        .map_err(|error| fault::invalid_json(format!("The body is not valid JSON: {error}.")))?;
    let mut members = Members::of(body, "")?;
    let mut prompt = Prompt::new(Format::Chat);
    let messages = members.array("messages")?.ok_or_else(|| members.missing("messages"))?;
    prompt.turns = messages::read(messages)?;
    prompt.max_output = limit(&mut members)?;
    prompt.user = match members.string("user")? {
        None => members.string("safety_identifier")?,
        user => user,
    };
    for name in TRANSPORT {
        members.take(name);
    }
    // A string is the gateway's own hint; an object is meant for the provider.
    if members.peek("provider").is_some_and(Value::is_string) {
        members.take("provider");
    }
    tools::read(&mut members, &mut prompt)?;
    prompt.sampling = sampling(&mut members)?;
    prompt.stop = stop(&mut members)?;
    prompt.reasoning = reasoning(&mut members)?;
    prompt.verbosity = members.string("verbosity")?;
    prompt.metadata = members.take("metadata");
    prompt.service_tier = members.string("service_tier")?;
    prompt.choices = members.positive("n")?.unwrap_or(1);
    prompt.extra = members.rest();
    prompt.pair_results("tool_call_id")?;
    Ok(prompt)
}

fn limit(members: &mut Members) -> Result<Option<u64>, Fault> {
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
                _ => Err(wrong(&format!("stop[{index}]"), "a string")),
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
