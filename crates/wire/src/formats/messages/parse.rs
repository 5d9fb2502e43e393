//! Parses and validates a request into the canonical model; members without a canonical field are kept by their path.

mod content;
mod settings;
mod tools;
mod turns;

use domain::call::Format;
use domain::canon::Prompt;
use domain::fault::Fault;
use serde_json::{Map, Value};

use crate::codec::Request;
use crate::members::Members;

pub fn parse(request: &Request) -> Result<Prompt, Fault> {
    request.object.check_elements()?;
    let members: Map<String, Value> = serde_json::from_slice(&request.body)
        .map_err(|error| domain::fault::invalid_json(error.to_string()))?;
    let mut body = Members::top(members);
    let mut prompt = Prompt::new(Format::Messages);
    for transport in ["model", "stream"] {
        body.take(transport);
    }
    if request.provider_hint.is_some() {
        body.take("provider");
    }
    turns::system(&mut body, &mut prompt)?;
    turns::read(&mut body, &mut prompt)?;
    tools::tools(&mut body, &mut prompt)?;
    tools::choice(&mut body, &mut prompt)?;
    settings::settings(&mut body, &mut prompt)?;
    body.store_rest(&mut prompt.extra);
    prompt.pair_results("tool_use_id")?;
    Ok(prompt)
}
