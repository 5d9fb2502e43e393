//! The user of an account at an OpenID Connect provider: found, linked or created at each login.

use domain::fault::{self, Fault, FaultCode};
use domain::ids;
use domain::resources::auth_key;
use domain::resources::user::{User, UserIdentity};
use identity::oidc::{Account, OidcProvider};
use store::{StoreError, Stored, Write as Writing};

use super::users;
use crate::App;
use crate::fault::Problem;

const ATTEMPTS: usize = 5;

/// Finds the user of an account by its permanent id. At the first login, the account is linked to the user with its
/// address, or a user is created, if the provider has verified that address. Roles, tenant and user path follow the
/// claims at every login. A login that loses a race against a change of the user is repeated on the newer version.
pub async fn user_of_account(
    app: &App,
    provider: &OidcProvider,
    account: Account,
) -> Result<String, Problem> {
    for _ in 0..ATTEMPTS {
        if let Some(id) = log_in(app, provider, &account).await? {
            return Ok(id);
        }
    }
    Err(fault::conflict("The user is being changed by others at the same time: log in again.").into())
}

/// Returns `None` if the user was changed meanwhile.
async fn log_in(app: &App, provider: &OidcProvider, account: &Account) -> Result<Option<String>, Problem> {
    let roles = super::stored_roles(app).await?;
    // A role may deny what others allow, so that none may be left out.
    let is_unknown = |name: &&String| super::permissions(std::slice::from_ref(*name), &roles).is_err();
    if let Some(role) = account.roles.iter().find(is_unknown) {
        let reason = format!("its role '{role}' does not exist or cannot be read");
        return Err(refused(&provider.name, &reason).into());
    }
    let users = users::collection(app).all().await?;
    let linked = users.iter().find(|stored| stored.value.has_identity(&provider.name, &account.subject));
    if linked.is_none() && !account.is_verified {
        let reason = "the provider does not say that its address is verified (claim 'email_verified'; if all its \
             addresses are, set trust_email of the provider)";
        return Err(refused(&provider.name, reason).into());
    }
    let known = linked.or_else(|| users.iter().find(|stored| stored.value.email == account.email));
    let mut user = match known {
        Some(known) => known.value.clone(),
        None => new_user(new_id(app, provider, account, &users), account),
    };
    if !user.active {
        return Err(refused(&provider.name, "the user is not active").into());
    }
    apply(&mut user, provider, account.clone());
    let has_role = !user.roles.is_empty();
    let is_changed = known.map_or(has_role, |known| known.value != user);
    if is_changed {
        let write = if known.is_some() { Writing::Replace } else { Writing::Create };
        let (actor, etag) = (format!("oidc:{}", provider.name), known.map(Stored::etag));
        match users::try_write(app, &user, write, &actor, etag.as_deref()).await {
            // Another login has created a user with this address meanwhile: it is linked instead.
            Err(problem) if known.is_none() && problem.fault().code == FaultCode::Conflict => {
                return Ok(None);
            }
            Err(problem) => return Err(problem),
            Ok(Err(StoreError::PreconditionFailed | StoreError::NotFound | StoreError::Conflict { .. })) => {
                return Ok(None);
            }
            Ok(written) => drop(written?),
        }
    }
    if !has_role {
        if known.is_some() {
            users::end_sessions(app, &user.id).await?;
        }
        return Err(refused(&provider.name, "its claims give it no role").into());
    }
    Ok(Some(user.id))
}

/// The id of a new user. It follows from the account, so that of two first logins at the same time, on any replica, one
/// creates the user and the other finds it.
fn new_id(app: &App, provider: &OidcProvider, account: &Account, users: &[Stored<User>]) -> String {
    let digest = auth_key::digest(&format!("{}\0{}\0{}", provider.name, provider.issuer, account.subject));
    let id = format!("user_{}", &auth_key::digest_hex(&digest)[..26]);
    match users.iter().any(|stored| stored.value.id == id) {
        false => id,
        // The user of an earlier login has another account now.
        true => ids::prefixed("user", app.gateway.clock.now(), &*app.gateway.entropy),
    }
}

fn new_user(id: String, account: &Account) -> User {
    User {
        id,
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

fn apply(user: &mut User, provider: &OidcProvider, account: Account) {
    if !user.has_identity(&provider.name, &account.subject) {
        user.identities.push(UserIdentity { provider: provider.name.clone(), subject: account.subject });
    }
    if provider.roles.claim.is_some() || user.roles.is_empty() {
        user.roles = account.roles;
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
