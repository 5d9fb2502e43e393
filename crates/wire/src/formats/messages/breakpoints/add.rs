//! Adds breakpoints at the end of the tools, of the instructions and of the last two user turns: four, the most that
//! Anthropic accepts. The next request of the conversation has a breakpoint where this one has its last, and reads the
//! prompt up to there from the provider's cache.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;

use super::NAME;
use crate::json::{self, Object};
use crate::splice::Patch;

/// User turns that get a breakpoint, from the last one backwards.
const USER_TURNS: usize = 2;

/// Elements at the end of an array that are looked at. The positions of all elements could take many times the length of
/// the array.
const LAST_ELEMENTS: usize = 1024;

const FIVE_MINUTES: &str = r#"{"type":"ephemeral"}"#;
const MARK: &str = r#""cache_control":{"type":"ephemeral"}"#;
/// The bytes around a text that make it a block with a breakpoint.
const BLOCK_START: &str = r#"[{"type":"text","text":"#;
const BLOCK_END: &str = r#","cache_control":{"type":"ephemeral"}}]"#;

/// Adds breakpoints behind prefixes of at least `min_bytes`. The order of a prompt is tools, system, messages.
pub fn add(body: &[u8], object: &Object, min_bytes: usize, patch: &mut Patch) {
    let mut prefix = 0;
    if let Some(tools) = object.value(body, "tools") {
        prefix += tools.len();
        if prefix >= min_bytes {
            mark_last(body, tools, is_loaded, patch);
        }
    }
    if let Some(system) = object.value(body, "system") {
        prefix += system.len();
        if prefix >= min_bytes {
            mark_content(body, system, patch);
        }
    }
    let Some(messages) = object.value(body, "messages") else { return };
    let start = messages.start;
    let turns = last_elements(body, messages).into_iter().rev();
    let user_turns = turns.filter_map(|turn| Some((turn.end, user_content(body, turn)?)));
    for (end, content) in user_turns.take(USER_TURNS) {
        if prefix + (end - start) >= min_bytes {
            mark_content(body, content, patch);
        }
    }
}

/// The content of a message, if it is the user's.
fn user_content(body: &[u8], message: Range<usize>) -> Option<Range<usize>> {
    let message = json::scan_within(body, message).ok()?;
    (text(body, &message, "role").as_deref() == Some("user")).then(|| message.value(body, "content"))?
}

/// Adds a breakpoint to the last block of a content that may have one. A text becomes a block for that.
fn mark_content(body: &[u8], content: Range<usize>, patch: &mut Patch) {
    if body[content.start] != b'"' {
        mark_last(body, content, may_be_marked, patch);
    } else if !is_blank(body, &content) {
        patch.replace(content.start..content.start, BLOCK_START);
        patch.replace(content.end..content.end, BLOCK_END);
    }
}

/// Adds a breakpoint to the last object of an array that may have one.
fn mark_last(body: &[u8], array: Range<usize>, is_eligible: fn(&[u8], &Object) -> bool, patch: &mut Patch) {
    let elements = last_elements(body, array).into_iter().rev();
    let mut objects = elements.filter_map(|element| json::scan_within(body, element).ok());
    let Some(block) = objects.find(|object| is_eligible(body, object)) else { return };
    match block.get(body, NAME) {
        // The client has written a null there.
        Some(member) if &body[member.value.clone()] == b"null" => {
            patch.replace(member.value.clone(), FIVE_MINUTES);
        }
        Some(_) => {}
        None => patch.insert_member(&block, MARK),
    }
}

/// Whether a tool is in the prompt from the start. Anthropic rejects a breakpoint on one that is not; a set of tools may
/// have some.
fn is_loaded(body: &[u8], tool: &Object) -> bool {
    let is_set = text(body, tool, "type").as_deref() == Some("mcp_toolset");
    !is_set && tool.value(body, "defer_loading").is_none_or(|value| &body[value] != b"true")
}

/// Whether a block of a system prompt or a user turn may have a breakpoint. Anthropic rejects one on a text without
/// content, and does not document one on other blocks.
fn may_be_marked(body: &[u8], block: &Object) -> bool {
    match text(body, block, "type").as_deref() {
        Some("text") => block.value(body, "text").is_some_and(|value| !is_blank(body, &value)),
        Some("image" | "document" | "tool_result" | "search_result") => true,
        _ => false,
    }
}

/// Whether a value is not a string, or one of white space alone.
fn is_blank(body: &[u8], value: &Range<usize>) -> bool {
    json::string_at(body, value).is_none_or(|text| text.trim().is_empty())
}

fn text<'a>(body: &'a [u8], object: &Object, name: &str) -> Option<Cow<'a, str>> {
    json::string_at(body, &object.value(body, name)?)
}

/// The last elements of an array; none if the value is not an array.
fn last_elements(body: &[u8], array: Range<usize>) -> VecDeque<Range<usize>> {
    let mut last = VecDeque::new();
    let _ = json::visit_array(body, array, |element| {
        if last.len() == LAST_ELEMENTS {
            last.pop_front();
        }
        last.push_back(element);
    });
    last
}
