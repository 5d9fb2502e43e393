//! Gemini's generateContent.

mod render;
mod schema;
mod turns;
mod validate;

#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

use super::model_name::ModelName;
use super::openai::texts;
use super::parsed_request::{Attachment, Choice, ParsedRequest, Tool};
use super::rejection::{UpstreamRejection, ValidationResult, given, list, text_of};
use super::upstream_request::{AcceptedRequest, UpstreamRequest};
use render::GeminiRenderer;

fn refuse(path: &str, message: impl Into<String>) -> UpstreamRejection {
    UpstreamRejection::at(path, message)
}

pub(super) fn check_credential(context: &UpstreamRequest<'_>) -> ValidationResult {
    if context.header("x-goog-api-key").or(context.parameter("key")).is_none() {
        let message = "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.";
        return Err(UpstreamRejection::new(401, message));
    }
    Ok(())
}

pub(super) fn open<'a>(
    context: &UpstreamRequest<'a>,
    request: &Value,
    model: &str,
    streams: bool,
) -> Result<AcceptedRequest<'a>, UpstreamRejection> {
    check_credential(context)?;
    let request = camel(request);
    let name = ModelName::parse(model);
    validate::validate(&request, &name, context.memory)?;
    let reasons = request["generationConfig"]["thinkingConfig"]["includeThoughts"] == true;
    let events = context.parameter("alt") == Some("sse");
    let renderer = GeminiRenderer {
        id: context.id.clone(),
        memory: context.memory,
        signs: reasons || name.is_gemini_3(),
        numbers_calls: name.is_gemini_3(),
        as_list: streams && !events,
    };
    let parsed = ParsedRequest { streams: streams && events, reasons, ..read(context, &request, name) };
    Ok(AcceptedRequest { parsed, renderer: Box::new(renderer) })
}

pub(super) fn count_tokens(
    context: &UpstreamRequest<'_>,
    request: &Value,
    model: &str,
) -> Result<Value, UpstreamRejection> {
    check_credential(context)?;
    let request = camel(request);
    let request = given(&request, "generateContentRequest").unwrap_or(&request);
    turns::validate(request, &ModelName::parse(model), context.memory)?;
    Ok(json!({"totalTokens": read(context, request, ModelName::parse(model)).prompt_tokens()}))
}

/// Converts names to camel case, as the protocol accepts both; names chosen by users are kept.
fn camel(value: &Value) -> Value {
    const OPAQUE: [&str; 7] =
        ["args", "response", "parametersJsonSchema", "responseJsonSchema", "labels", "default", "example"];
    match value {
        Value::Array(items) => items.iter().map(camel).collect(),
        Value::Object(members) => {
            let renamed = members.iter().map(|(name, member)| {
                let name = camel_name(name);
                let member = match (name.as_str(), member) {
                    (name, member) if OPAQUE.contains(&name) => member.clone(),
                    // The names in a schema's properties are chosen by the user.
                    ("properties", Value::Object(own)) => {
                        own.iter().map(|(name, schema)| (name.clone(), camel(schema))).collect()
                    }
                    (_, member) => camel(member),
                };
                (name, member)
            });
            Value::Object(renamed.collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

fn camel_name(name: &str) -> String {
    let mut parts = name.split('_');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |name, part| {
        let mut letters = part.chars();
        name + &letters
            .next()
            .map(|first| first.to_ascii_uppercase())
            .into_iter()
            .chain(letters)
            .collect::<String>()
    })
}

fn read(context: &UpstreamRequest<'_>, request: &Value, name: ModelName) -> ParsedRequest {
    let contents = list(&request["contents"]);
    let parts = || contents.iter().flat_map(|content| list(&content["parts"]));
    let user = |content: &&Value| content["role"] != "model";
    let mut tail: Vec<String> = contents.iter().rev().take_while(user).map(content_text).collect();
    tail.reverse();
    let last = contents.last().unwrap_or(&Value::Null);
    let results: Vec<String> = list(&last["parts"]).iter().filter_map(result_text).collect();
    let mut texts_of = vec![text_of(&request["systemInstruction"]["parts"])];
    texts_of.extend(contents.iter().map(content_text));
    let config = &request["generationConfig"];
    ParsedRequest {
        name,
        raw: context.raw.to_vec(),
        texts: texts_of,
        last_text: content_text(last),
        user_text: tail.join("\n"),
        results: (!results.is_empty()).then(|| results.join("; ")),
        any_result: parts().any(|part| part["functionResponse"].is_object()),
        tools: declarations(request).map(tool).collect(),
        choice: choice(&request["toolConfig"]["functionCallingConfig"]),
        schema: given(config, "responseJsonSchema").or(given(config, "responseSchema")).cloned(),
        stop: texts(&config["stopSequences"]),
        limit: config["maxOutputTokens"].as_u64(),
        images: parts().flat_map(seen).collect(),
        ..ParsedRequest::default()
    }
}

fn content_text(content: &Value) -> String {
    let parts = list(&content["parts"]).iter().filter(|part| part["thought"] != true);
    let text = |part: &Value| part["text"].as_str().map(str::to_owned).or_else(|| result_text(part));
    parts.filter_map(text).collect::<Vec<_>>().join(" ")
}

/// The text of a result object, or the whole object as JSON.
fn result_text(part: &Value) -> Option<String> {
    let response = part.get("functionResponse")?.get("response")?;
    let text = ["result", "output", "content", "error"].iter().find_map(|member| response[*member].as_str());
    Some(text.map_or_else(|| response.to_string(), str::to_owned))
}

fn declarations(request: &Value) -> impl Iterator<Item = &Value> {
    list(&request["tools"]).iter().flat_map(|tool| list(&tool["functionDeclarations"]))
}

fn tool(declaration: &Value) -> Tool {
    let schema = given(declaration, "parametersJsonSchema").unwrap_or(&declaration["parameters"]);
    let name = declaration["name"].as_str().unwrap_or_default().to_owned();
    Tool { name, schema: schema.clone(), custom: false }
}

fn choice(config: &Value) -> Choice {
    let allowed = list(&config["allowedFunctionNames"]);
    match (config["mode"].as_str(), allowed) {
        (Some("NONE"), _) => Choice::None,
        (Some("ANY"), [one, ..]) => Choice::Named(one.as_str().unwrap_or_default().to_owned()),
        (Some("ANY"), []) => Choice::Any,
        _ => Choice::Auto,
    }
}

fn seen(part: &Value) -> Vec<Attachment> {
    let mut inside: Vec<Attachment> =
        list(&part["functionResponse"]["parts"]).iter().flat_map(seen).collect();
    let media = |data: &Value| data["mimeType"].as_str().unwrap_or_default().to_owned();
    if let Some(data) = part.get("inlineData") {
        inside.push(Attachment::base64(&media(data), data["data"].as_str().unwrap_or_default()));
    } else if let Some(file) = part.get("fileData") {
        inside.push(Attachment { media_type: media(file), bytes: None });
    }
    inside
}
