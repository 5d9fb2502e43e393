//! `/admin/api/v1/usage`: what was consumed and what it cost.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use domain::fault::{self, Fault};
use domain::money::Nanos;
use http::HeaderMap;
use serde::Serialize;
use store::UsageRow;
use utoipa::ToSchema;

use super::record;
use crate::App;
use crate::fault::Problem;
use crate::principal::{Principal, Read, Usage};
use crate::query::{self, Pairs};

#[derive(Serialize, ToSchema)]
pub struct SummaryView {
    pub total_requests: i64,
    pub total_input_tokens: i64,
    pub total_output_tokens: i64,
    pub total_tokens: i64,
    pub total_cached_input_tokens: i64,
    pub total_cache_write_input_tokens: i64,
    pub total_reasoning_tokens: i64,
    /// US dollars; null when nothing was priced.
    pub total_input_cost: Option<f64>,
    pub total_output_cost: Option<f64>,
    pub total_cost: Option<f64>,
}

#[derive(Serialize, ToSchema)]
pub struct EntryView {
    pub id: String,
    pub request_id: String,
    pub provider_id: String,
    pub timestamp: String,
    pub model: String,
    pub requested_model: String,
    pub provider: String,
    pub provider_name: String,
    pub endpoint: String,
    pub user_path: String,
    pub auth_key_id: Option<String>,
    pub tenant_id: Option<String>,
    pub session_id: Option<String>,
    pub cache_type: String,
    pub stream: bool,
    pub status_code: i64,
    pub input_tokens: i64,
    pub cached_input_tokens: i64,
    pub cache_write_input_tokens: i64,
    pub output_tokens: i64,
    pub reasoning_tokens: i64,
    pub total_tokens: i64,
    pub input_cost: Option<f64>,
    pub output_cost: Option<f64>,
    pub total_cost: Option<f64>,
    /// model_pricing, provider_reported or none
    pub cost_source: String,
    pub estimated: bool,
    /// The gateway ended before the call did; charged at what was reserved for it.
    pub interrupted: bool,
    pub pricing_version: Option<String>,
    pub caveat: Option<String>,
    pub raw_usage: serde_json::Value,
}

#[derive(Serialize, ToSchema)]
pub struct LogView {
    pub entries: Vec<EntryView>,
    pub total: i64,
    pub limit: i64,
    pub offset: i64,
}

pub(super) fn enabled(app: &App) -> Result<(), Fault> {
    if app.config.usage_enabled {
        return Ok(());
    }
    Err(fault::feature_unavailable("Usage is not recorded: USAGE_ENABLED is false."))
}

/// Totals over a period.
#[utoipa::path(get, path = "/admin/api/v1/usage/summary", tag = "usage",
    params(("days" = Option<i64>, Query, description = "1 to 365, default 30"), ("start_date" = Option<String>, Query, description = "YYYY-MM-DD"),
        ("end_date" = Option<String>, Query, description = "YYYY-MM-DD"), ("user_path" = Option<String>, Query, description = "A subtree"),
        ("cache_mode" = Option<String>, Query, description = "uncached (default), cached or all"),
        ("model" = Option<String>, Query, description = "Only this model"),
        ("provider" = Option<String>, Query, description = "Only this provider, by name or type"),
        ("auth_key_id" = Option<String>, Query, description = "Only this key")),
    responses((status = 200, description = "The totals", body = SummaryView), (status = 400, description = "Invalid parameters"),
        (status = 401, description = "Unauthorized"), (status = 503, description = "Usage is off or storage is down")),
    security(("bearer" = ["admin:usage:read"])))]
pub async fn summary(
    State(app): State<Arc<App>>,
    principal: Principal<Read<Usage>>,
    Query(pairs): Query<Pairs>,
    headers: HeaderMap,
) -> Result<Json<SummaryView>, Problem> {
    enabled(&app)?;
    let filter = query::usage_filter(&pairs, &headers, &principal.caller, app.gateway.clock.now())?;
    let sums = app.refresher.store().ledger().summary(&filter).await?;
    Ok(Json(SummaryView {
        total_requests: sums.total_requests,
        total_input_tokens: sums.total_input_tokens,
        total_output_tokens: sums.total_output_tokens,
        total_tokens: sums.total_tokens,
        total_cached_input_tokens: sums.total_cached_input_tokens,
        total_cache_write_input_tokens: sums.total_cache_write_input_tokens,
        total_reasoning_tokens: sums.total_reasoning_tokens,
        total_input_cost: sums.total_input_cost.map(Nanos::usd),
        total_output_cost: sums.total_output_cost.map(Nanos::usd),
        total_cost: sums.total_cost.map(Nanos::usd),
    }))
}

/// The calls of a period, newest first.
#[utoipa::path(get, path = "/admin/api/v1/usage/log", tag = "usage",
    params(("days" = Option<i64>, Query, description = "1 to 365, default 30"), ("start_date" = Option<String>, Query, description = "YYYY-MM-DD"),
        ("end_date" = Option<String>, Query, description = "YYYY-MM-DD"), ("user_path" = Option<String>, Query, description = "A subtree"),
        ("cache_mode" = Option<String>, Query, description = "uncached (default), cached or all"),
        ("model" = Option<String>, Query, description = "Only this model"),
        ("provider" = Option<String>, Query, description = "Only this provider, by name or type"),
        ("auth_key_id" = Option<String>, Query, description = "Only this key"),
        ("search" = Option<String>, Query, description = "In model, provider, request_id and provider_id"),
        ("limit" = Option<i64>, Query, description = "1 to 200, default 50"), ("offset" = Option<i64>, Query, description = "Default 0")),
    responses((status = 200, description = "The calls", body = LogView), (status = 400, description = "Invalid parameters"),
        (status = 401, description = "Unauthorized"), (status = 503, description = "Usage is off or storage is down")),
    security(("bearer" = ["admin:usage:read"])))]
pub async fn log(
    State(app): State<Arc<App>>,
    principal: Principal<Read<Usage>>,
    Query(pairs): Query<Pairs>,
    headers: HeaderMap,
) -> Result<Json<LogView>, Problem> {
    enabled(&app)?;
    let (limit, offset) = record::page(&pairs, 50, 200)?;
    let filter = query::usage_filter(&pairs, &headers, &principal.caller, app.gateway.clock.now())?;
    let (rows, total) = app.refresher.store().ledger().log(&filter, limit, offset).await?;
    Ok(Json(LogView { entries: rows.into_iter().map(entry).collect(), total, limit, offset }))
}

fn entry(row: UsageRow) -> EntryView {
    let cost = |nanos: Option<Nanos>| nanos.map(Nanos::usd);
    let raw_usage = row.raw_usage.as_ref().and_then(|raw| serde_json::from_str(raw.get()).ok());
    EntryView {
        timestamp: record::time(row.timestamp),
        input_cost: cost(row.input_cost),
        output_cost: cost(row.output_cost),
        total_cost: cost(row.total_cost),
        input_tokens: row.input_tokens,
        cached_input_tokens: row.cached_input_tokens,
        cache_write_input_tokens: row.cache_write_input_tokens,
        output_tokens: row.output_tokens,
        reasoning_tokens: row.reasoning_tokens,
        total_tokens: row.total_tokens,
        id: row.id,
        request_id: row.request_id,
        provider_id: row.provider_id,
        model: row.model,
        requested_model: row.requested_model,
        provider: row.provider,
        provider_name: row.provider_name,
        endpoint: row.endpoint,
        user_path: row.user_path,
        auth_key_id: row.auth_key_id,
        tenant_id: row.tenant_id,
        session_id: row.session_id,
        cache_type: row.cache_type,
        stream: row.stream,
        status_code: i64::from(row.status),
        cost_source: row.cost_source,
        estimated: row.estimated,
        interrupted: row.interrupted,
        pricing_version: row.pricing_version,
        caveat: row.caveat,
        raw_usage: raw_usage.unwrap_or_else(|| serde_json::json!({})),
    }
}
