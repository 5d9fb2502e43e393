//! The domain types. No I/O, no async runtime, no framework; every other crate may depend on this one.

pub mod access;
pub mod boxed;
pub mod call;
pub mod canon;
pub mod capability;
pub mod caveat;
pub mod clock;
pub mod fault;
pub mod ids;
pub mod json;
pub mod live_replicas;
pub mod model;
pub mod money;
pub mod period;
pub mod permission;
pub mod principal;
pub mod receipt;
pub mod resources;
pub mod scope;
pub mod secret;
pub mod session;
pub mod strategy;
pub mod text;
pub mod usage;
pub mod user_path;
