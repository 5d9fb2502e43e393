//! The dialects: how each is read from a client, sent to a provider and followed on its way back.

pub mod chat;
pub mod completions;
pub mod embeddings;
pub mod generate;
pub mod messages;
mod plain;
pub mod rerank;
pub mod responses;
