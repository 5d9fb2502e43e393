//! The dialects: how each is read from a client, sent to a provider and followed on its way back.

pub mod chat;
pub mod completions;
pub mod embed_content;
pub mod embeddings;
pub mod generate;
pub mod messages;
mod plain;
pub mod rerank;
pub mod responses;

/// Members that mean the same in both of OpenAI's dialects and nothing in the others.
const SHARED: [&str; 3] = ["prompt_cache_key", "prompt_cache_retention", "safety_identifier"];
