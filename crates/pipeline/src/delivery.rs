//! Delivery of an answer to the client: whole or as a stream, and kept for repeated calls.

pub mod answer_recorder;
pub mod commit;
pub mod event_stream;
pub mod idempotency;
pub mod replay;
pub mod reply;
