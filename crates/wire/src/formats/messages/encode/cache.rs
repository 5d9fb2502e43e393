//! Finds and limits the client's cache marks: Anthropic accepts four per request.

use domain::canon::{Content, Part, Prompt, Tool};
use serde_json::{Map, Value};

const LIMIT: usize = 4;
const MARK: &str = "cache_control";

/// Keeps the first mark, which covers the stable prefix, and the last three. Returns true if marks were removed.
pub(super) fn keep_four(body: &mut Map<String, Value>) -> bool {
    let mut count = 0;
    each_marked(body, &mut |_| count += 1);
    if count <= LIMIT {
        return false;
    }
    let (mut seen, surplus) = (0, count - LIMIT);
    each_marked(body, &mut |block| {
        if (1..=surplus).contains(&seen) {
            block.shift_remove(MARK);
        }
        seen += 1;
    });
    true
}

/// Whether the client has set a mark.
pub(super) fn is_marked(prompt: &Prompt) -> bool {
    let has_mark = |tool: &Tool| matches!(tool, Tool::Function(function) if function.cache.is_some());
    prompt.tools.iter().any(has_mark) || prompt.turns.iter().flat_map(|turn| &turn.parts).any(is_marked_part)
}

fn is_marked_part(part: &Part) -> bool {
    match &part.content {
        _ if part.cache.is_some() => true,
        Content::ToolResult(result) => result.parts.iter().any(is_marked_part),
        _ => false,
    }
}

/// Visits marked blocks in the order of the cached prefix: tools, system, messages.
fn each_marked(body: &mut Map<String, Value>, act: &mut impl FnMut(&mut Map<String, Value>)) {
    for name in ["tools", "system"] {
        blocks(body.get_mut(name), act);
    }
    for message in body.get_mut("messages").and_then(Value::as_array_mut).into_iter().flatten() {
        blocks(message.get_mut("content"), act);
    }
}

fn blocks(list: Option<&mut Value>, act: &mut impl FnMut(&mut Map<String, Value>)) {
    for block in list.and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut) {
        for inner in block.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(inner) = inner.as_object_mut().filter(|inner| inner.contains_key(MARK)) {
                act(inner);
            }
        }
        if block.contains_key(MARK) {
            act(block);
        }
    }
}
