//! Callers that are not keys: sessions, users and tokens.

pub mod revocations;
pub mod sessions;
pub mod tenants;
pub mod users;

use std::sync::Arc;

use crate::services::token_issuers::TokenIssuers;
use revocations::Revocations;
use sessions::SessionTable;
use tenants::Tenants;
use users::Users;

#[derive(Clone, Default)]
pub struct Identities {
    pub sessions: Arc<SessionTable>,
    pub users: Arc<Users>,
    pub tenants: Arc<Tenants>,
    pub token_issuers: Arc<TokenIssuers>,
    pub revocations: Arc<Revocations>,
}
