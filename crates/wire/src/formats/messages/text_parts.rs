//! The texts of messages in this format.

use domain::canon::Role;

use crate::json::Object;
use crate::text_collector::{TextCollector, TextKind};

pub fn request(texts: &mut TextCollector<'_>, object: &Object) {
    texts.add_content(Role::System, object, "system", add_block);
    texts.visit_objects(object, "messages", |texts, message| {
        let role = match &*texts.string(message, "role") {
            "assistant" => Role::Assistant,
            "system" => Role::System,
            _ => Role::User,
        };
        texts.add_content(role, message, "content", add_block);
    });
}

fn add_block(texts: &mut TextCollector<'_>, role: Role, block: &Object) {
    match &*texts.string(block, "type") {
        "thinking" => {
            let is_signed = !texts.string(block, "signature").is_empty();
            let kind = if is_signed { TextKind::Signed } else { TextKind::Text };
            texts.add(role, kind, block, "thinking");
        }
        // State that only the provider can read, names of tools, and error codes.
        "redacted_thinking" | "tool_reference" => {}
        kind if kind.ends_with("_error") => {}
        kind if kind == "tool_use" || kind.ends_with("_tool_use") => {
            texts.add(role, TextKind::Json, block, "input");
        }
        kind if kind == "tool_result" || kind.ends_with("_tool_result") => {
            texts.add_content(Role::Tool, block, "content", add_block);
        }
        "image" => texts.mark_unreadable(),
        "document" => {
            for name in ["title", "context"] {
                texts.add(role, TextKind::Text, block, name);
            }
            add_source(texts, role, block);
        }
        "search_result" => {
            texts.add(role, TextKind::Text, block, "source");
            add_texts(texts, role, block);
        }
        _ => add_texts(texts, role, block),
    }
}

/// Adds the source of a document, which is text, blocks of content, or a file.
fn add_source(texts: &mut TextCollector<'_>, role: Role, document: &Object) {
    let before = texts.count();
    if let Some(source) = texts.object(document, "source")
        && !matches!(&*texts.string(&source, "type"), "base64" | "url" | "file")
    {
        texts.add(role, TextKind::Text, &source, "data");
        texts.add_content(role, &source, "content", add_block);
    }
    if texts.count() == before {
        texts.mark_unreadable();
    }
}

/// Adds a text, a result of a search or of a tool of the provider, or a block of an unknown type.
fn add_texts(texts: &mut TextCollector<'_>, role: Role, block: &Object) {
    let before = texts.count();
    for name in ["text", "title", "stdout", "stderr"] {
        texts.add(role, TextKind::Text, block, name);
    }
    for name in ["content", "lines"] {
        texts.add_content(role, block, name, add_block);
    }
    if texts.count() == before {
        texts.mark_unreadable();
    }
    // Citations repeat texts of documents and search results.
    texts.visit_objects(block, "citations", |texts, citation| {
        texts.add(role, TextKind::Text, citation, "cited_text");
    });
}
