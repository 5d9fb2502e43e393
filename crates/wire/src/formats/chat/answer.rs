//! Reads a complete chat completion and splices in the two members the gateway adds.

use std::ops::Range;

use bytes::Bytes;

use crate::codec::{Answer, Served};
use crate::count;
use crate::json::{self, ScanError};
use crate::splice::{self, Patch};

pub fn read_answer(body: &[u8]) -> Result<Answer, ScanError> {
    let object = json::scan(body)?;
    let error = object.value(body, "error");
    let choices = object.value(body, "choices").filter(|range| body[range.start] == b'[');
    if choices.is_none() && error.is_none() {
        return Err(ScanError::Syntax { at: object.close, expected: "an array 'choices'" });
    }
    let usage = object.value(body, "usage").filter(|range| body[range.start] == b'{');
    let reports_output = usage
        .as_ref()
        .is_some_and(|usage| count::has_count(&body[usage.clone()], &["completion_tokens", "output_tokens"]));
    let content_bytes = choices.filter(|_| !reports_output).map_or(0, |choices| answer_bytes(body, choices));
    let id = object.get(body, "id").and_then(|member| json::string_at(body, &member.value));
    Ok(Answer { id: id.map(|id| id.into_owned()), usage, content_bytes, error, object })
}

/// Replaces or appends `provider` and `latency`; the rest is forwarded unchanged.
pub fn splice_answer(body: &Bytes, answer: &Answer, served: &Served<'_>) -> Vec<Bytes> {
    let object = &answer.object;
    let known = (object.get(body, "provider"), object.get(body, "latency"));
    // The common case: neither member is present, and one insertion adds both.
    if let (None, None) = known {
        let mut members = Vec::with_capacity(served.provider.len() + 48);
        members.extend_from_slice(b",\"provider\":");
        json::push_string(&mut members, served.provider);
        members.extend_from_slice(b",\"latency\":\"");
        json::push_number(&mut members, served.latency_ms);
        members.extend_from_slice(b"ms\"");
        return splice::append_members(body, object, members);
    }
    let mut patch = Patch::new();
    let (provider, latency) = (json::quote(served.provider), format!("\"{}ms\"", served.latency_ms));
    for (name, value, member) in [("provider", provider, known.0), ("latency", latency, known.1)] {
        match member {
            Some(member) => patch.replace(member.value.clone(), value),
            None => patch.insert_member(object, format!("\"{name}\":{value}")),
        }
    }
    patch.apply(body)
}

fn answer_bytes(body: &[u8], choices: Range<usize>) -> usize {
    let choices = json::scan_array(body, choices).unwrap_or_default();
    let messages =
        choices.into_iter().filter_map(|choice| json::scan_within(body, choice).ok()?.value(body, "message"));
    messages.map(|message| text_bytes(body, message)).sum()
}

/// Counts the text bytes of a message or delta. Reasoning that is given twice, as text and as details, counts once.
pub(super) fn text_bytes(body: &[u8], message: Range<usize>) -> usize {
    let Ok(message) = json::scan_within(body, message) else { return 0 };
    let length = |value: &Range<usize>| match &body[value.clone()] {
        [b'"', inside @ .., b'"'] => json::decoded_len(inside),
        [b'[' | b'{', ..] => value.len(),
        _ => 0,
    };
    let first = |names: &[&str]| {
        names.iter().find_map(|name| message.value(body, name)).map_or(0, |value| length(&value))
    };
    let calls = message.value(body, "tool_calls").map_or(0, |calls| {
        let calls = json::scan_array(body, calls).unwrap_or_default();
        calls
            .into_iter()
            .filter_map(|call| json::scan_within(body, call).ok()?.value(body, "function"))
            .map(|call| call_bytes(body, call))
            .sum()
    });
    let call = message.value(body, "function_call").map_or(0, |call| call_bytes(body, call));
    first(&["content"])
        + first(&["refusal"])
        + first(&["reasoning_content", "reasoning", "reasoning_details"])
        + calls
        + call
}

fn call_bytes(body: &[u8], call: Range<usize>) -> usize {
    let Ok(call) = json::scan_within(body, call) else { return 0 };
    let length =
        |name| call.value(body, name).map_or(0, |value| json::decoded_len(&body[value]).saturating_sub(2));
    length("name") + length("arguments")
}

#[cfg(test)]
mod tests;
