//! Renders a canonical answer for Anthropic clients.

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
        "id": rendering.ids.answer("msg_"),
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

/// The stop reason. Refusals are rendered as text, so the stop reason has to mark them.
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

/// Whether this is the signature Gemini sends after its text, which it does not need back, unlike those of calls.
pub(super) fn is_afterthought(opaque: &Opaque) -> bool {
    opaque.whole && opaque.origin.format == Format::Gemini
}

/// Whether the block is rendered as redacted: hidden by the provider, or bare state of another format.
pub(super) fn is_redacted(text: &str, opaque: &Opaque) -> bool {
    text.is_empty() && (opaque.whole || opaque.origin.format != Format::Messages)
}

pub(super) fn redacted(opaque: &Opaque) -> Value {
    json!({"type": "redacted_thinking", "data": shown(opaque)})
}

/// The block with a call's state of another format, placed right before the call.
pub(super) fn state_of_call(opaque: &Opaque) -> Option<Value> {
    (opaque.origin.format != Format::Messages).then(|| redacted(opaque))
}

/// The state as sent to the client: native state unchanged, that of other formats sealed.
fn shown(opaque: &Opaque) -> String {
    match opaque.origin.format {
        Format::Messages => opaque.data.clone(),
        _ => opaque.seal(),
    }
}

/// The signature of a thinking block. Unsigned thinking is sealed too, so that it is recognised later and never sent to
/// Anthropic as its own.
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
