//! The admin API, an area per file.

pub mod aliases;
pub mod audit;
pub mod auth_keys;
pub mod changes;
pub mod combos;
pub mod console;
mod crud;
pub mod explain;
pub mod model_overrides;
pub mod models;
mod names;
pub mod pools;
pub mod providers;
pub mod record;
pub mod usage;
mod watch;
