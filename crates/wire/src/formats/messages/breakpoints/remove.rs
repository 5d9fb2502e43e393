//! Removes every breakpoint of a request.

use std::ops::Range;

use super::NAME;
use crate::json::{self, Object};
use crate::splice::Patch;

/// The deepest level of blocks: a message, its content, the content of a tool result, and that of a document there.
const MAX_LEVEL: usize = 4;

/// Removes the request's own breakpoint and those of its tools and blocks. Members of that name in the schemas and inputs
/// of tools stay.
pub fn remove(body: &[u8], object: &Object, patch: &mut Patch) {
    // This object may have other edits, which share its commas.
    if let Some(index) = object.position(body, NAME) {
        patch.remove_member(object, index);
    }
    for name in ["tools", "system", "messages"] {
        remove_in(body, object.value(body, name), 1, patch);
    }
}

/// Removes the breakpoints of the objects in a list, and of the lists in those.
fn remove_in(body: &[u8], list: Option<Range<usize>>, level: usize, patch: &mut Patch) {
    let Some(list) = list.filter(|_| level <= MAX_LEVEL) else { return };
    // A value that is not a list has no objects.
    let _ = json::visit_array(body, list, |element| {
        let Ok(block) = json::scan_within(body, element) else { return };
        if let Some(index) = block.position(body, NAME) {
            patch.replace(with_comma(&block, index), "");
        }
        remove_in(body, block.value(body, "content"), level + 1, patch);
        let source = block.value(body, "source").and_then(|source| json::scan_within(body, source).ok());
        if let Some(source) = source {
            remove_in(body, source.value(body, "content"), level + 1, patch);
        }
    });
}

/// The range of a member with the comma before it, or else the one after it.
fn with_comma(object: &Object, index: usize) -> Range<usize> {
    let member = |index: usize| object.members[index].member.clone();
    match (index.checked_sub(1), object.members.get(index + 1)) {
        (Some(before), _) => member(before).end..member(index).end,
        (None, Some(after)) => member(index).start..after.member.start,
        (None, None) => member(index),
    }
}
