//! Adds instructions to a request, or replaces those that it has. The rest of the body is not changed.

#[cfg(test)]
mod tests;

use bytes::Bytes;
use domain::call::Format;
use domain::resources::guardrail::SystemPromptMode;

use crate::formats::{chat, gemini, messages, responses};
use crate::instruction_edits::InstructionEdits;
use crate::json::Object;

/// The body with `content` as instructions; `None` if nothing changes, also for a body that has no messages and is
/// refused elsewhere. A request without instructions gets them in every mode.
pub fn apply(
    format: Format,
    body: &Bytes,
    object: &Object,
    mode: SystemPromptMode,
    content: &str,
) -> Option<Bytes> {
    let mut edits = InstructionEdits::new(body, object, content);
    match format {
        Format::Chat => chat::system_prompt::edit(&mut edits, mode),
        Format::Responses => responses::system_prompt::edit(&mut edits, mode),
        Format::Messages => messages::system_prompt::edit(&mut edits, mode),
        Format::Gemini => gemini::system_prompt::edit(&mut edits, mode),
    }
    edits.apply()
}
