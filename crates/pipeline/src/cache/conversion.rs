//! Conversion of a recorded answer between its two forms: one document, and an event stream.

#[cfg(test)]
mod tests;

use bytes::Bytes;
use domain::call::Format;
use domain::canon::{Content, Reply};
use wire::codec::{Decoding, IdGenerator, Rendering};
use wire::{answer_form, formats, tool_ids};

use crate::delivery::commit::{AnswerForm, render_in};
use crate::services::response_cache::CachedAnswer;
use crate::streaming::read_stream;

/// Reads a recorded answer; `None` if something of it would be lost. The usage that its client did not ask for is added:
/// a document always has it.
pub fn read(cached: &CachedAnswer, format: Format, decoding: Decoding) -> Option<Reply> {
    let body = cached.answer.body();
    if answer_form::is_bound(format, body) {
        return None;
    }
    let mut reply = decode(cached, format, decoding)?;
    if reply.usage.is_none() {
        reply.usage.clone_from(&cached.usage);
    }
    for part in &mut reply.parts {
        if let Content::ToolCall(call) = &mut part.content {
            call.id = tool_ids::restore(std::mem::take(&mut call.id));
        }
    }
    Some(reply)
}

/// The texts of a recorded answer, without its reasoning; `None` if it cannot be read.
pub fn text(cached: &CachedAnswer, format: Format) -> Option<String> {
    let target = cached.answer.target();
    let (provider, model, ids) = (target.instance, target.model, IdGenerator::new(""));
    let reply = decode(cached, format, Decoding { provider, model, schema_tool: None, ids })?;
    let texts = reply.parts.into_iter().filter_map(|part| match part.content {
        Content::Text(text) => Some(text),
        _ => None,
    });
    Some(texts.collect::<Vec<_>>().join("\n"))
}

fn decode(cached: &CachedAnswer, format: Format, mut decoding: Decoding) -> Option<Reply> {
    let body = cached.answer.body();
    let read = match cached.is_stream {
        true => read_stream(body.clone(), formats::upstream(format), decoding),
        false => formats::upstream(format).decode(body, &mut decoding),
    };
    read.ok()
}

/// Writes an answer as a document or as a stream.
pub fn write(reply: Reply, format: Format, rendering: Rendering, streams: bool) -> Bytes {
    let form = if streams { AnswerForm::Stream } else { AnswerForm::Document };
    render_in(form, formats::client(format), reply, rendering)
}
