//! Classifies stream events. There is one kind: a part of the answer with running totals.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::answer::candidate_parts;
use crate::codec::{Class, Seen};
use crate::json;

static RESPONSE_ID: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"responseId\""));

/// Classifies an event by scanning its structure. Events are few, large and all contain usage, so a byte search would
/// not be cheaper.
pub fn classify(data: &[u8]) -> Seen {
    match data.trim_ascii() {
        b"" | b"[DONE]" => return Seen::of(Class::Ignorable),
        _ => {}
    }
    let Ok(object) = json::scan(data) else { return Seen::of(Class::Error) };
    if object.value(data, "error").is_some() {
        return Seen::of(Class::Error);
    }
    let usage = object.value(data, "usageMetadata").filter(|range| data[range.start] == b'{');
    let mut seen = Seen { usage, ..Seen::of(Class::Lifecycle) };
    let candidates = object.value(data, "candidates");
    for candidate in candidates.and_then(|range| json::scan_array(data, range).ok()).unwrap_or_default() {
        examine(data, candidate, &mut seen);
    }
    if object.value(data, "promptFeedback").is_some_and(|feedback| is_block(data, feedback)) {
        seen.class = Class::Content;
        seen.finish = true;
    }
    seen
}

/// The upstream's response id, if this event contains one.
pub fn event_id(data: &[u8]) -> Option<String> {
    let id = json::find_plain_string(data, &RESPONSE_ID)?;
    (!id.is_empty() && id.len() <= 200).then(|| id.to_owned())
}

fn examine(data: &[u8], candidate: Range<usize>, seen: &mut Seen) {
    for part in candidate_parts(data, candidate.clone()) {
        if !is_void(data, part.clone()) {
            seen.class = Class::Content;
            seen.content_bytes += part_bytes(data, part);
        }
    }
    let reason =
        json::scan_within(data, candidate).ok().and_then(|object| object.value(data, "finishReason"));
    if reason.is_some() {
        seen.class = Class::Content;
        seen.finish = true;
    }
}

/// Whether a part is empty: no text and no state to send back.
fn is_void(data: &[u8], part: Range<usize>) -> bool {
    let Ok(part) = json::scan_within(data, part) else { return false };
    let void = |key: &[u8], value: &[u8]| match key {
        b"text" => value == b"\"\"",
        b"thought" => true,
        _ => false,
    };
    part.members.iter().all(|member| void(&data[member.key.clone()], &data[member.value.clone()]))
}

/// Bytes of text, reasoning and call arguments.
pub(super) fn part_bytes(data: &[u8], part: Range<usize>) -> usize {
    let Ok(part) = json::scan_within(data, part) else { return 0 };
    let string = |value: Range<usize>| json::decoded_len(&data[value]).saturating_sub(2);
    let text = part.value(data, "text").map_or(0, string);
    let call = part.value(data, "functionCall").and_then(|call| json::scan_within(data, call).ok());
    let call = call.map_or(0, |call| {
        call.value(data, "name").map_or(0, string) + call.value(data, "args").map_or(0, |args| args.len())
    });
    text + call
}

fn is_block(data: &[u8], feedback: Range<usize>) -> bool {
    json::scan_within(data, feedback).is_ok_and(|feedback| feedback.value(data, "blockReason").is_some())
}

#[cfg(test)]
mod tests;
