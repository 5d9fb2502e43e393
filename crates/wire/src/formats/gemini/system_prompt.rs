//! Changes the instructions: the member `systemInstruction`, a content with parts. The API also accepts a string.

use std::ops::Range;

use domain::resources::guardrail::SystemPromptMode;

use crate::instruction_edits::InstructionEdits;

/// Protobuf JSON allows camel case and snake case.
const NAMES: [&str; 2] = ["systemInstruction", "system_instruction"];

pub fn edit(edits: &mut InstructionEdits<'_>, mode: SystemPromptMode) {
    // The API accepts a single content as a list of one.
    let Some(contents) = edits.value("contents") else { return };
    if !edits.is_array(&contents) && !edits.is_object(&contents) {
        return;
    }
    let filled = NAMES.into_iter().find_map(|name| {
        let value = edits.value(name).filter(|value| !is_empty(edits, value))?;
        Some((name, value))
    });
    let name = match (mode, filled) {
        (_, None) => NAMES.into_iter().find(|name| edits.has_member(name)).unwrap_or(NAMES[0]),
        (SystemPromptMode::Inject, Some(_)) => return,
        (SystemPromptMode::Override, Some((name, _))) => name,
        (SystemPromptMode::Decorator, Some((_, value))) => return prefix(edits, &value),
    };
    if mode == SystemPromptMode::Override {
        NAMES.into_iter().filter(|other| *other != name).for_each(|other| edits.remove_member(other));
    }
    let instruction = format!(r#"{{"parts":[{}]}}"#, part(edits));
    edits.set_member(name, instruction);
}

fn part(edits: &InstructionEdits<'_>) -> String {
    format!(r#"{{"text":{}}}"#, edits.quoted_content())
}

fn is_empty(edits: &InstructionEdits<'_>, value: &Range<usize>) -> bool {
    match edits.object_at(value) {
        Some(content) => edits.member(&content, "parts").is_none_or(|parts| edits.is_empty(&parts)),
        None => edits.is_empty(value),
    }
}

fn prefix(edits: &mut InstructionEdits<'_>, value: &Range<usize>) {
    if edits.is_string(value) {
        edits.insert(value.start, r#"{"parts":[{"text":"#.to_owned());
        edits.prefix_string(value);
        edits.insert(value.end, "}]}".to_owned());
        return;
    }
    let parts = edits.object_at(value).and_then(|content| edits.member(&content, "parts"));
    let Some(parts) = parts else { return };
    let part = part(edits);
    if let Some(elements) = edits.elements(&parts) {
        edits.insert_first(&parts, elements.len(), part);
    } else if edits.is_object(&parts) {
        edits.insert(parts.start, format!("[{part},"));
        edits.insert(parts.end, "]".to_owned());
    }
}
