//! The API as a client meets it: a whole gateway on each database, a scripted provider behind it. Files mirror URLs.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a rig that cannot be set up, or an answer without the expected shape, is a failed test"
)]

mod admin;
mod connections;
mod house;
mod matrix;
mod openapi;
mod ready;
mod shell;
mod storage;
mod unreadable;
mod v1;
