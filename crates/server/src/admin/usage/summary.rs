//! `/admin/api/v1/usage/summary`: totals over a period.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use domain::money::Nanos;
use http::HeaderMap;
use serde::Serialize;
use utoipa::ToSchema;

use super::ReportParameters;
use crate::App;
use crate::authorized::{Authorized, Read, Usage};
use crate::fault::Problem;
use crate::query::Pairs;

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
    /// The cost that prompt caches of providers saved, below zero if writes to them cost more than reads saved.
    pub total_prompt_cache_savings: Option<f64>,
}

/// Report totals over a period.
#[utoipa::path(get, path = "/admin/api/v1/usage/summary", tag = "usage", params(ReportParameters),
    responses((status = 200, description = "The totals", body = SummaryView), (status = 400, description = "Invalid parameters"),
        (status = 401, description = "Unauthorized"), (status = 503, description = "Usage is off or storage is down")),
    security(("bearer" = ["admin:usage:read"])))]
pub async fn summary(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Usage>>,
    Query(pairs): Query<Pairs>,
    headers: HeaderMap,
) -> Result<Json<SummaryView>, Problem> {
    let filter = super::filter(&app, &authorized, &pairs, &headers)?;
    let sums = super::ledger(&app).summary(&filter).await?;
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
        total_prompt_cache_savings: sums.total_prompt_cache_savings.map(Nanos::usd),
    }))
}
