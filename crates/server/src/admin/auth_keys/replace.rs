//! `PUT /auth-keys/{id}`: updates a key. Absent fields keep their value, null clears one.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use domain::clock::Timestamp;
use domain::fault::{self, Fault};
use domain::principal::Principal;
use domain::resources::auth_key::{AuthKey, RateLimits};
use http::HeaderMap;
use serde::{Deserialize, Deserializer};
use utoipa::ToSchema;

use super::super::names::Names;
use super::super::{record, tenants};
use super::view::{self, KeyView, PreviousView};
use super::{amend, draft, grant};
use crate::App;
use crate::authorized::{AuthKeys, Authorized, Write};
use crate::body::Patch;
use crate::fault::Problem;
use crate::path::Named;
use crate::tenant_access::TenantAccess;

/// An edit of a field: absent, null or a value.
pub type Edit<T> = Option<Option<T>>;

fn edit<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Edit<T>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// The fields of a key update. Read-only fields of the view are accepted and ignored, so that a key can be read, edited
/// and sent back.
#[derive(Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[derive(Default)]
pub struct EditKey {
    #[serde(deserialize_with = "edit")]
    #[schema(value_type = Option<String>)]
    name: Edit<String>,
    #[serde(deserialize_with = "edit")]
    #[schema(value_type = Option<String>)]
    description: Edit<String>,
    #[serde(deserialize_with = "edit")]
    #[schema(value_type = Option<Vec<String>>)]
    scopes: Edit<Vec<String>>,
    #[serde(deserialize_with = "edit")]
    #[schema(value_type = Option<String>)]
    user_path: Edit<String>,
    #[serde(deserialize_with = "edit")]
    #[schema(value_type = Option<String>)]
    tenant_id: Edit<String>,
    #[serde(deserialize_with = "edit")]
    #[schema(value_type = Option<Vec<String>>)]
    allowed_providers: Edit<Vec<String>>,
    #[serde(deserialize_with = "edit")]
    #[schema(value_type = Option<Vec<String>>)]
    allowed_models: Edit<Vec<String>>,
    #[serde(deserialize_with = "edit")]
    #[schema(value_type = Option<Vec<String>>)]
    denied_models: Edit<Vec<String>>,
    #[serde(deserialize_with = "edit")]
    #[schema(value_type = Option<String>)]
    provider_pool_id: Edit<String>,
    #[serde(deserialize_with = "edit")]
    #[schema(value_type = Option<RateLimits>)]
    rate_limits: Edit<RateLimits>,
    /// ISO 8601, UTC.
    #[serde(deserialize_with = "edit")]
    #[schema(value_type = Option<String>)]
    expiry: Edit<String>,
    /// Alias of `expiry`; if both are sent, the one that was changed counts.
    #[serde(deserialize_with = "edit")]
    #[schema(value_type = Option<String>)]
    expires_at: Edit<String>,
    /// false deactivates the key, true reactivates it.
    enabled: Option<bool>,
    /// Previous values that are left out become invalid at once.
    #[serde(deserialize_with = "edit")]
    #[schema(value_type = Option<Vec<PreviousView>>)]
    previous: Edit<Vec<PreviousView>>,
    /// Must equal the id in the path.
    id: Option<String>,
}

/// Read-only fields of the view. The id is not among them, because it must equal the path's.
const READ_ONLY: [&str; 11] = [
    "limit_use",
    "cost_30_days",
    "redacted_value",
    "active",
    "deactivated_at",
    "source",
    "overrides",
    "created_at",
    "updated_at",
    "last_used_at",
    "warnings",
];

/// Update a key: absent fields keep their value, null clears one.
#[utoipa::path(put, path = "/admin/api/v1/auth-keys/{id}", tag = "auth-keys", params(("id" = String, Path, description = "The key's id")),
    request_body = EditKey,
    responses((status = 200, description = "The key", body = KeyView), (status = 400, description = "Invalid request"),
        (status = 401, description = "Unauthorized"), (status = 403, description = "The key has, or would have, more rights than the caller"),
        (status = 404, description = "No such key"), (status = 412, description = "Changed in the meantime")),
    security(("bearer" = ["admin:auth-keys:write"])))]
pub async fn replace(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<AuthKeys>>,
    Named(id): Named,
    headers: HeaderMap,
    patch: Patch,
) -> Result<Response, Problem> {
    let request: EditKey = patch.strict(&READ_ONLY)?;
    let _turn = app.naming.lock().await;
    let routes = authorized.documents(&app).snapshot().routes.clone();
    let tenant_id = new_tenant(&app, &id, &request);
    let names = Names::load(&TenantAccess::new(&app, tenant_id.as_deref())).await?;
    let (principal, now) = (&authorized.principal, app.gateway.clock.now());
    let stored = amend::amend(&app, principal, &id, &headers, |stored| {
        // Otherwise a caller could use its edit rights to gain the rights of a more powerful key.
        grant::within(&stored.value, principal, &routes.names)?;
        record::name("id", request.id.clone(), stored.value.id.clone())?;
        let key = grant::inherit(edited(&request, stored.value.clone(), principal, now)?, principal);
        grant::within(&key, principal, &routes.names)?;
        if key.tenant_id != stored.value.tenant_id {
            tenants::require_known(&app, key.tenant_id.as_deref())?;
        }
        let moved = key.provider_pool_id != stored.value.provider_pool_id;
        match &key.provider_pool_id {
            Some(pool) if moved || key.deactivated_at.is_none() => names.pool("provider_pool_id", pool)?,
            _ => {}
        }
        Ok(key)
    });
    view::answer(&app, stored.await?).await
}

/// The tenant that a key belongs to after an edit, whose pools it can name.
fn new_tenant(app: &App, id: &str, request: &EditKey) -> Option<String> {
    let known = || {
        let snapshot = app.gateway.snapshot();
        snapshot.keys.by_id(id).and_then(|key| key.tenant_id.as_ref().map(|tenant| tenant.to_string()))
    };
    request.tenant_id.clone().unwrap_or_else(known).filter(|tenant| !tenant.is_empty())
}

fn edited(request: &EditKey, mut key: AuthKey, editor: &Principal, now: Timestamp) -> Result<AuthKey, Fault> {
    if let Some(name) = &request.name {
        key.name = name.as_deref().unwrap_or_default().trim().to_owned();
    }
    if let Some(names) = &request.scopes {
        key.scopes = draft::scopes(names.as_deref())?;
    }
    if let Some(path) = &request.user_path {
        key.user_path = grant::reach(path.as_deref(), editor)?;
    }
    if let Some(tenant) = &request.tenant_id {
        key.tenant_id = tenant.clone().filter(|tenant| !tenant.is_empty());
    }
    key.expires_at = draft::end(key.expires_at, &request.expiry, &request.expires_at)?;
    match request.enabled {
        Some(true) => key.deactivated_at = None,
        Some(false) => key.deactivated_at = key.deactivated_at.or(Some(now)),
        None => {}
    }
    if let Some(left) = &request.previous {
        keep_previous(&mut key, left.as_deref().unwrap_or_default())?;
    }
    set(&mut key.description, &request.description);
    set(&mut key.allowed_providers, &request.allowed_providers.clone().map(Some));
    set(&mut key.allowed_models, &request.allowed_models.clone().map(Some));
    set(&mut key.denied_models, &request.denied_models.clone().map(Some));
    if let Some(pool) = &request.provider_pool_id {
        key.provider_pool_id = pool.clone().filter(|pool| !pool.is_empty());
    }
    set(&mut key.rate_limits, &request.rate_limits);
    Ok(key)
}

/// Applies an edit to a field; null sets its default value.
fn set<T: Clone + Default>(field: &mut T, edit: &Edit<T>) {
    if let Some(value) = edit {
        *field = value.clone().unwrap_or_default();
    }
}

fn keep_previous(key: &mut AuthKey, left: &[PreviousView]) -> Result<(), Fault> {
    let known: Vec<PreviousView> = key.previous.iter().map(PreviousView::of).collect();
    if left.iter().any(|value| !known.contains(value)) {
        let message = "Earlier values of a key can be left out, and not be changed or added.";
        return Err(fault::invalid_parameter("previous", message));
    }
    key.previous.retain(|previous| left.contains(&PreviousView::of(previous)));
    Ok(())
}
