//! The API formats: parsing of client requests, encoding for providers, and decoding and rendering of answers.

pub mod chat;
pub mod completions;
pub mod embed_content;
pub mod embeddings;
pub mod generate;
pub mod messages;
mod plain;
pub mod rerank;
pub mod responses;

use domain::call::{Format, Surface};

use crate::codec::{Codec, Native};

/// Members with the same meaning in both OpenAI formats and none in the others.
const SHARED: [&str; 3] = ["prompt_cache_key", "prompt_cache_retention", "safety_identifier"];

/// The codec of a conversation format.
pub fn of(format: Format) -> &'static dyn Codec {
    match format {
        Format::Chat => &chat::Chat,
        Format::Responses => &responses::Responses,
        Format::Messages => &messages::Messages,
        Format::Generate => &generate::Generate,
    }
}

/// The pass-through operations of a surface.
pub fn native(surface: Surface) -> &'static dyn Native {
    match surface {
        Surface::Converse(format) => of(format),
        Surface::Completions => &completions::Completions,
        Surface::Embeddings => &embeddings::Embeddings,
        Surface::EmbedContent { batch: false } => &embed_content::EmbedContent { batch: false },
        Surface::EmbedContent { batch: true } => &embed_content::EmbedContent { batch: true },
        Surface::Rerank => &rerank::Rerank,
    }
}
