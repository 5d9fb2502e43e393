//! Tests of `/v1`, the inference API.

mod accounting;
mod azure;
mod cache;
mod chat_completions;
mod chat_faults;
mod chat_streams;
mod compressed;
mod disconnects;
mod gemini;
mod guardrail_webhooks;
mod guardrails;
mod idempotency;
mod large_bodies;
mod limits;
mod messages;
mod models;
mod passthrough;
mod plain;
mod responses;
mod resume;
mod routing;
mod translation;
mod user_paths;
mod vendors;
mod websocket;
mod workflows;
