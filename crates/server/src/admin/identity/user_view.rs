//! A user as the API shows it.

use domain::resources::user::User;
use serde::Serialize;
use store::Stored;
use utoipa::ToSchema;

use crate::admin::record;

#[derive(Serialize, ToSchema)]
pub struct UserView {
    pub id: String,
    pub email: String,
    pub name: String,
    pub roles: Vec<String>,
    pub user_path: Option<String>,
    pub tenant_id: Option<String>,
    pub active: bool,
    /// Whether the user can log in with a password
    pub password_set: bool,
    /// Accounts at OpenID Connect providers
    pub identities: Vec<IdentityView>,
    pub created_at: String,
    pub updated_at: String,
}

#[derive(Serialize, ToSchema)]
pub struct IdentityView {
    pub provider: String,
    pub subject: String,
}

impl From<Stored<User>> for UserView {
    fn from(stored: Stored<User>) -> Self {
        let (created_at, updated_at) = (record::time(stored.created_at), record::time(stored.updated_at));
        let user = stored.value;
        let identities = user.identities.into_iter();
        Self {
            id: user.id,
            email: user.email,
            name: user.name,
            roles: user.roles,
            user_path: user.user_path,
            tenant_id: user.tenant_id,
            active: user.active,
            password_set: user.password_hash.is_some(),
            identities: identities
                .map(|known| IdentityView { provider: known.provider, subject: known.subject })
                .collect(),
            created_at,
            updated_at,
        }
    }
}
