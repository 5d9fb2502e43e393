//! `/admin/api/v1/identity/users`: users, without their passwords.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::Response;
use domain::fault::{self, Fault};
use domain::ids;
use domain::permission::SYSTEM_ROLES;
use domain::principal::Principal;
use domain::resources::role::Role;
use domain::resources::user::User;
use domain::secret::Secret;
use domain::session::SessionOwner;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use store::{Collection, StoreError, Stored, Write as Writing};
use utoipa::ToSchema;

use super::UserView;
use crate::App;
use crate::admin::{record, tenants};
use crate::authorized::{Authorized, Identity, Read, Write};
use crate::body::{Patch, Strict};
use crate::fault::Problem;
use crate::logins;
use crate::path::Named;
use crate::query::Pairs;

const MOST: i64 = 1_000;
/// Members of the view that a PUT may repeat.
const READ_ONLY: [&str; 5] = ["id", "password_set", "identities", "created_at", "updated_at"];

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UserBody {
    pub email: String,
    #[serde(default)]
    pub name: Option<String>,
    /// 12 to 256 characters; never shown. Null removes it, and the user can only log in through a provider.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub password: Option<Secret>,
    #[serde(default)]
    pub roles: Vec<String>,
    #[serde(default)]
    pub user_path: Option<String>,
    #[serde(default)]
    pub tenant_id: Option<String>,
    /// Default true. A user that is not active cannot log in, and its sessions end.
    #[serde(default)]
    pub active: Option<bool>,
}

pub(super) fn collection(app: &App) -> Collection<User> {
    app.refresher.store().collection::<User>()
}

fn missing(id: &str) -> Fault {
    fault::not_found(format!("There is no user '{id}'."))
}

pub(super) async fn find(app: &App, id: &str) -> Result<Stored<User>, Problem> {
    match collection(app).get(id).await {
        Err(StoreError::Corrupt(_)) => Err(record::unreadable("user", id).into()),
        stored => Ok(stored?.ok_or_else(|| missing(id))?),
    }
}

/// Refuses to change a user that has more rights than the caller. A role that is gone grants nothing.
pub(super) fn within(giver: &Principal, user: &User, roles: &[Role]) -> Result<(), Fault> {
    let known = |name: &&String| super::permissions(std::slice::from_ref(*name), roles).is_ok();
    let names: Vec<String> = user.roles.iter().filter(known).cloned().collect();
    super::within(giver, &super::permissions(&names, roles)?)
}

/// List users by id, which sorts by time of creation.
#[utoipa::path(get, path = "/admin/api/v1/identity/users", operation_id = "list_users", tag = "identity",
    params(("limit" = Option<i64>, Query, description = "1 to 1000, default 1000"), ("offset" = Option<i64>, Query, description = "Default 0")),
    responses((status = 200, description = "The users; X-Total-Count has their number", body = Vec<UserView>),
        (status = 400, description = "Invalid parameters"), (status = 401, description = "Unauthorized")),
    security(("bearer" = ["admin:identity:read"])))]
pub async fn list(
    State(app): State<Arc<App>>,
    _: Authorized<Read<Identity>>,
    Query(pairs): Query<Pairs>,
) -> Result<Response, Problem> {
    let page = record::page(&pairs, MOST, MOST)?;
    Ok(record::paged(page, collection(&app).all().await?, UserView::from))
}

/// Create a user. Its roles grant at most the caller's own rights.
#[utoipa::path(post, path = "/admin/api/v1/identity/users", operation_id = "create_user", tag = "identity", request_body = UserBody,
    responses((status = 201, description = "The user", body = UserView), (status = 400, description = "Invalid request"),
        (status = 401, description = "Unauthorized"), (status = 403, description = "The user would have more rights than the caller"),
        (status = 409, description = "The address is taken")),
    security(("bearer" = ["admin:identity:write"])))]
pub async fn create(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<Identity>>,
    Strict(body): Strict<UserBody>,
) -> Result<Response, Problem> {
    let id = ids::prefixed("user", app.gateway.clock.now(), &*app.gateway.entropy);
    let password = body.password.clone();
    let mut user = drafted(id, body, None);
    super::within(
        &authorized.principal,
        &super::permissions(&user.roles, &super::stored_roles(&app).await?)?,
    )?;
    if let Some(password) = password {
        user.password_hash = Some(logins::hash(&app, password).await?);
    }
    let stored = write(&app, &user, Writing::Create, authorized.principal.actor(), None).await?;
    Ok(record::answer(StatusCode::CREATED, &stored.etag(), UserView::from(stored)))
}

/// Get a user.
#[utoipa::path(get, path = "/admin/api/v1/identity/users/{id}", operation_id = "get_user", tag = "identity", params(("id" = String, Path, description = "The user's id")),
    responses((status = 200, description = "The user", body = UserView), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such user")),
    security(("bearer" = ["admin:identity:read"])))]
pub async fn read(
    State(app): State<Arc<App>>,
    _: Authorized<Read<Identity>>,
    Named(id): Named,
) -> Result<Response, Problem> {
    let stored = find(&app, &id).await?;
    Ok(record::answer(StatusCode::OK, &stored.etag(), UserView::from(stored)))
}

/// Change a user. Members that are absent keep their value; a new password ends the user's sessions.
#[utoipa::path(put, path = "/admin/api/v1/identity/users/{id}", operation_id = "replace_user", tag = "identity", params(("id" = String, Path, description = "The user's id")),
    request_body = UserBody,
    responses((status = 200, description = "The user", body = UserView), (status = 400, description = "Invalid request"),
        (status = 401, description = "Unauthorized"), (status = 403, description = "The user has, or would have, more rights than the caller"),
        (status = 404, description = "No such user"), (status = 409, description = "The address is taken"),
        (status = 412, description = "Changed in the meantime")),
    security(("bearer" = ["admin:identity:write"])))]
pub async fn replace(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<Identity>>,
    Named(id): Named,
    headers: HeaderMap,
    patch: Patch,
) -> Result<Response, Problem> {
    let stored = find(&app, &id).await?;
    let roles = super::stored_roles(&app).await?;
    within(&authorized.principal, &stored.value, &roles)?;
    let body: UserBody = patch.over(Some(&Editable::of(&stored.value)), &READ_ONLY)?;
    let password = patch.sent("password").map(|_| body.password.clone());
    let mut user = drafted(id, body, Some(&stored.value));
    super::within(&authorized.principal, &super::permissions(&user.roles, &roles)?)?;
    match password {
        None => {}
        Some(None) => user.password_hash = None,
        Some(Some(password)) => user.password_hash = Some(logins::hash(&app, password).await?),
    }
    let etag = stored.etag();
    let if_match = record::if_match(&headers).or(Some(&etag));
    let ends = user.password_hash != stored.value.password_hash || !user.active;
    let written = write(&app, &user, Writing::Replace, authorized.principal.actor(), if_match).await?;
    if ends {
        end_sessions(&app, &user.id).await?;
    }
    Ok(record::answer(StatusCode::OK, &written.etag(), UserView::from(written)))
}

/// Delete a user. Its sessions end.
#[utoipa::path(delete, path = "/admin/api/v1/identity/users/{id}", operation_id = "delete_user", tag = "identity", params(("id" = String, Path, description = "The user's id")),
    responses((status = 204, description = "Gone"), (status = 401, description = "Unauthorized"),
        (status = 403, description = "The user has more rights than the caller"), (status = 404, description = "No such user"),
        (status = 412, description = "Changed in the meantime")),
    security(("bearer" = ["admin:identity:write"])))]
pub async fn delete(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<Identity>>,
    Named(id): Named,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    match collection(&app).get(&id).await {
        // The rights of one that cannot be read are not known.
        Err(StoreError::Corrupt(_)) => super::within(&authorized.principal, SYSTEM_ROLES[0].2)?,
        stored => {
            let stored = stored?.ok_or_else(|| missing(&id))?;
            within(&authorized.principal, &stored.value, &super::stored_roles(&app).await?)?;
        }
    }
    let actor = authorized.principal.actor();
    match collection(&app).delete_any(&id, actor, record::if_match(&headers)).await {
        Err(StoreError::NotFound) => return Err(missing(&id).into()),
        deleted => deleted?,
    }
    app.refresher.refresh().await?;
    end_sessions(&app, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The members of a user that a PUT may leave out.
#[derive(serde::Serialize)]
struct Editable<'a> {
    email: &'a str,
    name: &'a str,
    roles: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    user_path: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant_id: Option<&'a str>,
    active: bool,
}

impl<'a> Editable<'a> {
    fn of(user: &'a User) -> Self {
        Self {
            email: &user.email,
            name: &user.name,
            roles: &user.roles,
            user_path: user.user_path.as_deref(),
            tenant_id: user.tenant_id.as_deref(),
            active: user.active,
        }
    }
}

/// The user that a body asks for, with the password and the accounts of the known one.
fn drafted(id: String, body: UserBody, known: Option<&User>) -> User {
    User {
        id,
        email: User::normalized_email(&body.email),
        name: body.name.unwrap_or_default(),
        password_hash: known.and_then(|known| known.password_hash.clone()),
        roles: body.roles,
        user_path: body.user_path,
        tenant_id: body.tenant_id,
        active: body.active.unwrap_or(true),
        identities: known.map(|known| known.identities.clone()).unwrap_or_default(),
    }
}

/// Stores a user and puts it in force. Its address must not be that of another user.
pub(super) async fn write(
    app: &App,
    user: &User,
    write: Writing,
    actor: &str,
    if_match: Option<&str>,
) -> Result<Stored<User>, Problem> {
    Ok(try_write(app, user, write, actor, if_match).await??)
}

/// Like `write`, with the error of storage by itself.
pub(super) async fn try_write(
    app: &App,
    user: &User,
    write: Writing,
    actor: &str,
    if_match: Option<&str>,
) -> Result<Result<Stored<User>, StoreError>, Problem> {
    let _turn = app.naming.lock().await;
    tenants::require_known(app, user.tenant_id.as_deref())?;
    let others = collection(app).all().await?;
    if others.iter().any(|other| other.value.email == user.email && other.value.id != user.id) {
        let message = format!("There is a user with the address '{}' already.", user.email);
        return Err(fault::conflict(message).param("email").into());
    }
    let stored = collection(app).put(user, write, actor, if_match).await;
    if stored.is_ok() {
        app.refresher.refresh().await?;
    }
    Ok(stored)
}

pub(super) async fn end_sessions(app: &App, id: &str) -> Result<(), Problem> {
    let (owner, now) = (SessionOwner::User(id.to_owned()), app.gateway.clock.now());
    app.refresher.store().sessions().end_owner(&owner, now).await?;
    Ok(app.refresher.refresh_sessions().await?)
}
