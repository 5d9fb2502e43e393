//! Decodes a complete response into a canonical reply.

use bytes::Bytes;
use domain::call::Format;
use domain::canon::{Content, Part, Reply, Thinking, ToolCall};
use domain::fault::{self, Fault};
use serde_json::value::RawValue;

use super::stop;
use super::wire_types::{Reading, Response, Text, unreadable};
use super::{error, read_usage};
use crate::codec::Decoding;

pub fn decode(body: &[u8], decoding: &mut Decoding) -> Result<Reply, Fault> {
    let response: Response<'_> =
        serde_json::from_slice(body).map_err(|error| unreadable(decoding, &error))?;
    match Text::of(&response.status) {
        "failed" | "cancelled" => return Err(error::read_stream_error(body, &decoding.provider)),
        _ if response.error.is_some() => return Err(error::read_stream_error(body, &decoding.provider)),
        "" | "completed" | "incomplete" => {}
        _ => {
            return Err(fault::upstream_invalid_response(&decoding.provider, "the response is not finished"));
        }
    }
    let Some(output) = &response.output else {
        return Err(fault::upstream_invalid_response(&decoding.provider, "it has no 'output'"));
    };
    let mut parts = Vec::new();
    for raw in output {
        parts_of(raw, decoding, &mut parts)?;
    }
    let called = parts.iter().any(|part| matches!(part.content, Content::ToolCall(_)));
    let refused = parts.iter().any(|part| matches!(part.content, Content::Refusal(_)));
    let raw_usage = response.usage.map_or("", RawValue::get);
    Ok(Reply {
        id: Text::owned(&response.id),
        model: Text::owned(&response.model),
        stop: stop::read(&response, called, refused),
        usage: read_usage(raw_usage.as_bytes()),
        raw_usage: Bytes::copy_from_slice(raw_usage.as_bytes()),
        parts,
    })
}

/// Decodes the parts of one item.
pub fn parts_of(raw: &RawValue, decoding: &mut Decoding, parts: &mut Vec<Part>) -> Result<(), Fault> {
    match Reading::of(raw).map_err(|error| unreadable(decoding, &error))? {
        Reading::Message(item) => parts.extend(item.content.iter().flatten().map(|part| {
            let text = part.text().to_owned();
            Part::new(if part.is_refusal() { Content::Refusal(text) } else { Content::Text(text) })
        })),
        Reading::Reasoning(item) => {
            let thinking = Thinking { text: item.reasoning_text(), opaque: item.state(decoding) };
            parts.push(Content::Thinking(thinking).into());
        }
        Reading::Call { item, custom } => {
            let name = item.name();
            let arguments = item.arguments(custom).to_owned();
            if decoding.schema_tool.as_deref() == Some(&name) {
                parts.push(Part::text(arguments));
                return Ok(());
            }
            let id = item.call_id(decoding);
            parts.push(Content::ToolCall(ToolCall { id, name, arguments, custom, opaque: None }).into());
        }
        Reading::Foreign => {
            let value = serde_json::from_str(raw.get()).map_err(|error| unreadable(decoding, &error))?;
            parts.push(Content::Foreign { format: Format::Responses, value }.into());
        }
    }
    Ok(())
}
