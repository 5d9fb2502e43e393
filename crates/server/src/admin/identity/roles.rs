//! `/admin/api/v1/identity/roles` and `/permissions`: roles, built in and own, and the words of their permissions.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use axum::response::Response;
use domain::fault::{self, Fault};
use domain::permission::{Effect, Permission, PermittedResource, SYSTEM_ROLES};
use domain::resources::Resource as _;
use domain::resources::role::Role;
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use store::{Collection, StoreError, Stored, Write as Writing};
use utoipa::ToSchema;

use crate::App;
use crate::admin::{crud, record};
use crate::authorized::{Authorized, Identity, Read, Write};
use crate::body::{Patch, Strict};
use crate::fault::Problem;
use crate::path::Named;
use crate::query::Pairs;

const MOST: i64 = 1_000;
const READ_ONLY: [&str; 3] = ["system", "created_at", "updated_at"];

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RoleBody {
    /// Optional in a PUT, because the name is in the path.
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default)]
    pub description: Option<String>,
    #[serde(default)]
    #[schema(value_type = Vec<PermissionView>)]
    pub permissions: Vec<Permission>,
}

#[derive(Serialize, ToSchema)]
pub struct RoleView {
    pub name: String,
    pub description: String,
    pub permissions: Vec<PermissionView>,
    /// Whether the role is built in and cannot be changed
    pub system: bool,
    pub created_at: Option<String>,
    pub updated_at: Option<String>,
}

/// One rule of a role.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = Object)]
pub struct PermissionView(Permission);

impl From<&Permission> for PermissionView {
    fn from(permission: &Permission) -> Self {
        Self(*permission)
    }
}

/// The words that permissions are made of.
#[derive(Serialize, ToSchema)]
pub struct PermissionWords {
    pub actions: Vec<&'static str>,
    /// Areas of the admin API, `inference`, or `*` for everything
    pub resources: Vec<&'static str>,
    pub effects: Vec<&'static str>,
}

fn collection(app: &App) -> Collection<Role> {
    app.refresher.store().collection::<Role>()
}

fn system_roles() -> impl Iterator<Item = RoleView> {
    SYSTEM_ROLES.iter().map(|(name, description, permissions)| RoleView {
        name: (*name).to_owned(),
        description: (*description).to_owned(),
        permissions: permissions.iter().map(PermissionView::from).collect(),
        system: true,
        created_at: None,
        updated_at: None,
    })
}

fn view(stored: Stored<Role>) -> RoleView {
    RoleView {
        permissions: stored.value.permissions.iter().map(PermissionView::from).collect(),
        name: stored.value.name,
        description: stored.value.description,
        system: false,
        created_at: Some(record::time(stored.created_at)),
        updated_at: Some(record::time(stored.updated_at)),
    }
}

fn missing(name: &str) -> Fault {
    fault::not_found(format!("There is no role '{name}'."))
}

fn refuse_system(name: &str) -> Result<(), Fault> {
    match domain::permission::system_role(name) {
        Some(_) => {
            Err(fault::conflict(format!("The role '{name}' is built in and cannot be changed."))
                .param("name"))
        }
        None => Ok(()),
    }
}

/// List roles: those that are built in, then own ones by name.
#[utoipa::path(get, path = "/admin/api/v1/identity/roles", operation_id = "list_roles", tag = "identity",
    params(("limit" = Option<i64>, Query, description = "1 to 1000, default 1000"), ("offset" = Option<i64>, Query, description = "Default 0")),
    responses((status = 200, description = "The roles; X-Total-Count has their number", body = Vec<RoleView>),
        (status = 400, description = "Invalid parameters"), (status = 401, description = "Unauthorized")),
    security(("bearer" = ["admin:identity:read"])))]
pub async fn list(
    State(app): State<Arc<App>>,
    _: Authorized<Read<Identity>>,
    Query(pairs): Query<Pairs>,
) -> Result<Response, Problem> {
    let page = record::page(&pairs, MOST, MOST)?;
    let own = collection(&app).all().await?;
    let all: Vec<RoleView> = system_roles().chain(own.into_iter().map(view)).collect();
    Ok(record::paged(page, all, |role| role))
}

/// Create a role. It grants at most the caller's own rights.
#[utoipa::path(post, path = "/admin/api/v1/identity/roles", operation_id = "create_role", tag = "identity", request_body = RoleBody,
    responses((status = 201, description = "The role", body = RoleView), (status = 400, description = "Invalid request"),
        (status = 401, description = "Unauthorized"), (status = 403, description = "The role would grant more than the caller's rights"),
        (status = 409, description = "The name is taken")),
    security(("bearer" = ["admin:identity:write"])))]
pub async fn create(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<Identity>>,
    Strict(body): Strict<RoleBody>,
) -> Result<Response, Problem> {
    let name = body.name.unwrap_or_default();
    refuse_system(&name)?;
    super::within(&authorized.principal, &body.permissions)?;
    let description = body.description.unwrap_or_default();
    let role = Role { name, description, permissions: body.permissions };
    let stored = collection(&app).put(&role, Writing::Create, authorized.principal.actor(), None).await?;
    app.refresher.refresh().await?;
    Ok(record::answer(StatusCode::CREATED, &stored.etag(), view(stored)))
}

/// Get a role.
#[utoipa::path(get, path = "/admin/api/v1/identity/roles/{name}", operation_id = "get_role", tag = "identity", params(("name" = String, Path, description = "The role")),
    responses((status = 200, description = "The role", body = RoleView), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such role")),
    security(("bearer" = ["admin:identity:read"])))]
pub async fn read(
    State(app): State<Arc<App>>,
    _: Authorized<Read<Identity>>,
    Named(name): Named,
) -> Result<Response, Problem> {
    if let Some(role) = system_roles().find(|role| role.name == name) {
        return Ok(record::answer(StatusCode::OK, "\"0\"", role));
    }
    let stored = find(&app, &name).await?;
    Ok(record::answer(StatusCode::OK, &stored.etag(), view(stored)))
}

async fn find(app: &App, name: &str) -> Result<Stored<Role>, Problem> {
    match collection(app).get(name).await {
        Err(StoreError::Corrupt(_)) => Err(record::unreadable("role", name).into()),
        stored => Ok(stored?.ok_or_else(|| missing(name))?),
    }
}

/// Change or create a role. It is in force at once for all users that have it.
#[utoipa::path(put, path = "/admin/api/v1/identity/roles/{name}", operation_id = "replace_role", tag = "identity", params(("name" = String, Path, description = "The role")),
    request_body = RoleBody,
    responses((status = 200, description = "The role", body = RoleView), (status = 201, description = "Created", body = RoleView),
        (status = 400, description = "Invalid request"), (status = 401, description = "Unauthorized"),
        (status = 403, description = "The role grants, or would grant, more than the caller's rights"),
        (status = 409, description = "The role is built in"), (status = 412, description = "Changed in the meantime")),
    security(("bearer" = ["admin:identity:write"])))]
pub async fn replace(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<Identity>>,
    Named(name): Named,
    headers: HeaderMap,
    patch: Patch,
) -> Result<Response, Problem> {
    refuse_system(&name)?;
    let exists = app.refresher.store().documents().find(Role::KIND, &name).await?.is_some();
    let known = collection(&app).get_readable(&name).await?;
    let body: RoleBody = patch.over(known.as_ref().map(|known| &known.value), &READ_ONLY)?;
    let name = record::name("name", body.name, name)?;
    let role =
        Role { name, description: body.description.unwrap_or_default(), permissions: body.permissions };
    let before = known.as_ref().map(|known| known.value.permissions.as_slice()).unwrap_or_default();
    // Without its rules that deny, users with other roles may have more, and with new ones less; those of a role that
    // cannot be read are not known. Only callers with all rights may change them.
    let denies = |one: &[Permission], other: &[Permission]| {
        one.iter().any(|rule| rule.effect == Effect::Deny && !other.contains(rule))
    };
    let changes = denies(before, &role.permissions) || denies(&role.permissions, before);
    if exists && (changes || known.is_none()) {
        super::within(&authorized.principal, SYSTEM_ROLES[0].2)?;
    }
    super::within(&authorized.principal, before)?;
    super::within(&authorized.principal, &role.permissions)?;
    let etag = known.as_ref().map(Stored::etag);
    let if_match = record::if_match(&headers).or(etag.as_deref());
    let actor = authorized.principal.actor();
    let stored = collection(&app).put(&role, Writing::Upsert, actor, if_match).await?;
    app.refresher.refresh().await?;
    let status = if exists { StatusCode::OK } else { StatusCode::CREATED };
    Ok(record::answer(status, &stored.etag(), view(stored)))
}

/// Delete a role that no user has.
#[utoipa::path(delete, path = "/admin/api/v1/identity/roles/{name}", operation_id = "delete_role", tag = "identity", params(("name" = String, Path, description = "The role")),
    responses((status = 204, description = "Gone"), (status = 401, description = "Unauthorized"),
        (status = 403, description = "The role grants more than the caller's rights"), (status = 404, description = "No such role"),
        (status = 409, description = "Still in use, or built in"), (status = 412, description = "Changed in the meantime")),
    security(("bearer" = ["admin:identity:write"])))]
pub async fn delete(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<Identity>>,
    Named(name): Named,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    refuse_system(&name)?;
    match collection(&app).get(&name).await {
        // The rights of one that cannot be read are not known.
        Err(StoreError::Corrupt(_)) => super::within(&authorized.principal, SYSTEM_ROLES[0].2)?,
        stored => {
            let stored = stored?.ok_or_else(|| missing(&name))?;
            if stored.value.permissions.iter().any(|rule| rule.effect == Effect::Deny) {
                super::within(&authorized.principal, SYSTEM_ROLES[0].2)?;
            }
            super::within(&authorized.principal, &stored.value.permissions)?;
        }
    }
    let actor = authorized.principal.actor();
    match collection(&app).delete_any(&name, actor, record::if_match(&headers)).await {
        Err(StoreError::NotFound) => return Err(missing(&name).into()),
        deleted => deleted.map_err(|error| crud::not_deleted(&name, error))?,
    }
    app.refresher.refresh().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List the actions, resources and effects that permissions are made of.
#[utoipa::path(get, path = "/admin/api/v1/identity/permissions", operation_id = "list_permissions", tag = "identity",
    responses((status = 200, description = "The words", body = PermissionWords), (status = 401, description = "Unauthorized")),
    security(("bearer" = ["admin:identity:read"])))]
pub async fn permissions(_: Authorized<Read<Identity>>) -> Json<PermissionWords> {
    Json(PermissionWords {
        actions: vec!["read", "write", "*"],
        resources: PermittedResource::all().map(PermittedResource::as_str).collect(),
        effects: vec!["allow", "deny"],
    })
}
