//! Composes the demo model's answer: an echo, a tool call, a tool's result or an object that fits the requested schema.

use serde_json::{Value, json};

use super::schema;

pub(super) struct Composed {
    pub(super) content: AnswerContent,
    pub(super) finish_reason: &'static str,
    pub(super) prompt_tokens: u64,
    pub(super) completion_tokens: u64,
}

pub(super) enum AnswerContent {
    /// Words, each with the white space that follows it; a word counts as one token.
    Text(Vec<String>),
    Call {
        name: String,
        arguments: String,
    },
}

const ABOUT: &str = "This is Gatehouse's built-in demo model. It needs no key and no network and says the same \
                     every time; configure a provider to talk to a real model.";

/// Limit on the words of all choices of one answer, because the whole answer is built in memory.
const MOST_WORDS: u64 = 16_384;

pub(super) fn compose(request: &Value) -> Composed {
    let messages = request["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let last = messages.last().unwrap_or(&Value::Null);
    let asked =
        messages.iter().rev().find(|message| message["role"] == "user").map(text_of).unwrap_or_default();
    let prompt_tokens = prompt_tokens(request, messages);
    if last["role"] != "tool"
        && let Some(function) = called(request, &asked)
    {
        let arguments = schema::sample(&function["parameters"]).to_string();
        let name = function["name"].as_str().unwrap_or_default().to_owned();
        let completion_tokens = 1 + count(&arguments);
        let content = AnswerContent::Call { name, arguments };
        return Composed { content, finish_reason: "tool_calls", prompt_tokens, completion_tokens };
    }
    let text = match request["response_format"]["type"].as_str() {
        Some("json_schema") => {
            schema::sample(&request["response_format"]["json_schema"]["schema"]).to_string()
        }
        Some("json_object") => json!({"answer": format!("You said: {asked}")}).to_string(),
        _ if last["role"] == "tool" => format!("The tool answered: {}\n\n{ABOUT}", text_of(last)),
        _ => format!("You said: {asked}\n\n{ABOUT}"),
    };
    let mut words = words(&text);
    let asked_limit = ["max_completion_tokens", "max_tokens"].iter().find_map(|name| request[name].as_u64());
    let choices = request["n"].as_u64().unwrap_or(1).clamp(1, 128);
    let limit = Some(asked_limit.unwrap_or(u64::MAX).min(MOST_WORDS / choices));
    let cut = limit.is_some_and(|limit| (words.len() as u64) > limit);
    words.truncate(limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX));
    Composed {
        finish_reason: if cut { "length" } else { "stop" },
        completion_tokens: words.len() as u64,
        content: AnswerContent::Text(words),
        prompt_tokens,
    }
}

pub(super) fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for piece in text.split_inclusive(char::is_whitespace) {
        match words.last_mut() {
            Some(word) if piece.trim().is_empty() => word.push_str(piece),
            _ => words.push(piece.to_owned()),
        }
    }
    words
}

fn count(text: &str) -> u64 {
    text.split_whitespace().count() as u64
}

/// Estimates the prompt tokens: one per word, one per message, and a quarter of the length of the tools' JSON.
fn prompt_tokens(request: &Value, messages: &[Value]) -> u64 {
    let in_messages: u64 = messages.iter().map(|message| 1 + count(&text_of(message))).sum();
    let tools = request.get("tools").map_or(0, |tools| tools.to_string().len() as u64 / 4);
    in_messages + tools
}

fn text_of(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// The function to call: required by `tool_choice`, or named in the user's message.
fn called<'a>(request: &'a Value, asked: &str) -> Option<&'a Value> {
    let tools = request["tools"].as_array()?;
    let mut functions =
        tools.iter().map(|tool| &tool["function"]).filter(|function| function["name"].is_string());
    let choice = &request["tool_choice"];
    if let Some(name) = choice["function"]["name"].as_str() {
        return functions.find(|function| function["name"] == name);
    }
    match choice.as_str() {
        Some("none") => None,
        Some("required") => functions.next(),
        _ => {
            let asked = asked.to_lowercase();
            functions.find(|function| {
                let name = function["name"].as_str().unwrap_or_default().to_lowercase();
                asked.contains(&name) || asked.contains(&name.replace('_', " "))
            })
        }
    }
}
