//! `/admin/api/v1`: what steers the gateway.

mod auth_keys;
mod changes;
mod console;
mod providers;
mod usage;
