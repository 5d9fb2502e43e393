//! Anthropic Messages.

mod blocks;
mod pairing;
mod render;
mod thinking;
mod tools;
mod validate;

#[cfg(test)]
mod tests;

use serde_json::{Value, json};

use super::model_name::ModelName;
use super::openai::{self, texts};
use super::parsed_request::{Attachment, Choice, ParsedRequest, Tool};
use super::rejection::{UpstreamRejection, ValidationResult, given, list, text_of};
use super::upstream_request::{AcceptedRequest, UpstreamRequest};
use render::MessagesRenderer;

/// A validation error in Anthropic's wording.
fn refuse(path: &str, message: &str) -> UpstreamRejection {
    let text = if path.is_empty() { message.to_owned() } else { format!("{path}: {message}") };
    UpstreamRejection::at(path, text)
}

pub(super) fn check_credential(context: &UpstreamRequest<'_>) -> ValidationResult {
    // Newer SDKs send their key as a bearer token.
    if context.header("x-api-key").is_none() && openai::bearer(context).is_err() {
        return Err(UpstreamRejection::new(401, "x-api-key header is required"));
    }
    if context.header("anthropic-version").is_none() {
        return Err(refuse("anthropic-version", "header is required"));
    }
    Ok(())
}

pub(super) fn open<'a>(
    context: &UpstreamRequest<'a>,
    request: &Value,
) -> Result<AcceptedRequest<'a>, UpstreamRejection> {
    check_credential(context)?;
    let name = ModelName::parse(request["model"].as_str().unwrap_or_default());
    let beta = context.header("anthropic-beta").is_some();
    validate::validate(request, &name, beta, context.memory)?;
    let adaptive_only = name.claude().is_adaptive_only();
    let renderer = MessagesRenderer {
        id: context.id.clone(),
        memory: context.memory,
        shows_thinking: !adaptive_only || request["thinking"]["display"] == "summarized",
    };
    Ok(AcceptedRequest { parsed: read(context, request, name), renderer: Box::new(renderer) })
}

pub(super) fn count_tokens(
    context: &UpstreamRequest<'_>,
    request: &Value,
) -> Result<Value, UpstreamRejection> {
    check_credential(context)?;
    let name = ModelName::parse(request["model"].as_str().unwrap_or_default());
    validate::count_tokens(request, &name, context.header("anthropic-beta").is_some(), context.memory)?;
    Ok(json!({"input_tokens": read(context, request, name).prompt_tokens()}))
}

fn read(context: &UpstreamRequest<'_>, request: &Value, name: ModelName) -> ParsedRequest {
    let messages = list(&request["messages"]);
    let turns = pairing::merged(messages);
    let last = turns.last();
    let results = last.map(|(_, blocks)| blocks.iter().filter(|block| block["type"] == "tool_result"));
    let results: Vec<String> =
        results.into_iter().flatten().map(|block| text_of(&block["content"])).collect();
    let text = |blocks: &[Value]| blocks.iter().map(block_text).collect::<Vec<_>>().join(" ");
    let mut texts_of = vec![text_of(&request["system"])];
    texts_of.extend(messages.iter().map(|message| text(&pairing::blocks(message))));
    let thinks = matches!(request["thinking"]["type"].as_str(), Some("enabled" | "adaptive"));
    ParsedRequest {
        name,
        raw: context.raw.to_vec(),
        streams: request["stream"] == true,
        texts: texts_of,
        last_text: messages.last().map(|message| text(&pairing::blocks(message))).unwrap_or_default(),
        user_text: last
            .filter(|(role, _)| *role == "user")
            .map(|(_, blocks)| text(blocks))
            .unwrap_or_default(),
        results: (!results.is_empty()).then(|| results.join("; ")),
        any_result: turns.iter().flat_map(|(_, blocks)| blocks).any(|block| block["type"] == "tool_result"),
        tools: list(&request["tools"]).iter().filter_map(tool).collect(),
        choice: choice(&request["tool_choice"]),
        schema: given(&request["output_config"]["format"], "schema").cloned(),
        stop: texts(&request["stop_sequences"]),
        limit: request["max_tokens"].as_u64(),
        reasons: thinks,
        images: turns.iter().flat_map(|(_, blocks)| blocks).flat_map(seen).collect(),
    }
}

/// The text of a block or of the result in it.
fn block_text(block: &Value) -> String {
    match block["type"].as_str() {
        Some("tool_result") => text_of(&block["content"]),
        _ => block["text"].as_str().unwrap_or_default().to_owned(),
    }
}

fn tool(tool: &Value) -> Option<Tool> {
    let schema = tool["input_schema"].clone();
    Some(Tool { name: tool["name"].as_str()?.to_owned(), schema, custom: false })
}

fn choice(choice: &Value) -> Choice {
    match choice["type"].as_str() {
        Some("none") => Choice::None,
        Some("any") => Choice::Any,
        Some("tool") => Choice::Named(choice["name"].as_str().unwrap_or_default().to_owned()),
        _ => Choice::Auto,
    }
}

fn seen(block: &Value) -> Vec<Attachment> {
    let source = &block["source"];
    match block["type"].as_str() {
        Some("tool_result") => list(&block["content"]).iter().flat_map(seen).collect(),
        Some("image" | "document") => match source["data"].as_str() {
            Some(data) if source["type"] == "base64" => {
                vec![Attachment::base64(source["media_type"].as_str().unwrap_or_default(), data)]
            }
            _ => {
                vec![Attachment {
                    media_type: source["type"].as_str().unwrap_or_default().to_owned(),
                    bytes: None,
                }]
            }
        },
        _ => Vec::new(),
    }
}
