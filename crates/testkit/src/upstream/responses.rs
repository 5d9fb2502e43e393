//! OpenAI's Responses API, including the lifecycle of stored responses.

mod items;
mod lifecycle;
mod pairing;
mod render;
mod stream;
mod validate;

#[cfg(test)]
mod tests;

use serde_json::{Value, json};

use super::memory::Stored;
use super::model_name::ModelName;
use super::openai;
use super::parsed_request::{Attachment, Choice, ParsedRequest, Tool};
use super::rejection::{UpstreamRejection, given, list, text_of};
use super::upstream_request::{AcceptedRequest, UpstreamRequest};

pub(super) use lifecycle::{compact, input_tokens, manage};
use render::ResponsesRenderer;

/// The input of a request: its own items, after those of the previous response.
struct Input {
    items: Vec<Value>,
    /// Number of items from previous responses.
    before: usize,
}

pub(super) fn open<'a>(
    context: &UpstreamRequest<'a>,
    request: &Value,
) -> Result<AcceptedRequest<'a>, UpstreamRejection> {
    openai::bearer(context)?;
    let name = ModelName::parse(request["model"].as_str().unwrap_or_default());
    let input = admit(context, request, &name)?;
    let parsed = read(context, request, &input.items, name);
    let renderer = ResponsesRenderer {
        id: context.id.clone(),
        created: context.created,
        request: request.clone(),
        memory: context.memory,
        own_input: input.items[input.before..].to_vec(),
        conversation: input.items,
    };
    Ok(AcceptedRequest { parsed, renderer: Box::new(renderer) })
}

/// Validates the request and assembles the conversation.
fn admit(
    context: &UpstreamRequest<'_>,
    request: &Value,
    name: &ModelName,
) -> Result<Input, UpstreamRejection> {
    validate::validate(request, name)?;
    let mut conversation = match given(request, "previous_response_id") {
        None => Vec::new(),
        Some(id) => previous(context, id)?.conversation,
    };
    let before = conversation.len();
    conversation.extend(normalised(&request["input"]));
    items::validate(&conversation[before..], context.memory)?;
    pairing::validate(&conversation, before)?;
    Ok(Input { items: conversation, before })
}

fn previous(context: &UpstreamRequest<'_>, id: &Value) -> Result<Stored, UpstreamRejection> {
    let text = id.as_str().unwrap_or_default();
    context.memory.stored(text).ok_or_else(|| {
        let message = format!("Previous response with id '{text}' not found.");
        UpstreamRejection::at("previous_response_id", message).code("previous_response_not_found")
    })
}

/// Normalises input: a string is one user message, items without a type are messages.
fn normalised(input: &Value) -> Vec<Value> {
    if let Value::String(text) = input {
        let part = json!({"type": "input_text", "text": text});
        return vec![json!({"type": "message", "role": "user", "content": [part]})];
    }
    let typed = |item: &Value| {
        let mut item = item.clone();
        if item.is_object() && given(&item, "type").is_none() {
            item["type"] = json!("message");
        }
        item
    };
    list(input).iter().map(typed).collect()
}

/// Whether a turn is an instruction; some clients put those last.
fn is_instruction(turn: &&Value) -> bool {
    turn["role"] == "system" || turn["role"] == "developer"
}

fn read(context: &UpstreamRequest<'_>, request: &Value, items: &[Value], name: ModelName) -> ParsedRequest {
    let is_result = |item: &&Value| item["type"].as_str().is_some_and(|kind| kind.ends_with("_call_output"));
    let is_user = |item: &&Value| item["type"] == "message" && item["role"] == "user";
    let tail = |keep: &dyn Fn(&&Value) -> bool| {
        let mut tail: Vec<String> =
            items.iter().rev().skip_while(is_instruction).take_while(keep).map(item_text).collect();
        tail.reverse();
        tail
    };
    let results = tail(&is_result);
    let mut texts = vec![request["instructions"].as_str().unwrap_or_default().to_owned()];
    texts.extend(items.iter().map(item_text));
    let reasons = given(request, "reasoning").is_some_and(|reasoning| reasoning["effort"] != "none")
        || name.is_reasoning();
    ParsedRequest {
        name,
        raw: context.raw.to_vec(),
        streams: request["stream"] == true,
        texts,
        last_text: items.last().map(item_text).unwrap_or_default(),
        user_text: tail(&is_user).join("\n"),
        results: (!results.is_empty()).then(|| results.join("; ")),
        any_result: items.iter().any(|item| is_result(&item)),
        tools: list(&request["tools"]).iter().flat_map(tools).collect(),
        choice: choice(&request["tool_choice"]),
        schema: given(&request["text"]["format"], "schema").cloned(),
        limit: request["max_output_tokens"].as_u64(),
        reasons,
        images: items.iter().flat_map(seen).collect(),
        ..ParsedRequest::default()
    }
}

fn item_text(item: &Value) -> String {
    match item["type"].as_str() {
        Some("message") => text_of(&item["content"]),
        Some("function_call_output" | "custom_tool_call_output") => text_of(&item["output"]),
        _ => String::new(),
    }
}

fn tools(tool: &Value) -> Vec<Tool> {
    let name = tool["name"].as_str().unwrap_or_default().to_owned();
    match tool["type"].as_str() {
        Some("function") => vec![Tool { name, schema: tool["parameters"].clone(), custom: false }],
        Some("custom") => vec![Tool { name, schema: Value::Null, custom: true }],
        _ => Vec::new(),
    }
}

fn choice(choice: &Value) -> Choice {
    match choice.as_str() {
        Some("none") => Choice::None,
        Some("required") => Choice::Any,
        _ => choice["name"].as_str().map_or(Choice::Auto, |name| Choice::Named(name.to_owned())),
    }
}

fn seen(item: &Value) -> Vec<Attachment> {
    let parts = list(&item["content"]).iter().chain(list(&item["output"]));
    let url = |part: &Value| part["image_url"].as_str().or(part["file_data"].as_str()).map(Attachment::url);
    parts.filter_map(url).collect()
}
