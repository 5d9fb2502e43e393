//! Client of Redis: one connection with hard time limits, a circuit breaker, and reconnection in the background.

mod commands;
mod connection;
mod error;

pub use commands::{Argument, Script};
pub use connection::{InvalidUrl, Redis, within};
pub use error::Unavailable;
