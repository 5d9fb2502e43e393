//! Identity as pure functions: passwords, tokens of issuers, OpenID Connect, limits on logins. No IO, no clock of its own.

pub mod claim_template;
pub mod key_set;
pub mod login_throttle;
pub mod oidc;
pub mod password;
pub mod token;
pub mod token_issuer;
mod yaml_number;

pub use jsonwebtoken::Algorithm;
