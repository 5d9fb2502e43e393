//! The API formats: parsing of client requests, encoding for providers, and decoding and rendering of answers.

pub mod chat;
pub mod completions;
pub mod embed_content;
pub mod embeddings;
pub mod gemini;
pub mod messages;
mod plain;
pub mod rerank;
pub mod responses;

use domain::call::{Format, Surface};

use crate::codec::{ClientCodec, Native, UpstreamCodec};

/// Members with the same meaning in both OpenAI formats and none in the others.
const SHARED: [&str; 3] = ["prompt_cache_key", "prompt_cache_retention", "safety_identifier"];

/// The client side of a conversation format.
pub fn client(format: Format) -> &'static dyn ClientCodec {
    match format {
        Format::Chat => &chat::Chat,
        Format::Responses => &responses::Responses,
        Format::Messages => &messages::Messages,
        Format::Gemini => &gemini::Gemini,
    }
}

/// The upstream side of a conversation format.
pub fn upstream(format: Format) -> &'static dyn UpstreamCodec {
    match format {
        Format::Chat => &chat::Chat,
        Format::Responses => &responses::Responses,
        Format::Messages => &messages::Messages,
        Format::Gemini => &gemini::Gemini,
    }
}

/// The pass-through operations of a surface.
pub fn native(surface: Surface) -> &'static dyn Native {
    match surface {
        Surface::Converse(Format::Chat) => &chat::Chat,
        Surface::Converse(Format::Responses) => &responses::Responses,
        Surface::Converse(Format::Messages) => &messages::Messages,
        Surface::Converse(Format::Gemini) => &gemini::Gemini,
        Surface::Completions => &completions::Completions,
        Surface::Embeddings => &embeddings::Embeddings,
        Surface::EmbedContent { batch: false } => &embed_content::EmbedContent { batch: false },
        Surface::EmbedContent { batch: true } => &embed_content::EmbedContent { batch: true },
        Surface::Rerank => &rerank::Rerank,
    }
}
