//! Renders a canonical answer as a complete chat completion.

use std::borrow::Cow;

use bytes::Bytes;
use domain::canon::{Content, Reply, Tool, ToolCall};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::details;
use super::stop::{self, Held};
use super::usage::UsageMember;
use crate::codec::Rendering;
use crate::custom;

/// A chat completion with the gateway's members.
#[derive(Serialize)]
struct Completion<'a> {
    id: String,
    object: &'static str,
    created: i64,
    model: &'a str,
    choices: [Choice<'a>; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<UsageMember>,
    provider: &'a str,
    latency: String,
}

#[derive(Serialize)]
struct Choice<'a> {
    index: u32,
    message: Message<'a>,
    logprobs: (),
    finish_reason: &'static str,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Option<Cow<'a, str>>,
    refusal: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "str::is_empty")]
    reasoning_content: Cow<'a, str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasoning_details: Vec<Map<String, Value>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Value>,
}

pub fn render(reply: &Reply, rendering: &mut Rendering) -> Bytes {
    let (message, held) = message(reply, &rendering.tools);
    let finish_reason = stop::write(&reply.stop, held);
    let whole = Completion {
        id: rendering.ids.answer("chatcmpl-"),
        object: "chat.completion",
        created: rendering.created,
        model: reply.model.as_deref().unwrap_or(&rendering.model),
        choices: [Choice { index: 0, message, logprobs: (), finish_reason }],
        usage: reply.usage.as_ref().map(UsageMember::new),
        provider: &rendering.provider,
        latency: format!("{}ms", rendering.latency_ms),
    };
    serde_json::to_vec(&whole).unwrap_or_default().into()
}

fn message<'a>(reply: &'a Reply, tools: &[Tool]) -> (Message<'a>, Held) {
    let (mut content, mut refusal, mut thoughts) = (None, None, Cow::Borrowed(""));
    let (mut calls, mut entries) = (Vec::new(), Vec::new());
    let mut states = Vec::new();
    let mut signed = false;
    for part in &reply.parts {
        match &part.content {
            Content::Text(text) => *content.get_or_insert(Cow::Borrowed("")) += &**text,
            Content::Refusal(text) => *refusal.get_or_insert(Cow::Borrowed("")) += &**text,
            Content::Thinking(thinking) => {
                thoughts += &*thinking.text;
                signed |= thinking.opaque.is_some();
                entries.extend(details::for_client(&thinking.text, thinking.opaque.as_ref()));
            }
            Content::ToolCall(call) => {
                calls.push(write_call(call, tools));
                states.extend(call.opaque.as_ref().map(|state| details::of_call(&call.id, state, false)));
            }
            // Chat completions cannot express these.
            Content::Image(_)
            | Content::Document(_)
            | Content::Audio(_)
            | Content::ToolResult(_)
            | Content::Foreign { .. } => {}
        }
    }
    if !signed {
        entries.clear();
    }
    entries.extend(states);
    let held = Held { calls: !calls.is_empty(), refusal: refusal.is_some() };
    if !held.calls && !held.refusal {
        content.get_or_insert(Cow::Borrowed(""));
    }
    for (index, entry) in entries.iter_mut().enumerate() {
        entry.entry("index").or_insert_with(|| index.into());
    }
    let message = Message {
        role: "assistant",
        content,
        refusal,
        reasoning_content: thoughts,
        reasoning_details: entries,
        tool_calls: calls,
    };
    (message, held)
}

/// Whether the call is rendered as a custom tool call: a client that declared a custom tool gets plain input, even if
/// the provider was offered a function.
pub fn is_custom(call_is_custom: bool, name: &str, tools: &[Tool]) -> bool {
    let declared =
        |tool: &Tool| matches!(tool, Tool::Custom(_)) && tool.flat_name().is_some_and(|flat| flat == name);
    call_is_custom || tools.iter().any(declared)
}

fn write_call(call: &ToolCall, tools: &[Tool]) -> Value {
    let (id, name) = (call.id.as_str(), call.name.as_str());
    if is_custom(call.custom, name, tools) {
        let input = if call.custom { call.arguments.clone() } else { custom::unwrap(&call.arguments) };
        return json!({"id": id, "type": "custom", "custom": {"name": name, "input": input}});
    }
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": call.arguments}})
}
