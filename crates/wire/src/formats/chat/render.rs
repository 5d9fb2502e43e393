//! Renders a canonical answer as a complete chat completion.

use std::borrow::Cow;

use bytes::{BufMut, Bytes, BytesMut};
use domain::canon::{Content, Reply, Tool, ToolCall};
use domain::json::push_string;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::details;
use super::stop::{self, Held};
use super::usage::UsageMember;
use crate::codec::Rendering;
use crate::custom;

/// The message of an answer.
struct Message<'a> {
    content: Option<Cow<'a, str>>,
    refusal: Option<Cow<'a, str>>,
    reasoning_content: Cow<'a, str>,
    reasoning_details: Vec<Map<String, Value>>,
    tool_calls: Vec<Value>,
}

pub fn render(reply: &Reply, rendering: &mut Rendering) -> Bytes {
    let (message, held) = message(reply, &rendering.tools);
    let length = |text: &Option<Cow<'_, str>>| text.as_deref().map_or(0, str::len);
    let mut out = BytesMut::with_capacity(length(&message.content) + message.reasoning_content.len() + 768);
    push_member(&mut out, "{\"id\":", &rendering.ids.answer("chatcmpl-"));
    let created = rendering.created;
    out.put_slice(format!(",\"object\":\"chat.completion\",\"created\":{created}").as_bytes());
    push_member(&mut out, ",\"model\":", reply.model.as_deref().unwrap_or(&rendering.model));
    out.put_slice(b",\"choices\":[{\"index\":0,\"message\":");
    message.write(&mut out);
    push_member(&mut out, ",\"logprobs\":null,\"finish_reason\":", stop::write(&reply.stop, held));
    out.put_slice(b"}]");
    if let Some(usage) = &reply.usage {
        push_json(&mut out, ",\"usage\":", &UsageMember::new(usage));
    }
    push_member(&mut out, ",\"provider\":", &rendering.provider);
    out.put_slice(format!(",\"latency\":\"{}ms\"}}", rendering.latency_ms).as_bytes());
    out.freeze()
}

impl Message<'_> {
    fn write(&self, out: &mut BytesMut) {
        out.put_slice(b"{\"role\":\"assistant\"");
        for (name, text) in [(",\"content\":", &self.content), (",\"refusal\":", &self.refusal)] {
            match text {
                Some(text) => push_member(out, name, text),
                None => push_json(out, name, &()),
            }
        }
        if !self.reasoning_content.is_empty() {
            push_member(out, ",\"reasoning_content\":", &self.reasoning_content);
        }
        if !self.reasoning_details.is_empty() {
            push_json(out, ",\"reasoning_details\":", &self.reasoning_details);
        }
        if !self.tool_calls.is_empty() {
            push_json(out, ",\"tool_calls\":", &self.tool_calls);
        }
        out.put_u8(b'}');
    }
}

fn push_member(out: &mut BytesMut, name: &str, text: &str) {
    out.put_slice(name.as_bytes());
    push_string(out, text);
}

fn push_json(out: &mut BytesMut, name: &str, value: &impl Serialize) {
    out.put_slice(name.as_bytes());
    out.put_slice(&serde_json::to_vec(value).unwrap_or_default());
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
