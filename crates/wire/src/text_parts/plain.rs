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
    for name in ["query", "documents"] {
        texts.add_content(Role::User, object, name, add_input);
    }
}

/// Adds an input or document that is an object; one without text may be an image.
fn add_input(texts: &mut TextCollector<'_>, role: Role, input: &Object) {
    let before = texts.count();
    texts.add(role, TextKind::Text, input, "text");
    if texts.count() == before {
        texts.mark_unreadable();
    }
}
