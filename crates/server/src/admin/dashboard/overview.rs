//! `GET /admin/api/v1/dashboard/overview`: everything that the overview page shows.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use domain::scope::{Action, Area, Scope};
use http::HeaderMap;
use pipeline::services::console::Entry;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::overview_usage::{OverviewUsage, figures};
use crate::App;
use crate::admin::providers::{self, StatusView};
use crate::admin::usage::ReportParameters;
use crate::admin::{console, record};
use crate::authorized::{Authorized, Dashboard, Read};
use crate::fault::Problem;
use crate::query::Pairs;

/// Latest errors that are shown.
const ERRORS: usize = 10;

#[derive(Serialize, ToSchema)]
pub struct Overview {
    pub server_time: String,
    /// The time of the figures; the same
    pub as_of: String,
    /// Calls in flight in this process; null for a tenant, because they are those of all tenants
    pub in_flight: Option<i64>,
    /// Absent without `admin:usage:read`
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub usage: Option<OverviewUsage>,
    /// The health of all provider instances
    pub providers: Vec<StatusView>,
    /// The latest failed calls of this process, newest first, as in the console; at most 10. Absent without
    /// `admin:console:read`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<RecentError>>)]
    pub recent_errors: Option<Vec<Box<RawValue>>>,
    /// Number of stored documents that do not compile
    pub document_errors: usize,
}

/// A failed call, as the console shows it: without message texts.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it describes the events of the console")]
pub struct RecentError {
    id: u64,
    /// request
    event: String,
    at: String,
    request_id: String,
    method: String,
    path: String,
    requested_model: String,
    /// Empty when the gateway itself refused the call
    provider_name: String,
    model: String,
    status: u16,
    stream: bool,
    duration_ms: u64,
    ttft_ms: Option<u64>,
    overhead_us: u64,
    attempts: usize,
    user_path: String,
    auth_key_id: Option<String>,
    input_tokens: u64,
    output_tokens: u64,
    total_cost: Option<f64>,
    cache_type: String,
    error_code: Option<String>,
}

/// Get everything that the overview page shows: figures with those of the period before, charts, tables, providers and
/// the latest errors. Figures are left out for callers without `admin:usage:read`, errors without `admin:console:read`.
#[utoipa::path(get, path = "/admin/api/v1/dashboard/overview", tag = "dashboard", operation_id = "dashboard_overview",
    params(ReportParameters,
        ("interval" = Option<String>, Query, description = "quarter_hour, hourly, daily (default), weekly, monthly or yearly")),
    responses((status = 200, description = "The overview", body = Overview), (status = 400, description = "Invalid parameters"),
        (status = 401, description = "Unauthorized"), (status = 503, description = "Usage is off or storage is down")),
    security(("bearer" = ["admin:dashboard:read"])))]
pub async fn overview(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Dashboard>>,
    Query(pairs): Query<Pairs>,
    headers: HeaderMap,
) -> Result<Json<Overview>, Problem> {
    let (principal, now) = (&authorized.principal, app.gateway.clock.now());
    let may_read = |area| principal.may(Scope::Admin(Some(area), Action::Read));
    let usage = match may_read(Area::Usage) {
        true => Some(figures(&app, &authorized, &pairs, &headers).await?),
        false => None,
    };
    let instances = authorized.snapshot.routes.instances.values();
    let tenant = authorized.reported_tenant().map(|tenant| &**tenant);
    Ok(Json(Overview {
        server_time: record::time(now),
        as_of: record::time(now),
        in_flight: tenant.is_none().then(|| app.gateway.metrics.in_flight.get()),
        usage,
        providers: instances.map(|instance| providers::status_of(&app, instance, tenant)).collect(),
        recent_errors: may_read(Area::Console).then(|| recent_errors(&app, &authorized)),
        document_errors: authorized.snapshot.document_errors.len(),
    }))
}

/// The latest failed calls that the request is about.
fn recent_errors(app: &App, authorized: &Authorized<Read<Dashboard>>) -> Vec<Box<RawValue>> {
    let events = app.gateway.console.read_all(0).events;
    let is_visible = |entry: &Entry| {
        console::concerns(entry, Some("request"), &authorized.principal) && authorized.reports(entry.tenant())
    };
    let visible = events.iter().rev().filter(|entry| is_visible(entry));
    let failed = visible.filter(|entry| is_failed(entry));
    failed.take(ERRORS).filter_map(|entry| RawValue::from_string(entry.json().to_owned()).ok()).collect()
}

fn is_failed(entry: &Entry) -> bool {
    let call: Value = serde_json::from_str(entry.json()).unwrap_or_default();
    call["status"].as_u64().is_some_and(|status| status >= 400)
}
