//! Parses a client's chat request into the canonical model.

mod content;
mod settings;
mod tools;
mod turns;

use domain::call::Format;
use domain::canon::Prompt;
use domain::fault::{self, Fault};
use serde_json::Value;

use crate::codec::Request;
use crate::members::Members;

/// Members that control transport and storage and are not part of the prompt.
const TRANSPORT: [&str; 4] = ["model", "stream", "stream_options", "store"];

pub fn parse(request: &Request) -> Result<Prompt, Fault> {
    request.object.check_elements()?;
    let body: Value = serde_json::from_slice(&request.body)
        .map_err(|error| fault::invalid_json(format!("The body is not valid JSON: {error}.")))?;
    let mut members = Members::of(body, "")?;
    let mut prompt = Prompt::new(Format::Chat);
    let messages = members.array("messages")?.ok_or_else(|| members.missing("messages"))?;
    prompt.turns = turns::read(messages)?;
    prompt.max_output = settings::limit(&mut members)?;
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
    settings::read(&mut members, &mut prompt)?;
    prompt.extra = members.rest();
    prompt.pair_results("tool_call_id")?;
    Ok(prompt)
}
