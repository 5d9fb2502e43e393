//! Routing: the compiled targets with their health, name resolution, access rules and selection strategies.

pub mod choose;
pub mod client_credential;
pub mod health;
pub mod inventory;
pub mod known_models;
pub mod member_calls;
pub mod models;
pub mod names;
pub mod resolve;
pub mod routes;
