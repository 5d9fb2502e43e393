//! Response types of managed keys.

use std::collections::BTreeMap;

use axum::response::Response;
use domain::clock::Timestamp;
use domain::resources::auth_key::{AuthKey, Previous, RateLimits};
use domain::scope::Scope;
use domain::secret::Secret;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use store::Stored;
use utoipa::ToSchema;

use super::super::record::{self, ResourceOrigin};
use super::use_figures::LimitUse;
use super::warnings;
use crate::App;
use crate::fault::Problem;

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
    pub expiry: Option<String>,
    /// Alias of `expiry`.
    pub expires_at: Option<String>,
    pub redacted_value: String,
    /// Values from before a rotation that are still valid.
    pub previous: Vec<PreviousView>,
    /// False when the key is deactivated.
    pub enabled: bool,
    /// Enabled and not expired.
    pub active: bool,
    pub last_used_at: Option<String>,
    pub deactivated_at: Option<String>,
    #[serde(flatten)]
    pub origin: ResourceOrigin,
    /// Only in lists of keys.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub figures: Option<KeyFigures>,
    /// Entries of the lists that currently match nothing; not included in lists of keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// The current use of a key.
#[derive(Serialize, ToSchema)]
pub struct KeyFigures {
    /// The use of each limit that is set: requests_per_minute, requests_per_day, tokens_per_minute, tokens_per_day and
    /// max_parallel_requests; of this process.
    #[schema(required = false, value_type = std::collections::HashMap<String, LimitUse>)]
    pub limit_use: BTreeMap<&'static str, LimitUse>,
    /// US dollars; null when nothing was priced, or usage is not recorded.
    pub cost_30_days: Option<f64>,
}

#[derive(PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PreviousView {
    pub redacted_value: String,
    pub valid_until: String,
}

impl PreviousView {
    pub fn of(previous: &Previous) -> Self {
        Self {
            redacted_value: previous.redacted_value.clone(),
            valid_until: record::time(previous.valid_until),
        }
    }
}

#[derive(Serialize, ToSchema)]
pub struct CreatedKey {
    /// The raw key, returned only once.
    pub key: String,
    /// Alias of `key`.
    pub value: String,
    #[serde(flatten)]
    pub view: KeyView,
}

impl CreatedKey {
    pub fn new(raw: &Secret, view: KeyView) -> Self {
        Self { key: raw.reveal().to_owned(), value: raw.reveal().to_owned(), view }
    }
}

pub fn view(app: &App, stored: Stored<AuthKey>, last_used_at: Option<Timestamp>, now: Timestamp) -> KeyView {
    let origin = ResourceOrigin::of(app, &stored);
    let key = stored.value;
    let valid = key.previous.iter().filter(|previous| now < previous.valid_until);
    KeyView {
        active: key.active(now),
        enabled: key.deactivated_at.is_none(),
        scopes: key.scopes.iter().map(Scope::to_string).collect(),
        expiry: key.expires_at.map(record::time),
        expires_at: key.expires_at.map(record::time),
        deactivated_at: key.deactivated_at.map(record::time),
        last_used_at: last_used_at.map(record::time),
        previous: valid.map(PreviousView::of).collect(),
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
        origin,
        figures: None,
        warnings: None,
    }
}

/// The last use of a key, including uses that are not written to storage yet.
pub async fn last_use(app: &App, id: &str) -> Result<Option<Timestamp>, Problem> {
    let written = app.refresher.store().ledger().key_uses(&[id]).await?;
    Ok(written.get(id).copied().max(app.gateway.key_uses.of(id)))
}

pub async fn answer(app: &App, stored: Stored<AuthKey>) -> Result<Response, Problem> {
    let last_used_at = last_use(app, &stored.value.id).await?;
    let etag = stored.etag();
    let seen = app.gateway.snapshot().seen_by(stored.value.tenant_id.as_deref());
    let warnings = warnings::of(&seen.routes, &stored.value);
    let view =
        KeyView { warnings: Some(warnings), ..view(app, stored, last_used_at, app.gateway.clock.now()) };
    Ok(record::answer(StatusCode::OK, &etag, view))
}
