//! Classifies stream events by searching for a few keys; an event is parsed only if that is inconclusive.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::answer::text_bytes;
use crate::codec::{Class, Seen};
use crate::json::{self, Object};

/// Searchers for JSON keys.
struct Keys {
    usage: Finder<'static>,
    delta: Finder<'static>,
    finish_reason: Finder<'static>,
    texts: [Finder<'static>; 4],
}

static KEYS: LazyLock<Keys> = LazyLock::new(|| Keys {
    usage: Finder::new(b"\"usage\""),
    delta: Finder::new(b"\"delta\""),
    finish_reason: Finder::new(b"\"finish_reason\""),
    texts: [b"\"content\"".as_slice(), b"\"reasoning_content\"", b"\"reasoning\"", b"\"arguments\""]
        .map(Finder::new),
});

pub fn classify(data: &[u8]) -> Seen {
    let data = data.trim_ascii_end();
    if data.len() <= 8 {
        match data.trim_ascii() {
            b"" => return Seen::of(Class::Ignorable),
            b"[DONE]" => return Seen::of(Class::Terminal),
            _ => {}
        }
    }
    classify_common(data).unwrap_or_else(|| examine(data))
}

/// Classifies the common case without parsing: one choice with text in its delta, no usage.
fn classify_common(data: &[u8]) -> Option<Seen> {
    let keys = &*KEYS;
    let delta = json::find_key(data, 0, &keys.delta)?;
    let start = data[delta..].strip_prefix(b"{\"content\":\"").filter(|text| !text.starts_with(b"\""));
    let start = start.map(|text| data.len() - text.len());
    let (end, content_bytes) = match start {
        Some(start) => json::string_extent(data, start)?,
        None => keys.texts.iter().find_map(|key| filled_string(data, delta, key))?,
    };
    if has_value(data, &keys.usage) || keys.delta.find(&data[end..]).is_some() {
        return None;
    }
    let reason = json::find_key(data, end, &keys.finish_reason)
        .or_else(|| json::find_key(data, 0, &keys.finish_reason));
    let finish = reason.is_some_and(|at| !data[at..].starts_with(b"null"));
    let text = start.map(|start| start..end);
    Some(Seen { class: Class::Content, usage: None, finish, content_bytes, text })
}

/// The first member with this key that is a non-empty string: the position of its closing quote and the length of its
/// text.
fn filled_string(data: &[u8], from: usize, key: &Finder<'_>) -> Option<(usize, usize)> {
    let mut at = from;
    loop {
        at = json::find_key(data, at, key)?;
        if data.get(at) == Some(&b'"') {
            let found = json::string_extent(data, at + 1)?;
            if found.0 > at + 1 {
                return Some(found);
            }
        }
    }
}

/// Whether the key has a value other than null. Once usage is requested, every chunk contains `"usage":null`.
fn has_value(data: &[u8], key: &Finder<'_>) -> bool {
    let mut from = 0;
    while let Some(at) = json::find_key(data, from, key) {
        if !data[at..].starts_with(b"null") {
            return true;
        }
        from = at;
    }
    false
}

fn examine(data: &[u8]) -> Seen {
    let Ok(object) = json::scan(data) else { return Seen::of(Class::Error) };
    let is = |name: &str, text: &[u8]| {
        object.get(data, name).is_some_and(|member| &data[member.value.clone()] == text)
    };
    let choices = object.value(data, "choices");
    if object.value(data, "error").is_some()
        || (choices.is_none() && (is("object", b"\"error\"") || is("type", b"\"error\"")))
    {
        return Seen::of(Class::Error);
    }
    if choices.is_none() && is("type", b"\"ping\"") {
        return Seen::of(Class::Ignorable);
    }
    let choices_member = object.get(data, "choices").is_some();
    let choices = choices.map(|range| json::scan_array(data, range).unwrap_or_default()).unwrap_or_default();
    let usage = find_usage(data, &object, &choices);
    if choices.is_empty() {
        let class = match usage {
            Some(_) => Class::Usage,
            None if choices_member => Class::Lifecycle,
            None => Class::Content,
        };
        return Seen { usage, ..Seen::of(class) };
    }
    let mut seen = Seen { usage, ..Seen::of(Class::Lifecycle) };
    for choice in choices {
        examine_choice(data, choice, &mut seen);
    }
    seen
}

/// Finds the usage object: at the top level, in Groq's `x_groq`, or in a choice as at Moonshot.
fn find_usage(data: &[u8], object: &Object, choices: &[Range<usize>]) -> Option<Range<usize>> {
    let is_object = |range: &Range<usize>| data[range.start] == b'{';
    let inside =
        |range: Range<usize>| json::scan_within(data, range).ok()?.value(data, "usage").filter(is_object);
    let found = object.value(data, "usage").filter(is_object);
    // Most events have no usage at all: a search costs less than a scan of each choice.
    if found.is_some() || !has_value(data, &KEYS.usage) {
        return found;
    }
    object
        .value_at(data, &["x_groq", "usage"])
        .filter(is_object)
        .or_else(|| choices.iter().cloned().find_map(inside))
}

fn examine_choice(data: &[u8], choice: Range<usize>, seen: &mut Seen) {
    let Ok(choice) = json::scan_within(data, choice) else {
        seen.class = Class::Content;
        return;
    };
    for member in &choice.members {
        let value = member.value.clone();
        if is_void(&data[value.clone()]) {
            continue;
        }
        match &data[member.key.clone()] {
            b"index" | b"usage" | b"message" => {}
            // Legacy completions.
            b"text" => {
                seen.class = Class::Content;
                seen.content_bytes += json::decoded_len(&data[value]).saturating_sub(2);
            }
            b"finish_reason" => {
                seen.finish = true;
                seen.class = Class::Content;
            }
            b"delta" => {
                let delta = json::scan_within(data, value.clone());
                let says = |key: &Range<usize>| &data[key.clone()] != b"role";
                if delta.map_or(true, |delta| {
                    delta
                        .members
                        .iter()
                        .any(|member| says(&member.key) && !is_void(&data[member.value.clone()]))
                }) {
                    seen.class = Class::Content;
                    seen.content_bytes += text_bytes(data, value);
                }
            }
            _ => seen.class = Class::Content,
        }
    }
}

fn is_void(value: &[u8]) -> bool {
    match value {
        b"null" | b"\"\"" => true,
        [b'[', inside @ .., b']'] | [b'{', inside @ .., b'}'] => inside.trim_ascii().is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
