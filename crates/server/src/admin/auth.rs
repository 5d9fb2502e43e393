//! `/admin/api/v1/auth`: sessions of the dashboard, logins, and the caller's own identity.

mod cookies;
pub mod login;
pub mod logout;
pub mod me;
pub mod oidc;
mod opening;
pub mod refresh;
pub mod session;
pub mod tokens;
mod user_session;
