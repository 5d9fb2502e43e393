//! `/admin/api/v1/identity/users/{id}/roles`: the roles of a user.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use store::Write as Writing;
use utoipa::ToSchema;

use super::users;
use crate::App;
use crate::admin::record;
use crate::authorized::{Authorized, Identity, Read, Write};
use crate::body::Strict;
use crate::fault::Problem;
use crate::path::Named;

#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UserRoles {
    pub roles: Vec<String>,
}

/// Get the roles of a user.
#[utoipa::path(get, path = "/admin/api/v1/identity/users/{id}/roles", operation_id = "get_user_roles", tag = "identity",
    params(("id" = String, Path, description = "The user's id")),
    responses((status = 200, description = "The roles", body = UserRoles), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such user")),
    security(("bearer" = ["admin:identity:read"])))]
pub async fn read(
    State(app): State<Arc<App>>,
    _: Authorized<Read<Identity>>,
    Named(id): Named,
) -> Result<Response, Problem> {
    let stored = users::find(&app, &id).await?;
    Ok(record::answer(StatusCode::OK, &stored.etag(), UserRoles { roles: stored.value.roles }))
}

/// Replace the roles of a user. They grant at most the caller's own rights.
#[utoipa::path(put, path = "/admin/api/v1/identity/users/{id}/roles", operation_id = "replace_user_roles", tag = "identity",
    params(("id" = String, Path, description = "The user's id")), request_body = UserRoles,
    responses((status = 200, description = "The roles", body = UserRoles), (status = 400, description = "No such role"),
        (status = 401, description = "Unauthorized"), (status = 403, description = "The user has, or would have, more rights than the caller"),
        (status = 404, description = "No such user"), (status = 412, description = "Changed in the meantime")),
    security(("bearer" = ["admin:identity:write"])))]
pub async fn replace(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<Identity>>,
    Named(id): Named,
    headers: HeaderMap,
    Strict(body): Strict<UserRoles>,
) -> Result<Response, Problem> {
    let stored = users::find(&app, &id).await?;
    let roles = super::stored_roles(&app).await?;
    users::within(&authorized.principal, &stored.value, &roles)?;
    super::within(&authorized.principal, &super::permissions(&body.roles, &roles)?)?;
    let etag = stored.etag();
    let mut user = stored.value;
    user.roles = body.roles;
    let if_match = record::if_match(&headers).or(Some(&etag));
    let written = users::write(&app, &user, Writing::Replace, authorized.principal.actor(), if_match).await?;
    Ok(record::answer(StatusCode::OK, &written.etag(), UserRoles { roles: written.value.roles }))
}
