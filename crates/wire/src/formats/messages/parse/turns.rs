//! Parses the system prompt and the messages into turns.

use domain::canon::{Content, Part, Prompt, Role, Turn};
use domain::fault::Fault;

use super::content;
use crate::members::{Members, elements, wrong};

pub(super) fn system(body: &mut Members, prompt: &mut Prompt) -> Result<(), Fault> {
    let Some(value) = body.take("system") else { return Ok(()) };
    let parts = content::parts(value, "system", Role::System, &mut prompt.extra)?;
    if !parts.is_empty() {
        prompt.turns.push(Turn::new(Role::System, parts));
    }
    Ok(())
}

pub(super) fn read(body: &mut Members, prompt: &mut Prompt) -> Result<(), Fault> {
    for (index, value) in elements(body.required("messages")?, "messages")?.into_iter().enumerate() {
        let mut message = Members::of(value, format!("messages[{index}]"))?;
        let role = message.required_string("role")?;
        let role = match role.as_str() {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            "system" => Role::System,
            _ => return Err(wrong(message.path("role"), "'user', 'assistant' or 'system'")),
        };
        let place = message.path("content");
        let parts = content::parts(message.required("content")?, &place, role, &mut prompt.extra)?;
        message.store_rest(&mut prompt.extra);
        push(&mut prompt.turns, role, parts);
    }
    Ok(())
}

/// Adds a turn. Tool results get a turn of their own before the user's content, because Anthropic requires them first.
fn push(turns: &mut Vec<Turn>, role: Role, parts: Vec<Part>) {
    let is_result = |part: &Part| matches!(part.content, Content::ToolResult(_));
    let (results, rest): (Vec<Part>, Vec<Part>) = parts.into_iter().partition(is_result);
    if !results.is_empty() {
        turns.push(Turn::new(Role::Tool, results));
    }
    if !rest.is_empty() {
        turns.push(Turn::new(role, rest));
    }
}
