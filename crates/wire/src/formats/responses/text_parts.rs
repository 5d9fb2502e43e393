//! The texts of messages in this format.

use std::ops::Range;

use domain::canon::Role;

use crate::json::Object;
use crate::text_collector::{TextCollector, TextKind};

pub fn request(texts: &mut TextCollector<'_>, object: &Object) {
    texts.add(Role::System, TextKind::Text, object, "instructions");
    // The values for a template that the provider stores.
    let variables = texts.object(object, "prompt").and_then(|prompt| texts.object(&prompt, "variables"));
    for variable in variables.iter().flat_map(|variables| &variables.members) {
        texts.add_content_value(Role::User, variable.value.clone(), add_part);
    }
    texts.add_content(Role::User, object, "input", add_item);
}

/// Adds the items of the array that fills `range`.
pub fn items(texts: &mut TextCollector<'_>, range: Range<usize>) {
    texts.visit_array(range, |texts, item| texts.add_content_value(Role::User, item, add_item));
}

/// Adds an item; `role` is that of a message without one.
fn add_item(texts: &mut TextCollector<'_>, role: Role, item: &Object) {
    match &*texts.string(item, "type") {
        "" | "message" => add_message(texts, role, item),
        "reasoning" => {
            for name in ["summary", "content"] {
                texts.add_content(Role::Assistant, item, name, add_part);
            }
        }
        "function_call" | "mcp_call" | "mcp_approval_request" => {
            texts.add(Role::Assistant, TextKind::JsonText, item, "arguments");
            texts.add(Role::Tool, TextKind::Text, item, "output");
        }
        "mcp_approval_response" => texts.add(Role::User, TextKind::Text, item, "reason"),
        "custom_tool_call" => texts.add(Role::Assistant, TextKind::Text, item, "input"),
        "local_shell_call" | "shell_call" | "computer_call" | "web_search_call" => {
            // A computer call has one action or several.
            for name in ["action", "actions"] {
                texts.add(Role::Assistant, TextKind::Json, item, name);
            }
        }
        "apply_patch_call" => texts.add(Role::Assistant, TextKind::Json, item, "operation"),
        "code_interpreter_call" => {
            texts.add(Role::Assistant, TextKind::Text, item, "code");
            texts.add_content(Role::Tool, item, "outputs", add_part);
        }
        "file_search_call" => {
            texts.add(Role::Assistant, TextKind::Json, item, "queries");
            texts.add_content(Role::Tool, item, "results", add_part);
        }
        "image_generation_call" => {
            texts.add(Role::Assistant, TextKind::Text, item, "revised_prompt");
            texts.mark_unreadable();
        }
        // Outputs of tools: of functions, custom tools, shells and computers.
        kind if kind.ends_with("_output") => texts.add_content(Role::Tool, item, "output", add_part),
        // Definitions of tools, and state that only the provider can read.
        "additional_tools" | "mcp_list_tools" | "tool_search_call" | "compaction_trigger" => {}
        "compaction" | "compaction_summary" | "context_compaction" => {}
        _ => add_part(texts, role, item),
    }
}

fn add_message(texts: &mut TextCollector<'_>, role: Role, message: &Object) {
    let role = match &*texts.string(message, "role") {
        "system" => Role::System,
        "developer" => Role::Developer,
        "assistant" => Role::Assistant,
        "user" => Role::User,
        _ => role,
    };
    texts.add_content(role, message, "content", add_part);
}

/// Adds a part, or an item of an unknown type. References to stored items have no texts.
fn add_part(texts: &mut TextCollector<'_>, role: Role, part: &Object) {
    let before = texts.count();
    for name in ["text", "refusal", "stdout", "stderr", "logs"] {
        texts.add(role, TextKind::Text, part, name);
    }
    let is_media = matches!(&*texts.string(part, "type"), "input_image" | "input_file" | "input_audio");
    if is_media || texts.count() == before {
        texts.mark_unreadable();
    }
}
