//! Builds the upstream request for a provider of the same format: the client's body with the necessary edits.

use std::ops::Range;
use std::sync::LazyLock;

use bytes::Bytes;
use memchr::memmem::Finder;

use super::breakpoints;
use crate::codec::{Request, Target};
use crate::json;
use crate::splice::Patch;
use crate::tool_ids;

pub fn splice(request: &Request, target: &Target<'_>) -> Vec<Bytes> {
    let mut patch = Patch::new();
    let mut set = |place: Option<usize>, name: &str, value: String| match place {
        Some(index) => patch.replace(request.object.members[index].value.clone(), value),
        None => patch.insert_member(&request.object, format!("\"{name}\":{value}")),
    };
    set(request.places.model, "model", json::quote(target.model));
    if target.stream && request.stream != Some(true) {
        set(request.places.stream, "stream", "true".to_owned());
    }
    if let (Some(_), Some(index)) = (&request.provider_hint, request.places.provider) {
        patch.remove_member(&request.object, index);
    }
    if has_illegal_tool_ids(&request.body) {
        map_tool_ids(request, &mut patch);
    }
    breakpoints::edit(&request.body, &request.object, target, &mut patch);
    patch.apply(&request.body)
}

/// Searcher for a JSON key. A quote inside a JSON string is escaped, so this text followed by a colon can only be a
/// key.
static RESULT_ID: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"tool_use_id\""));

/// Whether the body has tool ids that Anthropic rejects. Only the ids of results are checked, because a call without
/// result is invalid anyway.
fn has_illegal_tool_ids(body: &[u8]) -> bool {
    RESULT_ID.find_iter(body).any(|at| {
        let value = json::value_after(&body[at + RESULT_ID.needle().len()..]);
        let Some(text) = value.and_then(|value| value.strip_prefix(b"\"")) else { return false };
        memchr::memchr(b'"', text).is_some_and(|end| !tool_ids::is_legal(&text[..end]))
    })
}

/// Maps tool ids, for a conversation that began on a provider whose ids Anthropic rejects.
fn map_tool_ids(request: &Request, patch: &mut Patch) {
    let body = &request.body;
    let array = |range: Range<usize>| json::scan_array(body, range).unwrap_or_default();
    let Some(messages) = request.places.messages else { return };
    for message in array(request.object.members[messages].value.clone()) {
        let content =
            json::scan_within(body, message).ok().and_then(|message| message.value(body, "content"));
        for block in content.into_iter().flat_map(array) {
            let Ok(block) = json::scan_within(body, block) else { continue };
            let text = |name: &str| json::string_at(body, &block.value(body, name)?);
            let name = match text("type").as_deref() {
                Some("tool_use") => "id",
                Some("tool_result") => "tool_use_id",
                _ => continue,
            };
            if let (Some(range), Some(id)) = (block.value(body, name), text(name))
                && !tool_ids::is_legal(id.as_bytes())
            {
                patch.replace(range, json::quote(&tool_ids::to_legal(&id)));
            }
        }
    }
}
