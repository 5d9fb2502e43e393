//! `/admin/api/v1/usage/log`: individual calls, newest first.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use domain::clock::Timestamp;
use domain::fault::{self, Fault};
use domain::money::Nanos;
use http::HeaderMap;
use serde::Serialize;
use store::{LogPlace, LogSlice, UsageRow};
use utoipa::ToSchema;

use super::ReportParameters;
use crate::App;
use crate::admin::record;
use crate::authorized::{Authorized, Read, Usage};
use crate::fault::Problem;
use crate::query::{self, Pairs};

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
    /// The agent run that the call belongs to (`X-Run-Id`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
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
    /// True when the gateway stopped before the call ended; the call is charged with its reservation.
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
    /// Cursor of the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Present when only the newest 200,000 calls of the period were searched.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub search_truncated: bool,
}

/// Maximum length of a search text.
const LONGEST_SEARCH: usize = 200;

/// List the calls of a period, newest first.
#[utoipa::path(get, path = "/admin/api/v1/usage/log", tag = "usage",
    params(ReportParameters, ("search" = Option<String>, Query, description = "In model, provider, request_id and provider_id"),
        ("limit" = Option<i64>, Query, description = "1 to 200, default 50"), ("offset" = Option<i64>, Query, description = "Default 0"),
        ("cursor" = Option<String>, Query, description = "What `next` of the page before said")),
    responses((status = 200, description = "The calls", body = LogView), (status = 400, description = "Invalid parameters"),
        (status = 401, description = "Unauthorized"), (status = 503, description = "Usage is off or storage is down")),
    security(("bearer" = ["admin:usage:read"])))]
pub async fn log(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Usage>>,
    Query(pairs): Query<Pairs>,
    headers: HeaderMap,
) -> Result<Json<LogView>, Problem> {
    let mut filter = super::filter(&app, &authorized, &pairs, &headers)?;
    filter.search = query::text(&pairs, "search").map(str::to_owned);
    if filter.search.as_ref().is_some_and(|search| search.len() > LONGEST_SEARCH) {
        let message = format!("'search' must be no longer than {LONGEST_SEARCH} bytes.");
        return Err(fault::invalid_parameter("search", message).into());
    }
    let (limit, offset) = record::page(&pairs, 50, 200)?;
    let after = query::text(&pairs, "cursor").map(place).transpose()?;
    if after.is_some() && offset > 0 {
        return Err(fault::invalid_parameter("offset", "'offset' and 'cursor' exclude each other.").into());
    }
    let page = super::ledger(&app).page(&filter, &LogSlice { limit, offset, after }).await?;
    Ok(Json(LogView {
        entries: page.rows.into_iter().map(entry).collect(),
        total: page.total,
        limit,
        offset,
        next: page.next.as_ref().map(cursor),
        search_truncated: page.search_truncated,
    }))
}

fn cursor(place: &LogPlace) -> String {
    format!("{:x}.{}", place.at.micros(), place.id)
}

fn place(cursor: &str) -> Result<LogPlace, Fault> {
    let place = cursor.split_once('.').and_then(|(micros, id)| {
        let at = Timestamp(i64::from_str_radix(micros, 16).ok()?);
        Some(LogPlace { at, id: id.to_owned() }).filter(|place| !place.id.contains('\0'))
    });
    place.ok_or_else(|| fault::invalid_parameter("cursor", "'cursor' is not one that a page gave as 'next'."))
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
        run_id: row.run_id,
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
