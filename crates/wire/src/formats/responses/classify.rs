//! Classifies stream events, mostly by their names.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::kind;
use crate::codec::{Class, Seen};
use crate::json;
use crate::sse;

static DELTA: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"delta\":\""));
static RESPONSE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"response\""));

pub fn classify(event: &sse::Event) -> Seen {
    if event.is_comment_only() {
        return Seen::of(Class::Ignorable);
    }
    let data = event.data();
    match data.trim_ascii() {
        b"" | b"[DONE]" => return Seen::of(Class::Ignorable),
        _ => {}
    }
    match kind::of(event, &data) {
        Some(kind) => of_kind(&kind, &data),
        None => Seen::of(Class::Error),
    }
}

fn of_kind(kind: &[u8], data: &[u8]) -> Seen {
    match kind {
        b"response.created" | b"response.in_progress" | b"response.queued" => Seen::of(Class::Lifecycle),
        b"response.content_part.added" | b"response.reasoning_summary_part.added" => {
            Seen::of(Class::Lifecycle)
        }
        b"response.output_item.added" if is_empty_item(data) => Seen::of(Class::Lifecycle),
        b"response.completed" | b"response.incomplete" => {
            Seen { usage: find_usage(data), finish: true, ..Seen::of(Class::Terminal) }
        }
        b"response.failed" | b"response.cancelled" | b"response.canceled" => {
            Seen { usage: find_usage(data), ..Seen::of(Class::Failed) }
        }
        b"error" => Seen::of(Class::Error),
        b"ping" | b"keepalive" => Seen::of(Class::Ignorable),
        _ if kind.ends_with(b".delta") => {
            Seen { content_bytes: delta_bytes(data), ..Seen::of(Class::Content) }
        }
        _ => Seen::of(Class::Content),
    }
}

/// Whether an added item has no content yet: a message or reasoning, as opposed to a call, which names its tool.
fn is_empty_item(data: &[u8]) -> bool {
    json::value_at(data, &["item", "type"])
        .is_some_and(|kind| matches!(&data[kind], b"\"message\"" | b"\"reasoning\""))
}

fn find_usage(data: &[u8]) -> Option<Range<usize>> {
    json::value_at(data, &["response", "usage"]).filter(|usage| data[usage.start] == b'{')
}

fn delta_bytes(data: &[u8]) -> usize {
    let counted = || {
        let from = DELTA.find(data)? + DELTA.needle().len();
        json::string_extent(data, from).map(|(_, length)| length)
    };
    let parsed = || {
        let delta = json::value_at(data, &["delta"])?;
        (data[delta.start] == b'"').then(|| json::decoded_len(&data[delta.start + 1..delta.end - 1]))
    };
    counted().or_else(parsed).unwrap_or(0)
}

pub fn ends_block(data: &[u8]) -> bool {
    memchr::memmem::find(data, b"\"response.output_item.done\"").is_some()
}

/// The id of the response, never that of an item.
pub fn event_id(data: &[u8]) -> Option<String> {
    RESPONSE.find(data)?;
    let id = json::string_at(data, &json::value_at(data, &["response", "id"])?)?;
    (!id.is_empty() && id.len() <= 200).then(|| id.into_owned())
}

#[cfg(test)]
mod tests;
