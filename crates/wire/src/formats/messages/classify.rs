//! Classifies stream events by event name, or by `type` if there is none; deltas are never parsed.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::codec::{Class, Seen};
use crate::formats::chat;
use crate::json::{self, Object};

/// Searchers for JSON keys.
struct Keys {
    start: Finder<'static>,
    delta: Finder<'static>,
    texts: [Finder<'static>; 3],
}

static KEYS: LazyLock<Keys> = LazyLock::new(|| Keys {
    start: Finder::new(b"\"message_start\""),
    delta: Finder::new(b"\"delta\""),
    texts: [b"\"text\"".as_slice(), b"\"partial_json\"", b"\"thinking\""].map(Finder::new),
});

pub fn classify(name: Option<&[u8]>, data: &[u8]) -> Seen {
    let untrimmed = data.trim_ascii_end();
    let data = untrimmed.trim_ascii_start();
    let offset = untrimmed.len() - data.len();
    if data.is_empty() || data == b"[DONE]" {
        return Seen::of(Class::Ignorable);
    }
    let kind = match name {
        Some(name) if !name.is_empty() && name != b"message" => name,
        _ => match kind(data) {
            Some(kind) => kind,
            None => return unnamed(data),
        },
    };
    match kind {
        b"content_block_delta" => delta(data, offset),
        b"content_block_stop" => Seen::of(Class::Content),
        b"message_start" => Seen { usage: usage_of_start(data), ..Seen::of(Class::Lifecycle) },
        b"content_block_start" => block_start(data),
        b"message_delta" => message_delta(data),
        b"message_stop" => Seen::of(Class::Terminal),
        b"ping" => Seen::of(Class::Ignorable),
        b"error" => Seen::of(Class::Error),
        _ => Seen::of(Class::Content),
    }
}

pub fn ends_block(data: &[u8]) -> bool {
    memchr::memmem::find(data, b"\"content_block_stop\"").is_some()
}

/// The upstream's response id, which only the first event contains; the ids in other events are those of blocks.
pub fn event_id(data: &[u8]) -> Option<String> {
    KEYS.start.find(data)?;
    chat::event_id(data)
}

/// The event's `type`, which is the first member in Anthropic's events.
fn kind(data: &[u8]) -> Option<&[u8]> {
    if let Some(rest) = data.strip_prefix(b"{\"type\":\"") {
        return memchr::memchr(b'"', rest).map(|end| &rest[..end]);
    }
    let object = json::scan(data).ok()?;
    let value = object.value(data, "type")?;
    data[value].strip_prefix(b"\"")?.strip_suffix(b"\"")
}

fn unnamed(data: &[u8]) -> Seen {
    let error = json::scan(data).map_or(true, |object| object.value(data, "error").is_some());
    Seen::of(if error { Class::Error } else { Class::Content })
}

/// Classifies a delta. `offset` is the position of `data` in the data of the event.
fn delta(data: &[u8], offset: usize) -> Seen {
    let keys = &*KEYS;
    let text =
        keys.delta.find(data).and_then(|delta| keys.texts.iter().find_map(|key| find_text(data, delta, key)));
    let content_bytes = text.as_ref().map_or(0, |(_, length)| *length);
    let text = text.map(|(range, _)| range.start + offset..range.end + offset);
    Seen { content_bytes, text, ..Seen::of(Class::Content) }
}

/// Position and length of the text of the first member with this name, if it is a string.
fn find_text(data: &[u8], from: usize, key: &Finder<'_>) -> Option<(Range<usize>, usize)> {
    let value = json::find_key(data, from, key)?;
    let (end, length) = data[value..].starts_with(b"\"").then(|| json::string_extent(data, value + 1))??;
    Some((value + 1..end, length))
}

fn usage_at(data: &[u8], object: &Object, path: &[&str]) -> Option<Range<usize>> {
    object.value_at(data, path).filter(|range| data[range.start] == b'{')
}

fn usage_of_start(data: &[u8]) -> Option<Range<usize>> {
    usage_at(data, &json::scan(data).ok()?, &["message", "usage"])
}

/// Classifies a block start. Text and thinking open empty; every other block has content by its type alone.
fn block_start(data: &[u8]) -> Seen {
    let block =
        json::value_at(data, &["content_block"]).and_then(|block| json::scan_within(data, block).ok());
    let Some(block) = block else { return Seen::of(Class::Content) };
    let is = |name: &str, text: &[u8]| block.value(data, name).is_some_and(|range| &data[range] == text);
    let empty = |name: &str| block.value(data, name).is_none() || is(name, b"\"\"");
    let silent =
        (is("type", b"\"text\"") && empty("text")) || (is("type", b"\"thinking\"") && empty("thinking"));
    if silent {
        return Seen::of(Class::Lifecycle);
    }
    let length = |name: &str| match block.value(data, name).map(|range| &data[range]) {
        Some([b'"', inside @ .., b'"']) => json::decoded_len(inside),
        _ => 0,
    };
    let content_bytes = length("text") + length("thinking") + length("name");
    Seen { content_bytes, ..Seen::of(Class::Content) }
}

fn message_delta(data: &[u8]) -> Seen {
    let Ok(object) = json::scan(data) else { return Seen::of(Class::Error) };
    let finish = object.value_at(data, &["delta", "stop_reason"]).is_some();
    Seen { usage: usage_at(data, &object, &["usage"]), finish, ..Seen::of(Class::Content) }
}

#[cfg(test)]
mod tests;
