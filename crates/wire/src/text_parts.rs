//! The texts of requests and of stored items, by their positions in the body: what guardrails inspect and edit.

mod plain;
#[cfg(test)]
mod tests;

use domain::call::{Format, Surface};

use crate::formats::{chat, gemini, messages, responses};
use crate::json::Object;
use crate::text_collector::TextCollector;
pub use crate::text_collector::{TextKind, TextPart};

/// The texts of a client's request, in their order. Parts of other types, such as images, are left out.
pub fn request_texts(surface: Surface, body: &[u8], object: &Object) -> Vec<TextPart> {
    collect_request(surface, body, object).into_parts()
}

/// Whether a request has parts that cannot be inspected: images, audio, files, documents that are not text, and token
/// numbers. State that a provider encrypted for itself does not count.
pub fn has_unreadable_parts(surface: Surface, body: &[u8], object: &Object) -> bool {
    collect_request(surface, body, object).has_unreadable_parts()
}

/// The texts of stored items of the Responses API, given as a JSON array.
pub fn item_texts(items: &[u8]) -> Vec<TextPart> {
    collect_items(items).into_parts()
}

/// Whether stored items have parts that cannot be inspected.
pub fn has_unreadable_items(items: &[u8]) -> bool {
    collect_items(items).has_unreadable_parts()
}

fn collect_items(items: &[u8]) -> TextCollector<'_> {
    let mut texts = TextCollector::new(items);
    responses::text_parts::items(&mut texts, 0..items.len());
    texts
}

fn collect_request<'a>(surface: Surface, body: &'a [u8], object: &Object) -> TextCollector<'a> {
    let mut texts = TextCollector::new(body);
    match surface {
        Surface::Converse(Format::Chat) => chat::text_parts::request(&mut texts, object),
        Surface::Converse(Format::Responses) => responses::text_parts::request(&mut texts, object),
        Surface::Converse(Format::Messages) => messages::text_parts::request(&mut texts, object),
        Surface::Converse(Format::Gemini) => gemini::text_parts::request(&mut texts, object),
        Surface::Completions => plain::completions(&mut texts, object),
        Surface::Embeddings => plain::embeddings(&mut texts, object),
        Surface::EmbedContent { batch } => plain::embed_content(&mut texts, object, batch),
        Surface::Rerank => plain::rerank(&mut texts, object),
    }
    texts
}
