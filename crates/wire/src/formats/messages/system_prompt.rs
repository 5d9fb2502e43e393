//! Changes the instructions: the member `system`, and messages with the role system.

use domain::resources::guardrail::SystemPromptMode;

use crate::instruction_edits::InstructionEdits;

pub fn edit(edits: &mut InstructionEdits<'_>, mode: SystemPromptMode) {
    let Some(messages) = edits.value("messages").and_then(|array| edits.elements(&array)) else { return };
    let found = edits.instruction_messages(&messages);
    let system = edits.value("system").filter(|system| !edits.is_empty(system));
    match (mode, system) {
        (SystemPromptMode::Inject, None) if found.is_empty() => {}
        (SystemPromptMode::Inject, _) => return,
        (SystemPromptMode::Override, _) => edits.remove_elements(&messages, &found),
        (SystemPromptMode::Decorator, Some(system)) => {
            edits.prefix_content(&system);
            return;
        }
        (SystemPromptMode::Decorator, None) => {}
    }
    edits.set_member("system", edits.quoted_content());
}
