//! Changes the instructions: messages with the role system or developer.

use std::ops::Range;

use domain::resources::guardrail::SystemPromptMode;

use crate::instruction_edits::InstructionEdits;

pub fn edit(edits: &mut InstructionEdits<'_>, mode: SystemPromptMode) {
    let Some(array) = edits.value("messages") else { return };
    let Some(messages) = edits.elements(&array).filter(|messages| !messages.is_empty()) else { return };
    let found = edits.instruction_messages(&messages);
    let mut remaining = messages.len();
    if let Some(first) = found.first() {
        let is_done = match mode {
            SystemPromptMode::Inject => true,
            SystemPromptMode::Override => {
                edits.remove_elements(&messages, &found);
                remaining -= found.len();
                false
            }
            SystemPromptMode::Decorator => prefix_message(edits, &messages[*first]),
        };
        if is_done {
            return;
        }
    }
    let message = format!(r#"{{"role":"system","content":{}}}"#, edits.quoted_content());
    edits.insert_first(&array, remaining, message);
}

/// Returns whether the message has a content that can be edited.
fn prefix_message(edits: &mut InstructionEdits<'_>, message: &Range<usize>) -> bool {
    let content = edits.object_at(message).and_then(|message| edits.member(&message, "content"));
    content.is_some_and(|content| edits.prefix_content(&content))
}
