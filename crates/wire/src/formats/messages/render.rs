//! A canonical answer as Anthropic's clients read it.

use bytes::Bytes;
use domain::call::Format;
use domain::canon::{Content, Opaque, Origin, Part, Reply, StopReason, Thinking, ToolCall};
use serde_json::{Map, Value, json};

use super::{stop, write_usage};
use crate::codec::Rendering;
use crate::{custom, tool_ids};

pub fn render(reply: &Reply, rendering: &mut Rendering) -> Bytes {
    let mut content = Vec::with_capacity(reply.parts.len());
    for part in &reply.parts {
        blocks(part, rendering, &mut content);
    }
    let refused = reply.parts.iter().any(|part| matches!(part.content, Content::Refusal(_)));
    let (reason, sequence) = stop::write(stop_of(&reply.stop, refused));
    let message = json!({
        "id": rendering.mint.answer("msg_"),
        "type": "message",
        "role": "assistant",
        "model": rendering.requested_model,
        "content": content,
        "stop_reason": reason,
        "stop_sequence": sequence,
        "usage": write_usage(&reply.usage.clone().unwrap_or_default()),
    });
    Bytes::from(serde_json::to_vec(&message).unwrap_or_default())
}

/// Words of refusal are text here; the reason says what they are.
pub(super) fn stop_of(stop: &StopReason, refused: bool) -> &StopReason {
    match stop {
        StopReason::EndTurn if refused => &StopReason::Refusal,
        stop => stop,
    }
}

fn blocks(part: &Part, rendering: &Rendering, content: &mut Vec<Value>) {
    match &part.content {
        Content::Text(text) | Content::Refusal(text) if text.is_empty() => {}
        Content::Text(text) | Content::Refusal(text) => content.push(json!({"type": "text", "text": text})),
        Content::Thinking(Thinking { text, opaque: Some(opaque) })
            if text.is_empty()
                && is_afterthought(opaque)
                && content.iter().any(|block| block["type"] == "text") => {}
        Content::Thinking(thinking) => content.extend(thought(thinking, rendering)),
        Content::ToolCall(call) => {
            content.extend(call.opaque.as_ref().and_then(state_of_call));
            content.push(tool_use(call));
        }
        Content::Foreign { format: Format::Messages, value } => content.push(value.clone()),
        Content::Foreign { .. }
        | Content::Image(_)
        | Content::Document(_)
        | Content::Audio(_)
        | Content::ToolResult(_) => {}
    }
}

fn thought(thinking: &Thinking, rendering: &Rendering) -> Option<Value> {
    let Thinking { text, opaque } = thinking;
    match opaque {
        Some(opaque) if is_redacted(text, opaque) => Some(redacted(opaque)),
        None if text.is_empty() => None,
        opaque => {
            let signature = signature(opaque.as_ref(), rendering);
            Some(json!({"type": "thinking", "thinking": text, "signature": signature}))
        }
    }
}

/// A signature that Gemini puts behind its text: it wants those of calls back, and not this one.
pub(super) fn is_afterthought(opaque: &Opaque) -> bool {
    opaque.whole && opaque.origin.format == Format::Generate
}

/// Nothing to read: a thought that the provider hid, or another format's bare state.
pub(super) fn is_redacted(text: &str, opaque: &Opaque) -> bool {
    text.is_empty() && (opaque.whole || opaque.origin.format != Format::Messages)
}

pub(super) fn redacted(opaque: &Opaque) -> Value {
    json!({"type": "redacted_thinking", "data": shown(opaque)})
}

/// State that another format wants back with its call stands right before it.
pub(super) fn state_of_call(opaque: &Opaque) -> Option<Value> {
    (opaque.origin.format != Format::Messages).then(|| redacted(opaque))
}

/// As its own clients know it, or sealed for the way through them.
fn shown(opaque: &Opaque) -> String {
    match opaque.origin.format {
        Format::Messages => opaque.data.clone(),
        _ => opaque.seal(),
    }
}

/// A thought that nobody signed is sealed all the same: so it is known again, and never sent to Anthropic as its own.
pub(super) fn signature(opaque: Option<&Opaque>, rendering: &Rendering) -> String {
    match opaque {
        Some(opaque) => shown(opaque),
        None => {
            let origin = Origin { format: Format::Chat, model: rendering.model.to_string() };
            Opaque { origin, data: String::new(), whole: false, text: None }.seal()
        }
    }
}

fn tool_use(call: &ToolCall) -> Value {
    let input = match serde_json::from_str(&call.arguments) {
        Ok(input @ Value::Object(_)) if !call.custom => input,
        _ if call.arguments.trim().is_empty() && !call.custom => Value::Object(Map::new()),
        _ => json!({custom::INPUT: call.arguments}),
    };
    json!({"type": "tool_use", "id": tool_ids::to_legal(&call.id), "name": call.name, "input": input})
}
