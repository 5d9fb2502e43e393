//! OpenAI's chat format, also as served by Azure and Ollama.

mod render;
mod turns;
mod validate;

#[cfg(test)]
mod tests;

use serde_json::Value;

use super::model_name::ModelName;
use super::openai;
use super::parsed_request::{Attachment, Choice, ParsedRequest, Tool};
use super::rejection::{UpstreamRejection, given, list, text_of};
use super::upstream_request::{AcceptedRequest, UpstreamRequest};

pub(super) use render::ChatRenderer;
pub(super) use render::{event, usage as usage_of};

/// The provider that serves the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Surface {
    OpenAi,
    Azure,
    Ollama,
    /// Gemini's OpenAI-compatible API.
    Gemini,
}

pub(super) fn open<'a>(
    context: &UpstreamRequest<'a>,
    request: &Value,
    surface: Surface,
) -> Result<AcceptedRequest<'a>, UpstreamRejection> {
    let name = ModelName::parse(request["model"].as_str().unwrap_or_default());
    if surface == Surface::OpenAi && name.family.is_some() {
        openai::bearer(context)?;
    }
    validate::validate(request, &name, surface)?;
    let renderer = ChatRenderer {
        id: context.id.clone(),
        created: context.created,
        include_usage: request["stream_options"]["include_usage"] == true,
        azure: surface == Surface::Azure,
        hides_reasoning: name.is_reasoning(),
    };
    Ok(AcceptedRequest { parsed: read(context, request, name), renderer: Box::new(renderer) })
}

/// Whether a turn is an instruction; some clients put those last.
fn is_instruction(turn: &&Value) -> bool {
    turn["role"] == "system" || turn["role"] == "developer"
}

fn read(context: &UpstreamRequest<'_>, request: &Value, name: ModelName) -> ParsedRequest {
    let messages = list(&request["messages"]);
    let is = |role: &'static str| move |message: &&Value| message["role"] == role;
    let text = |message: &Value| text_of(&message["content"]);
    let tail = |role| {
        let mut tail: Vec<String> =
            messages.iter().rev().skip_while(is_instruction).take_while(is(role)).map(text).collect();
        tail.reverse();
        tail
    };
    let results = tail("tool");
    ParsedRequest {
        name,
        raw: context.raw.to_vec(),
        streams: request["stream"] == true,
        texts: messages.iter().map(text).collect(),
        last_text: messages.last().map(text).unwrap_or_default(),
        user_text: tail("user").join("\n"),
        results: (!results.is_empty()).then(|| results.join("; ")),
        any_result: messages.iter().any(|message| message["role"] == "tool"),
        tools: list(&request["tools"]).iter().filter_map(tool).collect(),
        choice: choice(&request["tool_choice"]),
        schema: given(&request["response_format"]["json_schema"], "schema").cloned(),
        stop: openai::texts(&request["stop"]),
        limit: request["max_completion_tokens"].as_u64().or(request["max_tokens"].as_u64()),
        reasons: false,
        images: messages.iter().flat_map(|message| list(&message["content"])).filter_map(seen).collect(),
    }
}

fn tool(tool: &Value) -> Option<Tool> {
    let custom = tool["type"] == "custom";
    let body = if custom { &tool["custom"] } else { &tool["function"] };
    Some(Tool { name: body["name"].as_str()?.to_owned(), schema: body["parameters"].clone(), custom })
}

fn choice(choice: &Value) -> Choice {
    match choice.as_str() {
        Some("none") => Choice::None,
        Some("required") => Choice::Any,
        _ => choice["function"]["name"].as_str().map_or(Choice::Auto, |name| Choice::Named(name.to_owned())),
    }
}

fn seen(part: &Value) -> Option<Attachment> {
    part["image_url"]["url"].as_str().or(part["file"]["file_data"].as_str()).map(Attachment::url)
}
