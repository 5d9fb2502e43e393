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

/// Members with the same meaning in both OpenAI formats and none in the others.
const SHARED: [&str; 3] = ["prompt_cache_key", "prompt_cache_retention", "safety_identifier"];
