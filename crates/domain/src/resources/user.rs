//! Users of the dashboard and the admin API.

use serde::{Deserialize, Serialize};

use super::Resource;
use super::role::Role;
use super::tenant::Tenant;
use crate::fault::{self, Fault};
use crate::secret::{self, Secret};
use crate::user_path::UserPath;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct User {
    pub id: String,
    /// In lower case; unique.
    pub email: String,
    #[serde(default)]
    pub name: String,
    /// The argon2id hash; none for users that only log in through a provider.
    #[serde(default, serialize_with = "secret::expose", skip_serializing_if = "Option::is_none")]
    pub password_hash: Option<Secret>,
    #[serde(default)]
    pub roles: Vec<String>,
    #[serde(default)]
    pub user_path: Option<String>,
    #[serde(default)]
    pub tenant_id: Option<String>,
    pub active: bool,
    /// The accounts at OpenID Connect providers that log in as this user.
    #[serde(default)]
    pub identities: Vec<UserIdentity>,
}

/// An account at an OpenID Connect provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserIdentity {
    pub provider: String,
    /// The provider's permanent id of the account.
    pub subject: String,
}

impl User {
    /// The form in which addresses are stored and compared.
    pub fn normalized_email(text: &str) -> String {
        text.trim().to_lowercase()
    }

    pub fn has_identity(&self, provider: &str, subject: &str) -> bool {
        self.identities.iter().any(|known| known.provider == provider && known.subject == subject)
    }
}

impl Resource for User {
    const KIND: &'static str = "user";
    const SECRETS: &'static [&'static str] = &["password_hash"];

    #[expect(clippy::misnamed_getters, reason = "documents are stored by id; the member `name` is a title")]
    fn name(&self) -> &str {
        &self.id
    }

    fn validate(&self) -> Result<(), Fault> {
        let refused = |message: &str| Err(fault::invalid_parameter("email", message));
        match self.email.split_once('@') {
            Some((local, host)) if !local.is_empty() && !host.is_empty() && !host.contains('@') => {}
            _ => return refused("'email' must be an address such as name@example.com."),
        }
        if self.email.len() > 254 || self.email.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return refused("'email' has at most 254 characters and no blanks.");
        }
        if self.name.chars().count() > 200 {
            return Err(fault::invalid_parameter("name", "'name' has at most 200 characters."));
        }
        if let Some(path) = &self.user_path {
            UserPath::parse(path).map_err(|reason| fault::invalid_parameter("user_path", reason))?;
        }
        Ok(())
    }

    fn references(&self) -> Vec<(&'static str, String)> {
        let roles = self.roles.iter().map(|role| (Role::KIND, role.clone()));
        roles.chain(self.tenant_id.clone().map(|tenant| (Tenant::KIND, tenant))).collect()
    }
}
