//! Table and property tests of decisions, which are pure functions of a snapshot.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a snapshot or a plan that is not as expected is a failed test"
)]

mod access;
mod authenticate;
mod names;
mod prices;
mod prompt_cache_cost;
mod resolve;
mod snapshots;
