//! The dialects: how each is read from a client, sent to a provider and followed on its way back.

pub mod chat;
