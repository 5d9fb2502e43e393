//! Reads a complete answer, and edits native answers for clients: model name, missing event names.

use std::ops::Range;

use bytes::Bytes;

use super::kind;
use crate::codec::{Answer, Served};
use crate::count;
use crate::json::{self, ScanError};
use crate::splice::Patch;
use crate::sse;

pub fn read_answer(body: &[u8]) -> Result<Answer, ScanError> {
    let object = json::scan(body)?;
    let error = object.value(body, "error");
    let output = object.value(body, "output").filter(|range| body[range.start] == b'[');
    if output.is_none() && error.is_none() {
        return Err(ScanError::Syntax { at: object.close, expected: "an array 'output'" });
    }
    let usage = object.value(body, "usage").filter(|range| body[range.start] == b'{');
    let reports_output = usage
        .as_ref()
        .is_some_and(|usage| count::has_count(&body[usage.clone()], &["output_tokens", "completion_tokens"]));
    let content_bytes = output.filter(|_| !reports_output).map_or(0, |output| content_bytes_in(body, output));
    let id = object.get(body, "id").and_then(|member| json::string_at(body, &member.value));
    Ok(Answer { id: id.map(|id| id.into_owned()), usage, content_bytes, error, object })
}

/// Sets the model to `provider/model`, as clients of the gateway know it; the rest is unchanged.
pub fn splice_answer(body: &Bytes, answer: &Answer, served: &Served<'_>) -> Vec<Bytes> {
    let mut patch = Patch::new();
    let model = json::quote(&format!("{}/{}", served.provider, served.model));
    match answer.object.get(body, "model") {
        Some(member) => patch.replace(member.value.clone(), model),
        None => patch.insert_member(&answer.object, format!("\"model\":{model}")),
    }
    patch.apply(body)
}

/// Adds a missing event name: the official clients need it, some servers omit it.
pub fn reframe(event: &sse::Event) -> Option<Bytes> {
    if event.name().is_some() {
        return None;
    }
    let data = event.data();
    let kind = kind::of_data(&data).filter(|kind| !kind.is_empty())?;
    Some([b"event: ".as_slice(), &kind, b"\n", &event.raw].concat().into())
}

/// Bytes of text, reasoning and arguments, at most two levels deep.
fn content_bytes_in(body: &[u8], output: Range<usize>) -> usize {
    let items = json::scan_array(body, output).unwrap_or_default();
    items.into_iter().map(|item| bytes_of(body, item)).sum()
}

fn bytes_of(body: &[u8], object: Range<usize>) -> usize {
    let Ok(object) = json::scan_within(body, object) else { return 0 };
    let length = |name: &str| {
        let value = object.value(body, name).filter(|value| body[value.start] == b'"');
        value.map_or(0, |value| json::decoded_len(&body[value]).saturating_sub(2))
    };
    let length_of_texts: usize = ["text", "refusal", "arguments", "input"].into_iter().map(length).sum();
    let parts = ["content", "summary"].into_iter().filter_map(|name| object.value(body, name));
    length_of_texts + parts.map(|parts| content_bytes_in(body, parts)).sum::<usize>()
}

#[cfg(test)]
mod tests;
