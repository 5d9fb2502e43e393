//! `GET /admin/api/v1/dashboard/overview`: everything that the overview page shows.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use domain::clock::Timestamp;
use domain::principal::Principal;
use domain::scope::{Action, Area, Scope};
use http::HeaderMap;
use pipeline::services::console::Entry;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use store::{Axis, Figures, Histogram, Report, UsageFilter};
use utoipa::ToSchema;

use crate::App;
use crate::admin::providers::{self, StatusView};
use crate::admin::usage::breakdown::{self, ModelUsageView, UserPathView};
use crate::admin::usage::series::{Metric, Series};
use crate::admin::usage::timeseries::{self, PointView, SeriesQuery, SeriesView};
use crate::admin::usage::{self, ReportParameters};
use crate::admin::{console, record};
use crate::authorized::{Authorized, Dashboard, Read};
use crate::fault::Problem;
use crate::query::periods::{Calendar, Interval};
use crate::query::{self, Pairs};

/// Models in the chart of costs; the others are one more series.
const CHART_MODELS: usize = 5;
/// Rows in each table.
const ROWS: usize = 10;

#[derive(Serialize, ToSchema)]
pub struct Overview {
    pub server_time: String,
    /// Absent without `admin:usage:read`
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub usage: Option<OverviewUsage>,
    /// The health of all provider instances
    pub providers: Vec<StatusView>,
    /// The latest failed calls of this process, newest first, as in the console; at most 10. Absent without
    /// `admin:console:read`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>)]
    pub recent_errors: Option<Vec<Box<RawValue>>>,
    /// Number of stored documents that do not compile
    pub document_errors: usize,
}

/// The figures of the usage log.
#[derive(Serialize, ToSchema)]
pub struct OverviewUsage {
    /// quarter_hour, hourly, daily, weekly, monthly or yearly
    pub interval: &'static str,
    pub time_zone: String,
    /// All periods of the range, oldest first
    pub periods: Vec<PointView>,
    pub totals: OverviewTotals,
    /// The totals of the range of equal length before
    pub previous: OverviewTotals,
    /// requests, errors, tokens, cost, p50 and p95 (milliseconds) over time
    pub series: Vec<SeriesView>,
    /// Cost over time of the models with the highest cost; `other` is the rest
    pub cost_by_model: Vec<SeriesView>,
    /// The most used models, at most 10
    pub models: Vec<ModelUsageView>,
    /// The most used user paths, at most 10
    pub user_paths: Vec<UserPathView>,
}

/// Figures over a whole range.
#[derive(Serialize, ToSchema)]
pub struct OverviewTotals {
    pub requests: i64,
    pub errors: i64,
    /// Null without calls
    pub error_rate: Option<f64>,
    pub input_tokens: i64,
    pub output_tokens: i64,
    pub total_tokens: i64,
    /// US dollars; null when nothing was priced
    pub total_cost: Option<f64>,
    /// Milliseconds; null without calls
    #[schema(value_type = Option<f64>)]
    pub p50: Value,
    #[schema(value_type = Option<f64>)]
    pub p95: Value,
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
        true => Some(figures(&app, principal, &pairs, &headers).await?),
        false => None,
    };
    let instances = authorized.snapshot.routes.instances.values();
    Ok(Json(Overview {
        server_time: record::time(now),
        usage,
        providers: instances.map(|instance| providers::status_of(&app, instance)).collect(),
        recent_errors: may_read(Area::Console).then(|| recent_errors(&app, principal)),
        document_errors: authorized.snapshot.document_errors.len(),
    }))
}

/// The figures of the calls that the caller may see.
async fn figures(
    app: &Arc<App>,
    principal: &Principal,
    pairs: &Pairs,
    headers: &HeaderMap,
) -> Result<OverviewUsage, Problem> {
    usage::enabled(app)?;
    let now = app.gateway.clock.now();
    let filter = usage::until_now(app, query::usage_filter(pairs, headers, principal, now)?);
    let (zone, interval) = (query::time_zone(pairs, headers)?, Interval::any(pairs)?);
    let calendar = || Calendar { zone: zone.clone(), interval };
    // The figures of a series with latencies have all others too.
    let question = SeriesQuery::new(app, filter.clone(), calendar(), Metric::P95)?;
    let whole = question.whole("all").await?;
    let costs = SeriesQuery::new(app, filter.clone(), calendar(), Metric::Cost)?;
    let costs = costs.by(Axis::Model, CHART_MODELS).await?;
    let mut models = breakdown::by_model(app, filter.clone()).await?;
    models.truncate(ROWS);
    let mut user_paths = breakdown::by_user_path(app, filter.clone()).await?;
    user_paths.truncate(ROWS);
    Ok(OverviewUsage {
        interval: interval.name(),
        time_zone: zone.iana_name().unwrap_or("UTC").to_owned(),
        periods: question.periods(),
        totals: totals(&whole.total),
        previous: previous(app, filter).await?,
        series: series(&whole),
        cost_by_model: costs.iter().map(|series| timeseries::view(series, Metric::Cost)).collect(),
        models,
        user_paths,
    })
}

fn totals(figures: &Figures) -> OverviewTotals {
    OverviewTotals {
        requests: figures.requests(),
        errors: figures.errors(),
        error_rate: Metric::ErrorRate.value(figures).as_f64(),
        input_tokens: figures.input_tokens(),
        output_tokens: figures.output_tokens(),
        total_tokens: figures.total_tokens(),
        total_cost: Metric::Cost.value(figures).as_f64(),
        p50: Metric::P50.value(figures),
        p95: Metric::P95.value(figures),
    }
}

/// The totals of the range before, which has the same length.
async fn previous(app: &App, filter: UsageFilter) -> Result<OverviewTotals, Problem> {
    let length = filter.until.micros() - filter.from.micros();
    let from = Timestamp(filter.from.micros().saturating_sub(length).max(0));
    let before = UsageFilter { from, until: filter.from, ..filter };
    let report = Report { histogram: Some(Histogram::Latency), ..Report::of(before) };
    let lines = usage::ledger(app).report(&report).await?;
    Ok(totals(&lines.into_iter().next().map(|line| line.figures).unwrap_or_default()))
}

/// One series per metric, all of the same calls.
fn series(whole: &Series) -> Vec<SeriesView> {
    let metrics = [
        ("requests", Metric::Requests),
        ("errors", Metric::Errors),
        ("tokens", Metric::Tokens),
        ("cost", Metric::Cost),
        ("p50", Metric::P50),
        ("p95", Metric::P95),
    ];
    let named = |(name, metric): (&str, Metric)| SeriesView {
        name: name.to_owned(),
        ..timeseries::view(whole, metric)
    };
    metrics.map(named).into()
}

/// The latest failed calls that the caller may see.
fn recent_errors(app: &App, principal: &Principal) -> Vec<Box<RawValue>> {
    let events = app.gateway.console.read_all(0).events;
    let visible = events.iter().rev().filter(|entry| console::concerns(entry, Some("request"), principal));
    let failed = visible.filter(|entry| is_failed(entry));
    failed.take(ROWS).filter_map(|entry| RawValue::from_string(entry.json().to_owned()).ok()).collect()
}

fn is_failed(entry: &Entry) -> bool {
    let call: Value = serde_json::from_str(entry.json()).unwrap_or_default();
    call["status"].as_u64().is_some_and(|status| status >= 400)
}
