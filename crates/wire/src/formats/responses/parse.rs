//! Parses a complete request into the canonical prompt; faults name the field.

mod content;
mod settings;
mod tools;
mod turns;

use domain::call::Format;
use domain::canon::{Part, Prompt, Role, Turn};
use domain::fault::{self, Fault};
use serde_json::Value;

use crate::codec::Request;
use crate::members::Members;
use turns::Conversation;

/// Members that control transport and storage and are not part of the prompt.
const TRANSPORT: &[&str] = &[
    "model",
    "provider",
    "stream",
    "stream_options",
    "store",
    "include",
    "previous_response_id",
    "client_metadata",
];

pub fn parse(request: &Request) -> Result<Prompt, Fault> {
    request.object.check_elements()?;
    let Ok(Value::Object(members)) = serde_json::from_slice(&request.body) else {
        return Err(fault::invalid_json("The body must be a JSON object."));
    };
    let mut root = Members::top(members);
    let mut prompt = Prompt::new(Format::Responses);
    if let Some(text) = root.string("instructions")?.filter(|text| !text.is_empty()) {
        prompt.turns.push(Turn::new(Role::System, vec![Part::text(text).at("instructions")]));
    }
    let given = root.take("input");
    let mut conversation = Conversation::new(prompt.turns);
    match given {
        Some(Value::String(text)) => {
            conversation.push_turn(Role::User, vec![Part::text(text).at("input")]);
        }
        Some(Value::Array(items)) => conversation.read(items)?,
        Some(_) => {
            return Err(fault::invalid_parameter("input", "'input' must be a string or an array of items."));
        }
        None => {}
    }
    let (turns, among_items) = conversation.finish();
    prompt.turns = turns;
    if prompt.turns.is_empty() {
        return Err(fault::invalid_parameter("input", "'input' must hold at least one item."));
    }
    tools::read(&mut root, among_items, &mut prompt)?;
    settings::read(&mut root, &mut prompt)?;
    // False is the default and not kept.
    if root.boolean("background")? == Some(true) {
        root.put("background", Value::Bool(true));
    }
    for name in TRANSPORT {
        root.take(name);
    }
    prompt.extra = root.rest();
    prompt.pair_results("call_id")?;
    Ok(prompt)
}
