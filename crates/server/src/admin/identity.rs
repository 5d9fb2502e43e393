//! `/admin/api/v1/identity`: users and their roles. Callers grant at most their own rights.

mod account_login;
mod first_admin;
pub mod providers;
pub mod roles;
pub mod user_roles;
mod user_view;
pub mod users;

use std::collections::HashMap;
use std::sync::Arc;

use domain::fault::{self, Fault};
use domain::permission::{self, Permission};
use domain::principal::{KeyFacts, Principal};
use domain::resources::role::Role;
use domain::scope::Scope;
use pipeline::snapshot::identities::users::permissions_of;

use crate::App;
use crate::fault::Problem;

pub use account_login::user_of_account;
pub use first_admin::create_first_admin;
pub use user_view::UserView;

/// All stored roles.
async fn stored_roles(app: &App) -> Result<Vec<Role>, Problem> {
    let stored = app.refresher.store().collection::<Role>().all().await?;
    Ok(stored.into_iter().map(|stored| stored.value).collect())
}

/// The permissions of these roles together; fails for a role that does not exist.
fn permissions(names: &[String], stored: &[Role]) -> Result<Vec<Permission>, Fault> {
    let roles: HashMap<&str, &Role> = stored.iter().map(|role| (role.name.as_str(), role)).collect();
    let mut permissions = Vec::new();
    for name in names {
        let own = permissions_of(name, &roles)
            .ok_or_else(|| fault::invalid_parameter("roles", format!("There is no role '{name}'.")))?;
        permissions.extend(own.iter().copied());
    }
    Ok(permissions)
}

/// Refuses to give or change rights that the caller does not have.
fn within(giver: &Principal, permissions: &[Permission]) -> Result<(), Fault> {
    let scopes = permission::scopes(permissions);
    scopes.iter().try_for_each(|scope| giver.require(*scope))?;
    match giver.key().filter(|_| scopes.contains(&Scope::Inference)).and_then(restriction) {
        Some(restriction) => {
            let message = format!(
                "The caller has {restriction}, which users do not have: it cannot grant or change users and roles that \
                 may call models."
            );
            Err(fault::key_limit_denied("roles", message))
        }
        None => Ok(()),
    }
}

/// A restriction of calls that a key can have and a user cannot.
fn restriction(giver: &Arc<KeyFacts>) -> Option<&'static str> {
    let lists = &giver.lists;
    let has_lists = lists.allowed_providers.is_some()
        || lists.allowed_models.is_some()
        || !lists.denied_models.is_empty();
    let has_limits = giver.rate_limits.named().iter().any(|(_, limit)| limit.is_some());
    let restrictions = [
        (has_lists, "a list of models or providers"),
        (has_limits, "rate limits"),
        (giver.provider_pool.is_some(), "a provider pool"),
        (giver.expires_at.is_some(), "an expiry"),
    ];
    restrictions.into_iter().find_map(|(has, restriction)| has.then_some(restriction))
}
