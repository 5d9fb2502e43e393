//! API tests: a whole gateway on each database with a scripted upstream. Files mirror URLs.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a rig that cannot be set up, or an answer without the expected shape, is a failed test"
)]

mod admin;
mod app;
mod connections;
mod http1;
mod matrix;
mod openapi;
mod ready;
mod shell;
mod shutdown;
mod specification;
mod storage;
mod unreadable;
mod v1;
