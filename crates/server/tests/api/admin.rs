//! `/admin/api/v1`: what steers the gateway.

mod auth_keys;
mod changes;
mod console;
mod explain;
mod models;
mod providers;
mod usage;
