//! The inference routes: thin, they hand over to the journey and send what comes back.

pub mod chat;
pub mod health;
pub mod models;
