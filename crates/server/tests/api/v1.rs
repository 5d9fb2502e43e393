//! `/v1`: inference.

mod accounting;
mod chat_completions;
mod chat_faults;
mod chat_streams;
mod models;
mod passthrough;
mod vendors;
