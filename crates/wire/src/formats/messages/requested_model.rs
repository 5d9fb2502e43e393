//! Sets the model name in native answers to the requested one.
//!
//! Claude Code drops the thinking blocks of turns whose `model` is not the one it requested, and Anthropic then rejects
//! the next turn. `X-Gateway-Model` names the target that served.

use std::sync::LazyLock;

use bytes::Bytes;
use memchr::memmem::Finder;

use crate::json::{self, Object};
use crate::splice::{self, Patch};
use crate::sse;

static START: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"message_start\""));

/// Renames the model in a complete message.
pub fn in_answer(body: &Bytes, message: &Object, requested: &str) -> Vec<Bytes> {
    match rename(body, message, requested) {
        Some(patch) => patch.apply(body),
        None => vec![body.clone()],
    }
}

/// Renames the model in the first event of a stream; `None` for other events, or if the name is already right.
pub fn in_start(event: &sse::Event, requested: &str) -> Option<Bytes> {
    let data = event.data();
    let is_start = match event.name() {
        Some(name) if !name.is_empty() && name != b"message" => name == b"message_start",
        _ => START.find(&data).is_some(),
    };
    if !is_start {
        return None;
    }
    let data = Bytes::copy_from_slice(&data);
    let object = json::scan(&data).ok()?;
    let message = json::scan_within(&data, object.value(&data, "message")?).ok()?;
    let patch = rename(&data, &message, requested)?;
    Some(event.with_data(&splice::concat(&patch.apply(&data))))
}

fn rename(body: &[u8], message: &Object, requested: &str) -> Option<Patch> {
    let mut patch = Patch::new();
    match message.get(body, "model") {
        _ if requested.is_empty() => return None,
        Some(member) if json::string_at(body, &member.value).is_some_and(|model| model == requested) => {
            return None;
        }
        Some(member) => patch.replace(member.value.clone(), json::quote(requested)),
        None => patch.insert_member(message, format!("\"model\":{}", json::quote(requested))),
    }
    Some(patch)
}
