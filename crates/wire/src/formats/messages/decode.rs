//! Decodes a complete Anthropic answer into the canonical model.

use bytes::Bytes;
use domain::call::Format;
use domain::canon::{Content, Opaque, Origin, Part, Reply, StopReason, Thinking, ToolCall};
use domain::fault::{self, Fault};
use serde_json::value::RawValue;

use super::wire_types::{Message, RawBlock};
use super::{stop, usage};
use crate::codec::Decoding;
use crate::provider_error;

pub fn decode(body: &[u8], decoding: &mut Decoding) -> Result<Reply, Fault> {
    let provider = decoding.provider.clone();
    let invalid = |reason: &str| fault::upstream_invalid_response(&provider, reason);
    let answer: Message =
        serde_json::from_slice(body).map_err(|_| invalid("the body is not a message object"))?;
    if answer.kind == "error" {
        return Err(provider_error::read_stream_error(body, &provider));
    }
    let content = answer.content.ok_or_else(|| invalid("it has no content"))?;
    let mut reply = Reply { id: answer.id, model: answer.model, ..Reply::default() };
    let mut calls = false;
    for raw in content {
        let block: RawBlock = serde_json::from_str(raw.get()).map_err(|_| invalid("a block is malformed"))?;
        let content = read_block(block, raw, decoding).ok_or_else(|| invalid("a block is malformed"))?;
        calls |= matches!(content, Content::ToolCall(_));
        reply.parts.push(Part::new(content));
    }
    let reason = answer.stop_reason.as_deref().unwrap_or_default();
    reply.stop = stop_of(reason, answer.stop_sequence, decoding, calls);
    if let Some(raw) = answer.usage {
        reply.usage = usage::read_usage(raw.get().as_bytes(), None);
        reply.raw_usage = Bytes::copy_from_slice(raw.get().as_bytes());
    }
    Ok(reply)
}

/// The stop reason. If a tool emulated a schema, its call is the text of the answer and does not count as a call.
pub(super) fn stop_of(
    reason: &str,
    sequence: Option<String>,
    decoding: &Decoding,
    calls: bool,
) -> StopReason {
    match stop::read(reason, sequence) {
        StopReason::ToolCalls if decoding.schema_tool.is_some() && !calls => StopReason::EndTurn,
        stop => stop,
    }
}

fn read_block(block: RawBlock<'_>, raw: &RawValue, decoding: &mut Decoding) -> Option<Content> {
    Some(match &*block.kind {
        "text" => Content::Text(block.text?),
        "thinking" => {
            let signature = block.signature.filter(|signature| !signature.is_empty());
            let opaque = signature.map(|data| state(data, false, decoding));
            Content::Thinking(Thinking { text: block.thinking.unwrap_or_default(), opaque })
        }
        "redacted_thinking" => {
            let opaque = state(block.data?, true, decoding);
            Content::Thinking(Thinking { text: String::new(), opaque: Some(opaque) })
        }
        "tool_use" => {
            let name = block.name?;
            let arguments = block.input.map_or("{}", RawValue::get).to_owned();
            if decoding.schema_tool.as_ref() == Some(&name) {
                return Some(Content::Text(arguments));
            }
            let id = block.id.unwrap_or_else(|| decoding.ids.item("toolu_"));
            Content::ToolCall(ToolCall { id, name, arguments, custom: false, opaque: None })
        }
        _ => Content::Foreign { format: Format::Messages, value: serde_json::from_str(raw.get()).ok()? },
    })
}

pub(super) fn state(data: String, whole: bool, decoding: &Decoding) -> Opaque {
    let origin = Origin { format: Format::Messages, model: decoding.model.to_string() };
    Opaque { origin, data, whole, text: None }
}
