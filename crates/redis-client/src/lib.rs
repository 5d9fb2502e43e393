//! Client of Redis: one connection with hard time limits, a circuit breaker, and reconnection in the background.

mod commands;
mod connection;
mod error;
mod time_limit;

pub use commands::{Argument, Script};
pub use connection::{InvalidUrl, Redis};
pub use error::Unavailable;
pub use time_limit::within;
