//! `POST /auth-keys/{id}/deactivate` and `DELETE /auth-keys/{id}`: deactivates or deletes a key.
//!
//! A caller that may write keys may end every key it can see, even one with more rights: ending a key grants nothing.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use domain::resources::Resource as _;
use domain::resources::auth_key::AuthKey;
use http::{HeaderMap, StatusCode};
use store::StoreError;

use super::super::record;
use super::view::{self, KeyView};
use super::{amend, find, missing};
use crate::App;
use crate::authorized::{AuthKeys, Authorized, Write};
use crate::body::{EmptyBody, OptionalBody};
use crate::fault::Problem;
use crate::path::Named;

/// Deactivate a key: it is refused as soon as this request has succeeded. Repeating it changes nothing.
#[utoipa::path(post, path = "/admin/api/v1/auth-keys/{id}/deactivate", tag = "auth-keys",
    params(("id" = String, Path, description = "The key's id")),
    responses((status = 200, description = "The key", body = KeyView), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such key"), (status = 412, description = "Changed in the meantime")),
    security(("bearer" = ["admin:auth-keys:write"])))]
pub async fn deactivate(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<AuthKeys>>,
    Named(id): Named,
    headers: HeaderMap,
    OptionalBody(EmptyBody {}): OptionalBody<EmptyBody>,
) -> Result<Response, Problem> {
    let now = app.gateway.clock.now();
    let stored = amend::amend(&app, &authorized.principal, &id, &headers, |stored| {
        let deactivated_at = stored.value.deactivated_at.or(Some(now));
        Ok(AuthKey { deactivated_at, ..stored.value.clone() })
    });
    view::answer(&app, stored.await?).await
}

/// Delete a key: it is refused as soon as this request has succeeded. Its past usage is kept.
#[utoipa::path(delete, path = "/admin/api/v1/auth-keys/{id}", tag = "auth-keys",
    params(("id" = String, Path, description = "The key's id")),
    responses((status = 204, description = "Deleted"), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such key"), (status = 409, description = "Configured in the file"), (status = 412, description = "Changed in the meantime")),
    security(("bearer" = ["admin:auth-keys:write"])))]
pub async fn delete(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<AuthKeys>>,
    Named(id): Named,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    let keys = app.refresher.store().collection::<AuthKey>();
    // The user path of an unreadable key is unknown, so callers with the whole tree may delete it.
    if authorized.principal.is_confined() {
        find(&app, &authorized.principal, &id).await?;
    }
    let (actor, is_configured) =
        (authorized.principal.actor(), app.refresher.is_configured(AuthKey::KIND, &id));
    match keys.delete_any(&id, actor, record::if_match(&headers)).await {
        Err(StoreError::NotFound) if is_configured => return Err(record::configured("key", &id).into()),
        Err(StoreError::NotFound) => return Err(missing(&id).into()),
        deleted => deleted?,
    }
    app.refresher.refresh().await?;
    Ok(StatusCode::NO_CONTENT)
}
