//! The texts of requests without a conversation: completions, embeddings and reranking.

use domain::canon::Role;

use crate::formats::gemini;
use crate::json::Object;
use crate::text_collector::{TextCollector, TextKind};

pub fn completions(texts: &mut TextCollector<'_>, object: &Object) {
    for name in ["prompt", "suffix"] {
        texts.add_content(Role::User, object, name, add_input);
    }
}

pub fn embeddings(texts: &mut TextCollector<'_>, object: &Object) {
    texts.add_content(Role::User, object, "input", add_input);
}

pub fn embed_content(texts: &mut TextCollector<'_>, object: &Object, batch: bool) {
    if batch {
        texts.visit_objects(object, "requests", |texts, request| embed_content(texts, request, false));
    } else {
        gemini::text_parts::add_content(texts, Role::User, object, "content");
    }
}

pub fn rerank(texts: &mut TextCollector<'_>, object: &Object) {
    texts.add_content(Role::User, object, "query", add_input);
    texts.add_content(Role::User, object, "documents", add_document);
}

/// Adds a document, whose members the client may name as it likes: without a text, or with members that may be read in
/// its place, it is inspected as a whole.
fn add_document(texts: &mut TextCollector<'_>, role: Role, document: &Object) {
    let has_variant = texts.has_case_variant(document, "text");
    if texts.free_string(document, "text").is_some() && !has_variant {
        return texts.add(role, TextKind::Text, document, "text");
    }
    texts.add_object(role, document);
    // One without text may be an image.
    if !has_variant {
        texts.mark_unreadable();
    }
}

/// Adds an input or query that is an object; one without text may be an image.
fn add_input(texts: &mut TextCollector<'_>, role: Role, input: &Object) {
    let before = texts.count();
    texts.add(role, TextKind::Text, input, "text");
    if texts.count() == before {
        texts.mark_unreadable();
    }
}
