//! Renders a complete answer for a Gemini client.

use bytes::{Bytes, BytesMut};
use domain::call::Format;
use domain::canon::{Content, Reply};

use super::pieces::{Call, call_part, passenger, text_part};
use super::{stop, usage};
use crate::codec::Rendering;
use crate::json::push_string;

pub fn render(reply: &Reply, rendering: &mut Rendering) -> Bytes {
    let mut out = BytesMut::with_capacity(1024);
    out.extend_from_slice(b"{\"candidates\":[{\"content\":{\"parts\":[");
    parts(reply, &mut out);
    out.extend_from_slice(b"],\"role\":\"model\"},\"finishReason\":\"");
    out.extend_from_slice(stop::write(&reply.stop).as_bytes());
    out.extend_from_slice(b"\",\"index\":0}]");
    if let Some(usage) = &reply.usage {
        out.extend_from_slice(b",\"usageMetadata\":");
        out.extend_from_slice(usage::write_usage(usage).to_string().as_bytes());
    }
    identity(reply.id.as_deref(), reply.model.as_deref(), rendering, &mut out);
    out.extend_from_slice(b"}");
    out.freeze()
}

/// Writes the model and the response id, the last members of every answer and every stream chunk.
pub(super) fn identity(id: Option<&str>, model: Option<&str>, rendering: &Rendering, out: &mut BytesMut) {
    out.extend_from_slice(b",\"modelVersion\":");
    push_string(out, model.unwrap_or(&rendering.model));
    out.extend_from_slice(b",\"responseId\":");
    match id {
        Some(id) => push_string(out, id),
        None => push_string(out, &rendering.ids.answer("")),
    }
}

fn parts(reply: &Reply, out: &mut BytesMut) {
    let mut riding = None;
    let mut first = true;
    for part in &reply.parts {
        let start = out.len();
        if !first {
            out.extend_from_slice(b",");
        }
        let before = out.len();
        match &part.content {
            Content::Text(text) | Content::Refusal(text) => text_part(out, text, false, None),
            Content::Thinking(thinking) => {
                text_part(out, &thinking.text, true, thinking.opaque.as_ref());
                riding = thinking.opaque.as_ref().and_then(|opaque| passenger(&thinking.text, opaque));
            }
            Content::ToolCall(call) => {
                let opaque = call.opaque.clone().or_else(|| riding.take());
                let (id, name, arguments) = (call.id.clone(), call.name.clone(), call.arguments.clone());
                call_part(out, &Call { id, name, arguments, custom: call.custom, opaque });
            }
            Content::Foreign { format: Format::Gemini, value } => {
                out.extend_from_slice(value.to_string().as_bytes());
            }
            _ => {}
        }
        if out.len() == before {
            out.truncate(start);
        } else {
            first = false;
        }
    }
}
