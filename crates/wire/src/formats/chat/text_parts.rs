//! The texts of messages in this format.

use domain::canon::Role;

use crate::json::Object;
use crate::text_collector::{TextCollector, TextKind};

pub fn request(texts: &mut TextCollector<'_>, object: &Object) {
    texts.visit_objects(object, "messages", |texts, message| {
        let role = match &*texts.string(message, "role") {
            "system" => Role::System,
            "developer" => Role::Developer,
            "assistant" => Role::Assistant,
            "tool" | "function" => Role::Tool,
            _ => Role::User,
        };
        add_message(texts, role, message);
    });
    // The answer as the client expects it.
    texts.visit_objects(object, "prediction", |texts, prediction| {
        texts.add_content(Role::User, prediction, "content", add_part);
    });
}

fn add_message(texts: &mut TextCollector<'_>, role: Role, message: &Object) {
    texts.add_content(role, message, "content", add_part);
    for name in ["refusal", "reasoning_content", "reasoning"] {
        texts.add(role, TextKind::Text, message, name);
    }
    texts.visit_objects(message, "reasoning_details", |texts, detail| {
        let is_signed = !texts.string(detail, "signature").is_empty();
        let kind = if is_signed { TextKind::Signed } else { TextKind::Text };
        texts.add(role, kind, detail, "text");
        texts.add(role, TextKind::Text, detail, "summary");
    });
    if let Some(audio) = texts.object(message, "audio") {
        texts.add(role, TextKind::Text, &audio, "transcript");
        texts.mark_unreadable();
    }
    texts.visit_objects(message, "tool_calls", |texts, call| {
        add_call(texts, role, call, "function");
        if let Some(tool) = texts.object(call, "custom") {
            texts.add(role, TextKind::Text, &tool, "input");
        }
    });
    add_call(texts, role, message, "function_call");
}

fn add_call(texts: &mut TextCollector<'_>, role: Role, object: &Object, name: &str) {
    if let Some(function) = texts.object(object, name) {
        texts.add(role, TextKind::JsonText, &function, "arguments");
    }
}

/// The types of parts.
const PART_TYPES: [&str; 6] = ["text", "refusal", "thinking", "image_url", "input_audio", "file"];

fn add_part(texts: &mut TextCollector<'_>, role: Role, part: &Object) {
    // The result of a tool as an object has members of the client's choice.
    let part_type = texts.free_string(part, "type");
    if role == Role::Tool && !part_type.is_some_and(|part_type| PART_TYPES.contains(&&*part_type)) {
        return texts.add_object(role, part);
    }
    let before = texts.count();
    // Some providers have reasoning among the parts, as a string or as parts of its own.
    for name in ["text", "refusal", "thinking"] {
        texts.add_content(role, part, name, add_part);
    }
    let is_media = matches!(&*texts.string(part, "type"), "image_url" | "input_audio" | "file");
    if is_media || texts.count() == before {
        texts.mark_unreadable();
    }
}
