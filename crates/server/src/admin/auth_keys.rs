//! `/admin/api/v1/auth-keys`: managed keys. The raw key is in the answer to its creation and nowhere else.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use axum::response::Response;
use domain::caller::Caller;
use domain::clock::Timestamp;
use domain::fault::{self, Fault};
use domain::ids;
use domain::resources::auth_key::{self, AuthKey, RateLimits};
use domain::scope::Scope;
use domain::user_path::UserPath;
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use store::{Stored, Write as Writing};
use utoipa::ToSchema;

use super::names::Names;
use super::record;
use crate::App;
use crate::body::Strict;
use crate::fault::Problem;
use crate::path::Named;
use crate::principal::{AuthKeys, Principal, Read, Write};
use crate::query::Pairs;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateKey {
    pub name: String,
    #[serde(default)]
    pub description: Option<String>,
    /// Default: inference.
    #[serde(default)]
    pub scopes: Option<Vec<String>>,
    #[serde(default)]
    pub user_path: Option<String>,
    #[serde(default)]
    pub tenant_id: Option<String>,
    /// Absent is no limit, empty is nothing; `*` stands for any characters.
    #[serde(default)]
    pub allowed_providers: Option<Vec<String>>,
    #[serde(default)]
    pub allowed_models: Option<Vec<String>>,
    #[serde(default)]
    pub denied_models: Option<Vec<String>>,
    /// The pool whose members alone may serve its calls.
    #[serde(default)]
    pub provider_pool_id: Option<String>,
    #[serde(default)]
    pub rate_limits: Option<RateLimits>,
    /// ISO 8601, UTC.
    #[serde(default, alias = "expires_at")]
    pub expiry: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub struct KeyView {
    pub id: String,
    pub name: String,
    pub description: String,
    pub scopes: Vec<String>,
    pub user_path: Option<String>,
    pub tenant_id: Option<String>,
    pub allowed_providers: Option<Vec<String>>,
    pub allowed_models: Option<Vec<String>>,
    pub denied_models: Option<Vec<String>>,
    pub provider_pool_id: Option<String>,
    pub rate_limits: RateLimits,
    pub expires_at: Option<String>,
    pub redacted_value: String,
    /// Not deactivated.
    pub enabled: bool,
    /// Enabled and not expired.
    pub active: bool,
    pub last_used_at: Option<String>,
    pub deactivated_at: Option<String>,
    pub created_at: String,
    pub updated_at: String,
}

#[derive(Serialize, ToSchema)]
pub struct CreatedKey {
    /// The raw key: shown now and never again.
    pub key: String,
    /// The same as `key`.
    pub value: String,
    #[serde(flatten)]
    pub view: KeyView,
}

#[derive(Serialize, ToSchema)]
pub struct KeyList {
    pub entries: Vec<KeyView>,
    pub total: i64,
    pub limit: i64,
    pub offset: i64,
}

/// Create a managed key.
#[utoipa::path(post, path = "/admin/api/v1/auth-keys", tag = "auth-keys", request_body = CreateKey,
    responses((status = 201, description = "The key, with its raw value", body = CreatedKey),
        (status = 400, description = "Invalid request"), (status = 401, description = "Unauthorized"),
        (status = 403, description = "The new key would have more rights than its creator")),
    security(("bearer" = ["admin:auth-keys:write"])))]
pub async fn create(
    State(app): State<Arc<App>>,
    principal: Principal<Write<AuthKeys>>,
    Strict(request): Strict<CreateKey>,
) -> Result<Response, Problem> {
    let gateway = &app.gateway;
    let raw = auth_key::mint(&*gateway.entropy);
    let id = ids::prefixed("key", gateway.clock.now(), &*gateway.entropy);
    let key = draft(request, id, raw.reveal(), &principal.caller)?;
    let _turn = app.naming.lock().await;
    if let Some(pool) = &key.provider_pool_id {
        Names::load(&app).await?.pool("provider_pool_id", pool)?;
    }
    let stored = app
        .refresher
        .store()
        .collection::<AuthKey>()
        .put(&key, Writing::Create, principal.caller.actor(), None)
        .await?;
    app.refresher.refresh().await?;
    let etag = stored.etag();
    let view = view(stored, gateway.clock.now());
    let created = CreatedKey { key: raw.reveal().to_owned(), value: raw.reveal().to_owned(), view };
    Ok(record::answer(StatusCode::CREATED, &etag, created))
}

/// A key grants at most what its creator holds, in scope and in reach.
fn draft(request: CreateKey, id: String, raw: &str, creator: &Caller) -> Result<AuthKey, Fault> {
    let scopes = match request.scopes {
        None => vec![Scope::Inference],
        Some(names) => parse_scopes(&names)?,
    };
    for scope in &scopes {
        creator.require(*scope)?;
    }
    let expires_at = request
        .expiry
        .filter(|text| !text.is_empty())
        .map(|text| record::parse_time("expiry", &text))
        .transpose()?;
    Ok(AuthKey {
        id,
        name: request.name.trim().to_owned(),
        description: request.description.unwrap_or_default(),
        scopes,
        user_path: reach(request.user_path.as_deref(), creator)?,
        tenant_id: request.tenant_id.filter(|tenant| !tenant.is_empty()),
        allowed_providers: request.allowed_providers,
        allowed_models: request.allowed_models,
        denied_models: request.denied_models,
        provider_pool_id: request.provider_pool_id,
        rate_limits: request.rate_limits.unwrap_or_default(),
        expires_at,
        deactivated_at: None,
        digest: auth_key::digest(raw).iter().map(|byte| format!("{byte:02x}")).collect(),
        redacted_value: auth_key::redact(raw),
    })
}

fn parse_scopes(names: &[String]) -> Result<Vec<Scope>, Fault> {
    let parse =
        |name: &String| name.parse().map_err(|reason: String| fault::invalid_parameter("scopes", reason));
    names.iter().map(parse).collect()
}

fn reach(asked: Option<&str>, creator: &Caller) -> Result<Option<String>, Fault> {
    let own = creator.key().and_then(|key| key.user_path.clone());
    let asked = asked.filter(|path| !path.is_empty());
    let asked = asked
        .map(|path| UserPath::parse(path).map_err(|reason| fault::invalid_parameter("user_path", reason)))
        .transpose()?;
    match (own, asked) {
        (Some(own), Some(asked)) if !own.covers(&asked) => {
            Err(fault::user_path_denied(asked.as_str(), own.as_str()).param("user_path"))
        }
        (own, asked) => Ok(asked.or(own).map(|path| path.as_str().to_owned())),
    }
}

fn view(stored: Stored<AuthKey>, now: Timestamp) -> KeyView {
    let (created_at, updated_at) = (record::time(stored.created_at), record::time(stored.updated_at));
    let key = stored.value;
    KeyView {
        active: key.active(now),
        enabled: key.deactivated_at.is_none(),
        scopes: key.scopes.iter().map(Scope::to_string).collect(),
        expires_at: key.expires_at.map(record::time),
        deactivated_at: key.deactivated_at.map(record::time),
        last_used_at: None,
        id: key.id,
        name: key.name,
        description: key.description,
        user_path: key.user_path,
        tenant_id: key.tenant_id,
        allowed_providers: key.allowed_providers,
        allowed_models: key.allowed_models,
        denied_models: key.denied_models,
        provider_pool_id: key.provider_pool_id,
        rate_limits: key.rate_limits,
        redacted_value: key.redacted_value,
        created_at,
        updated_at,
    }
}

/// Managed keys, newest first.
#[utoipa::path(get, path = "/admin/api/v1/auth-keys", tag = "auth-keys",
    params(("limit" = Option<i64>, Query, description = "1 to 200, default 50"), ("offset" = Option<i64>, Query, description = "Default 0")),
    responses((status = 200, description = "The keys", body = KeyList), (status = 400, description = "Invalid parameters"),
        (status = 401, description = "Unauthorized")),
    security(("bearer" = ["admin:auth-keys:read"])))]
pub async fn list(
    State(app): State<Arc<App>>,
    principal: Principal<Read<AuthKeys>>,
    Query(pairs): Query<Pairs>,
) -> Result<Json<KeyList>, Problem> {
    let (limit, offset) = record::page(&pairs, 50, 200)?;
    let mut keys = app.refresher.store().collection::<AuthKey>().all().await?;
    keys.retain(|stored| visible(&principal.caller, &stored.value));
    keys.sort_by(|a, b| b.value.id.cmp(&a.value.id));
    let total = keys.len() as i64;
    let now = app.gateway.clock.now();
    let entries =
        keys.into_iter().skip(offset as usize).take(limit as usize).map(|stored| view(stored, now)).collect();
    Ok(Json(KeyList { entries, total, limit, offset }))
}

/// An admin that is bound to a user path sees the keys of that subtree.
fn visible(caller: &Caller, key: &AuthKey) -> bool {
    let Some(own) = caller.key().and_then(|facts| facts.user_path.as_ref()) else { return true };
    let path = key.user_path.as_deref().and_then(|path| UserPath::parse(path).ok()).unwrap_or_default();
    own.covers(&path)
}

async fn find(app: &App, caller: &Caller, id: &str) -> Result<Stored<AuthKey>, Problem> {
    let stored = app.refresher.store().collection::<AuthKey>().get(id).await?;
    let stored = stored.filter(|stored| visible(caller, &stored.value));
    Ok(stored.ok_or_else(|| fault::not_found(format!("There is no key '{id}'.")))?)
}

/// One key.
#[utoipa::path(get, path = "/admin/api/v1/auth-keys/{id}", tag = "auth-keys", params(("id" = String, Path, description = "The key's id")),
    responses((status = 200, description = "The key", body = KeyView), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such key")),
    security(("bearer" = ["admin:auth-keys:read"])))]
pub async fn read(
    State(app): State<Arc<App>>,
    principal: Principal<Read<AuthKeys>>,
    Named(id): Named,
) -> Result<Response, Problem> {
    let stored = find(&app, &principal.caller, &id).await?;
    Ok(record::answer(StatusCode::OK, &stored.etag(), view(stored, app.gateway.clock.now())))
}

/// Deactivate a key: it is refused from the moment this answers. Repeating it changes nothing.
#[utoipa::path(post, path = "/admin/api/v1/auth-keys/{id}/deactivate", tag = "auth-keys",
    params(("id" = String, Path, description = "The key's id")),
    responses((status = 200, description = "The key", body = KeyView), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such key"), (status = 412, description = "Changed in the meantime")),
    security(("bearer" = ["admin:auth-keys:write"])))]
pub async fn deactivate(
    State(app): State<Arc<App>>,
    principal: Principal<Write<AuthKeys>>,
    Named(id): Named,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let mut stored = find(&app, &principal.caller, &id).await?;
    let now = app.gateway.clock.now();
    if stored.value.deactivated_at.is_none() {
        stored.value.deactivated_at = Some(now);
        let keys = app.refresher.store().collection::<AuthKey>();
        stored = keys
            .put(&stored.value, Writing::Replace, principal.caller.actor(), record::if_match(&headers))
            .await?;
        app.refresher.refresh().await?;
    }
    Ok(record::answer(StatusCode::OK, &stored.etag(), view(stored, now)))
}
