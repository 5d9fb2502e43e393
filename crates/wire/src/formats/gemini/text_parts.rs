//! The texts of messages in this format. Protobuf JSON allows camel case and snake case.

use domain::canon::Role;

use crate::json::Object;
use crate::text_collector::{TextCollector, TextKind};

/// The members of a part that have texts inside: name, member of the value, and kind.
const NESTED: [([&str; 2], &str, TextKind); 6] = [
    (["functionCall", "function_call"], "args", TextKind::Json),
    (["functionResponse", "function_response"], "response", TextKind::Json),
    (["toolCall", "tool_call"], "args", TextKind::Json),
    (["toolResponse", "tool_response"], "response", TextKind::Json),
    (["executableCode", "executable_code"], "code", TextKind::Text),
    (["codeExecutionResult", "code_execution_result"], "output", TextKind::Text),
];

const MEDIA: [&str; 4] = ["inlineData", "inline_data", "fileData", "file_data"];
const SIGNATURES: [&str; 2] = ["thoughtSignature", "thought_signature"];

pub fn request(texts: &mut TextCollector<'_>, object: &Object) {
    for name in ["systemInstruction", "system_instruction"] {
        add_content(texts, Role::System, object, name);
    }
    texts.visit_objects(object, "contents", |texts, content| {
        let is_model = texts.string(content, "role") == "model";
        let role = if is_model { Role::Assistant } else { Role::User };
        add_parts(texts, role, content);
    });
}

/// Adds a content: an object with parts, or a string, which is accepted for instructions.
pub fn add_content(texts: &mut TextCollector<'_>, role: Role, object: &Object, name: &str) {
    texts.add_content(role, object, name, add_parts);
}

fn add_parts(texts: &mut TextCollector<'_>, role: Role, content: &Object) {
    texts.add_content(role, content, "parts", add_part);
}

fn add_part(texts: &mut TextCollector<'_>, role: Role, part: &Object) {
    let is_signed = has(texts, part, &SIGNATURES);
    let is_thought = texts.is_true(part, "thought");
    let kind = if is_signed && is_thought { TextKind::Signed } else { TextKind::Text };
    texts.add(role, kind, part, "text");
    let mut is_readable = is_signed || has(texts, part, &["text"]);
    for (names, member, kind) in NESTED {
        for name in names {
            let Some(value) = texts.object(part, name) else { continue };
            is_readable = true;
            // Results come from tools, whatever the role of their content.
            let role = if member == "response" { Role::Tool } else { role };
            texts.add(role, kind, &value, member);
            add_parts(texts, role, &value);
        }
    }
    if !is_readable || has(texts, part, &MEDIA) {
        texts.mark_unreadable();
    }
}

fn has(texts: &TextCollector<'_>, part: &Object, names: &[&str]) -> bool {
    names.iter().any(|name| texts.member(part, name).is_some())
}
