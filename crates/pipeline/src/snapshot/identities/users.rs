//! Users with the rights of their roles. Deactivated users are left out.

use std::collections::HashMap;
use std::sync::Arc;

use domain::access::AccessLists;
use domain::permission::{self, Permission};
use domain::principal::{KeyFacts, UserFacts};
use domain::resources::auth_key::RateLimits;
use domain::resources::role::Role;
use domain::resources::user::User;
use domain::user_path::UserPath;

#[derive(Default)]
pub struct Users {
    by_id: HashMap<Arc<str>, Arc<UserFacts>>,
    by_email: HashMap<Arc<str>, Arc<str>>,
}

impl Users {
    pub fn find(&self, id: &str) -> Option<&Arc<UserFacts>> {
        self.by_id.get(id)
    }

    /// The user with this address, which must be normalized.
    pub fn by_email(&self, email: &str) -> Option<&Arc<UserFacts>> {
        self.find(self.by_email.get(email)?)
    }

    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Compiles users. `report` gets the id of each one that cannot be used, and the reason.
    pub fn compile<'a>(
        users: impl Iterator<Item = &'a User>,
        roles: &HashMap<&str, &Role>,
        mut report: impl FnMut(&str, String),
    ) -> Self {
        let mut compiled = Self::default();
        for user in users.filter(|user| user.active) {
            match facts(user, roles) {
                Ok(facts) => {
                    let (id, email) = (facts.grant.id.clone(), facts.email.clone());
                    compiled.by_email.insert(email, id.clone());
                    compiled.by_id.insert(id, Arc::new(facts));
                }
                Err(reason) => report(&user.id, reason),
            }
        }
        compiled
    }
}

/// The permissions of a role, built in or stored.
pub fn permissions_of<'a>(role: &str, roles: &HashMap<&str, &'a Role>) -> Option<&'a [Permission]> {
    permission::system_role(role).or_else(|| roles.get(role).map(|role| &*role.permissions))
}

fn facts(user: &User, roles: &HashMap<&str, &Role>) -> Result<UserFacts, String> {
    let parse = |path: &str| UserPath::parse(path).map_err(|_| "its user_path is not a user path".to_owned());
    let user_path = user.user_path.as_deref().map(parse).transpose()?;
    let mut permissions = Vec::new();
    for role in &user.roles {
        let own = permissions_of(role, roles)
            // Its rules may deny something, so nothing is granted without it.
            .ok_or_else(|| format!("its role '{role}' does not exist or does not compile"))?;
        permissions.extend(own.iter().copied());
    }
    let grant = KeyFacts {
        scopes: permission::scopes(&permissions),
        user_path,
        tenant_id: user.tenant_id.as_deref().map(Into::into),
        ..unlimited_grant(&user.id, &user.email)
    };
    let (email, display_name) = (user.email.as_str().into(), user.name.as_str().into());
    Ok(UserFacts { email, display_name, roles: user.roles.clone(), permissions, grant: Arc::new(grant) })
}

/// A caller without scopes, and without limits.
pub(super) fn unlimited_grant(id: &str, name: &str) -> KeyFacts {
    KeyFacts {
        id: id.into(),
        name: name.into(),
        searchable: "".into(),
        digest: [0; 32],
        scopes: Vec::new(),
        user_path: None,
        tenant_id: None,
        lists: AccessLists::default(),
        provider_pool: None,
        rate_limits: RateLimits::default(),
        expires_at: None,
        active: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(id: &str, roles: &[&str], active: bool) -> User {
        User {
            id: id.into(),
            email: format!("{id}@example.com"),
            name: String::new(),
            password_hash: None,
            roles: roles.iter().map(|role| (*role).to_owned()).collect(),
            user_path: None,
            tenant_id: None,
            active,
            identities: Vec::new(),
        }
    }

    #[test]
    fn users_have_the_scopes_of_their_roles() {
        let own: Role = serde_json::from_str(
            r#"{"name":"no-audit","permissions":[{"action":"*","resource":"audit","effect":"deny"}]}"#,
        )
        .unwrap();
        let roles = HashMap::from([("no-audit", &own)]);
        let users = [
            user("a", &["admin"], true),
            user("b", &["admin", "no-audit"], true),
            user("c", &["admin"], false),
            user("d", &["admin", "gone"], true),
        ];
        let mut reported = Vec::new();
        let compiled = Users::compile(users.iter(), &roles, |id, _| reported.push(id.to_owned()));
        let may = |id: &str, scope: &str| {
            let scope = scope.parse().unwrap();
            compiled.find(id).is_some_and(|user| user.grant.scopes.iter().any(|held| held.grants(scope)))
        };
        assert!(may("a", "admin:audit:read") && may("b", "admin:usage:write"));
        assert!(!may("b", "admin:audit:read"));
        assert!(compiled.find("c").is_none() && compiled.find("d").is_none());
        assert_eq!(reported, ["d"]);
        assert!(compiled.by_email("a@example.com").is_some());
    }
}
