//! Parses a Gemini request into the canonical model.

mod media;
mod node;
mod schema;
mod settings;
mod tools;
mod turns;

use domain::call::Format;
use domain::canon::Prompt;
use domain::fault::{self, Fault};
use serde_json::Value;

use crate::codec::Request;
use node::Node;

/// Members that are parsed here or only concern transport; the others are kept as written.
const KNOWN: &[&str] =
    &["contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "model", "stream"];

pub fn parse(request: &Request) -> Result<Prompt, Fault> {
    request.object.check_elements()?;
    let body: Value = serde_json::from_slice(&request.body)
        .map_err(|error| fault::invalid_json(format!("The body is not valid JSON: {error}.")))?;
    let root = Node::root(&body);
    let mut prompt = Prompt::new(Format::Gemini);
    if let Some(system) = root.get("systemInstruction") {
        prompt.turns.push(turns::system(&system)?);
    }
    turns::read(&root, &mut prompt)?;
    tools::read(&root, &mut prompt)?;
    settings::read(&root, &mut prompt)?;
    for (name, value) in root.rest(KNOWN) {
        let hint = name == "provider" && value.is_string();
        if !hint {
            prompt.extra.insert(name, value.clone());
        }
    }
    prompt.pair_results("functionResponse")?;
    Ok(prompt)
}

#[cfg(test)]
mod tests;
