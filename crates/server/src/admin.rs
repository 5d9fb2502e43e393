//! The admin API, an area per file.

pub mod auth_keys;
pub mod changes;
pub mod console;
pub mod explain;
pub mod models;
pub mod providers;
pub mod record;
pub mod usage;
