//! Changes the instructions: the member `instructions`, and items that are messages with the role system or developer.

use domain::resources::guardrail::SystemPromptMode;

use crate::instruction_edits::InstructionEdits;

pub fn edit(edits: &mut InstructionEdits<'_>, mode: SystemPromptMode) {
    let items = match edits.value("input") {
        Some(input) if edits.is_string(&input) => Vec::new(),
        Some(input) => match edits.elements(&input) {
            Some(items) => items,
            None => return,
        },
        // The request refers to earlier turns or to a template.
        None => Vec::new(),
    };
    let mut found = edits.instruction_messages(&items);
    found.retain(|index| {
        let item = edits.object_at(&items[*index]);
        item.is_none_or(|item| matches!(&*edits.string(&item, "type"), "" | "message"))
    });
    let instructions = edits.value("instructions").filter(|instructions| !edits.is_empty(instructions));
    match (mode, instructions) {
        (SystemPromptMode::Inject, None) if found.is_empty() => {}
        (SystemPromptMode::Inject, _) => return,
        (SystemPromptMode::Override, _) => edits.remove_elements(&items, &found),
        (SystemPromptMode::Decorator, Some(instructions)) => {
            if edits.is_string(&instructions) {
                edits.prefix_string(&instructions);
            }
            return;
        }
        (SystemPromptMode::Decorator, None) => {}
    }
    edits.set_member("instructions", edits.quoted_content());
}
