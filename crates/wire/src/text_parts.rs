//! The texts of requests and of stored items, by their positions in the body, for guardrails to inspect and edit.

mod plain;
#[cfg(test)]
mod tests;

use domain::call::{Format, Surface};

use crate::formats::{chat, gemini, messages, responses};
use crate::json::Object;
use crate::text_collector::TextCollector;
pub use crate::text_collector::{BodyTexts, TextKind, TextPart};

/// The texts of a client's request.
pub fn request_texts(surface: Surface, body: &[u8], object: &Object) -> BodyTexts {
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
    texts.finish()
}

/// The texts of stored items of the Responses API, given as a JSON array.
pub fn item_texts(items: &[u8]) -> BodyTexts {
    let mut texts = TextCollector::new(items);
    responses::text_parts::items(&mut texts, 0..items.len());
    texts.finish()
}
