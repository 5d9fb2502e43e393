//! Renders a canonical answer as a complete chat completion.

use bytes::Bytes;
use domain::canon::{Content, Reply, Tool, ToolCall};
use serde_json::{Map, Value, json};

use super::details;
use super::stop::{self, Held};
use super::usage::write_usage;
use crate::codec::Rendering;
use crate::custom;

pub fn render(reply: &Reply, rendering: &mut Rendering) -> Bytes {
    let (message, held) = message(reply, &rendering.tools);
    let mut whole = json!({
        "id": rendering.ids.answer("chatcmpl-"),
        "object": "chat.completion",
        "created": rendering.created,
        "model": reply.model.as_deref().unwrap_or(&rendering.model),
        "choices": [{
            "index": 0,
            "message": message,
            "logprobs": null,
            "finish_reason": stop::write(&reply.stop, held),
        }],
    });
    if let Some(usage) = &reply.usage {
        whole["usage"] = write_usage(usage);
    }
    whole["provider"] = (*rendering.provider).into();
    whole["latency"] = format!("{}ms", rendering.latency_ms).into();
    serde_json::to_vec(&whole).unwrap_or_default().into()
}

fn message(reply: &Reply, tools: &[Tool]) -> (Map<String, Value>, Held) {
    let (mut content, mut refusal, mut thoughts) = (None::<String>, None::<String>, String::new());
    let (mut calls, mut entries) = (Vec::new(), Vec::new());
    let mut states = Vec::new();
    let mut signed = false;
    for part in &reply.parts {
        match &part.content {
            Content::Text(text) => content.get_or_insert_default().push_str(text),
            Content::Refusal(text) => refusal.get_or_insert_default().push_str(text),
            Content::Thinking(thinking) => {
                thoughts.push_str(&thinking.text);
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
        content.get_or_insert_default();
    }
    let mut message = Map::new();
    message.insert("role".into(), "assistant".into());
    message.insert("content".into(), content.into());
    message.insert("refusal".into(), refusal.into());
    if !thoughts.is_empty() {
        message.insert("reasoning_content".into(), thoughts.into());
    }
    if !entries.is_empty() {
        message.insert("reasoning_details".into(), numbered(entries));
    }
    if held.calls {
        message.insert("tool_calls".into(), calls.into());
    }
    (message, held)
}

fn numbered(entries: Vec<Map<String, Value>>) -> Value {
    let number = |(index, mut entry): (usize, Map<String, Value>)| {
        entry.entry("index").or_insert_with(|| index.into());
        entry
    };
    entries.into_iter().enumerate().map(number).collect()
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
