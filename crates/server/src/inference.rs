//! Handlers of the inference API in every format.

pub mod call;
pub mod chat;
pub mod gemini;
pub mod google_models;
pub mod messages;
pub mod models;
pub mod passthrough;
pub mod plain;
pub mod responses;
pub mod websocket;
