//! The user of an account at an OpenID Connect provider: found, linked or created at each login.

use domain::fault::{Fault, FaultCode};
use domain::ids;
use domain::resources::user::{User, UserIdentity};
use identity::oidc::{Account, OidcProvider};
use store::Write as Writing;

use super::users;
use crate::App;
use crate::fault::Problem;

/// Finds the user of an account by its permanent id. At the first login, the account is linked to the user with its
/// address, or a user is created, if the provider has verified that address.
/// Roles, tenant and user path follow the claims at every login.
pub async fn user_of_account(
    app: &App,
    provider: &OidcProvider,
    account: Account,
) -> Result<String, Problem> {
    let roles = super::stored_roles(app).await?;
    let known_role = |name: &&String| super::permissions(std::slice::from_ref(*name), &roles).is_ok();
    let granted: Vec<String> = account.roles.iter().filter(known_role).cloned().collect();
    let users = users::collection(app).all().await?;
    let linked = users.iter().find(|stored| stored.value.has_identity(&provider.name, &account.subject));
    let by_email = users.iter().find(|stored| stored.value.email == account.email);
    let (mut user, write) = match (linked, by_email) {
        (Some(stored), _) => (stored.value.clone(), Writing::Replace),
        (None, _) if !account.is_verified => {
            let reason = "the provider does not say that its address is verified (claim 'email_verified'; if all its \
                 addresses are, set trust_email of the provider)";
            return Err(refused(&provider.name, reason).into());
        }
        (None, Some(stored)) => (stored.value.clone(), Writing::Replace),
        (None, None) => (new_user(app, &account), Writing::Create),
    };
    if !user.active {
        return Err(refused(&provider.name, "the user is not active").into());
    }
    let before = user.clone();
    apply(&mut user, provider, account, granted);
    if user.roles.is_empty() {
        return Err(refused(&provider.name, "its claims give it no role").into());
    }
    if write == Writing::Create || user != before {
        users::write(app, &user, write, &format!("oidc:{}", provider.name), None).await?;
    }
    Ok(user.id)
}

fn new_user(app: &App, account: &Account) -> User {
    User {
        id: ids::prefixed("user", app.gateway.clock.now(), &*app.gateway.entropy),
        email: account.email.clone(),
        name: account.name.clone(),
        password_hash: None,
        roles: Vec::new(),
        user_path: None,
        tenant_id: None,
        active: true,
        identities: Vec::new(),
    }
}

fn apply(user: &mut User, provider: &OidcProvider, account: Account, granted: Vec<String>) {
    if !user.has_identity(&provider.name, &account.subject) {
        user.identities.push(UserIdentity { provider: provider.name.clone(), subject: account.subject });
    }
    if provider.roles.claim.is_some() || user.roles.is_empty() {
        user.roles = granted;
    }
    if provider.tenant_id.is_some() {
        user.tenant_id = account.tenant_id;
    }
    if provider.user_path.is_some() {
        user.user_path = account.user_path;
    }
}

/// The error for an account that is known and may not log in.
fn refused(provider: &str, reason: &str) -> Fault {
    let message = format!("The account at '{provider}' may not log in: {reason}. Ask an administrator.");
    Fault::new(FaultCode::InsufficientScope, message)
}
