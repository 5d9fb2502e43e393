//! `/admin/api/v1/cache/overview`: hits, misses and savings of the response cache.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use domain::clock::Timestamp;
use domain::money::Nanos;
use http::HeaderMap;
use serde::Serialize;
use store::{CacheUsage, SemanticChecks, UsageFilter};
use utoipa::{IntoParams, ToSchema};

use crate::App;
use crate::admin::usage;
use crate::authorized::{Authorized, Cache, Read};
use crate::fault::Problem;
use crate::query::periods::{Calendar, Interval};
use crate::query::{self, Pairs};

/// Query parameters of the overview.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "it describes what `query` reads")]
pub struct CacheOverviewParameters {
    /// 1 to 365, default 30
    days: Option<i64>,
    /// YYYY-MM-DD, in the request's time zone
    start_date: Option<String>,
    /// YYYY-MM-DD, inclusive
    end_date: Option<String>,
    /// daily (default), weekly, monthly or yearly
    interval: Option<String>,
    /// IANA time zone of dates and days, default UTC; wins over the header X-Gateway-Timezone
    timezone: Option<String>,
    /// Only calls below this user path
    user_path: Option<String>,
    /// uncached, cached or all; has no effect
    cache_mode: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub struct CacheOverviewView {
    pub summary: CacheSummaryView,
    /// The periods with hits or misses, oldest first.
    pub daily: Vec<CachePeriodView>,
}

/// Totals over the range. The tokens are those of the answers from the cache.
#[derive(Serialize, ToSchema)]
pub struct CacheSummaryView {
    /// Answers that the semantic cache found and did not serve, in the mode shadow.
    pub shadow_hits: i64,
    /// Hits of the semantic cache that were compared with a new answer.
    pub rechecks: i64,
    /// Estimated share of wrong answers in the hits of the semantic cache; null without rechecks.
    pub false_hit_rate: Option<f64>,
    /// The bounds of its 95 % confidence interval; null without rechecks.
    pub false_hit_rate_low: Option<f64>,
    pub false_hit_rate_high: Option<f64>,
    pub total_hits: i64,
    pub exact_hits: i64,
    pub semantic_hits: i64,
    /// Calls for which the cache was searched and had no answer.
    pub misses: i64,
    /// Hits per search, 0 to 1; 0 without searches.
    pub hit_rate: f64,
    pub total_input_tokens: i64,
    pub total_output_tokens: i64,
    pub total_tokens: i64,
    /// US dollars; null when no hit has a saved cost.
    pub total_saved_cost: Option<f64>,
}

#[derive(Serialize, ToSchema)]
pub struct CachePeriodView {
    /// YYYY-MM-DD, YYYY-Www (ISO), YYYY-MM or YYYY
    pub date: String,
    pub hits: i64,
    pub exact_hits: i64,
    pub semantic_hits: i64,
    pub misses: i64,
    pub input_tokens: i64,
    pub output_tokens: i64,
    pub total_tokens: i64,
    /// US dollars; null when no hit has a saved cost.
    pub saved_cost: Option<f64>,
}

/// Report hits, misses and savings of the response cache, in total and by calendar period.
#[utoipa::path(get, path = "/admin/api/v1/cache/overview", tag = "cache", operation_id = "cache_overview",
    params(CacheOverviewParameters),
    responses((status = 200, description = "The figures", body = CacheOverviewView), (status = 400, description = "Invalid parameters"),
        (status = 401, description = "Unauthorized"), (status = 503, description = "The cache or usage is off, or storage is down")),
    security(("bearer" = ["admin:cache:read"])))]
pub async fn overview(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Cache>>,
    Query(pairs): Query<Pairs>,
    headers: HeaderMap,
) -> Result<Json<CacheOverviewView>, Problem> {
    super::enabled(&app)?;
    usage::enabled(&app)?;
    let filter = query::usage_filter(&pairs, &headers, &authorized, app.gateway.clock.now())?;
    let calendar =
        Calendar { zone: query::time_zone(&pairs, &headers)?, interval: Interval::of_days(&pairs)? };
    let checks = checks(&app, &filter).await?;
    let periods = by_period(&app, filter, &calendar).await?;
    let mut total = CacheUsage::default();
    periods.values().for_each(|period| total.add(period));
    Ok(Json(CacheOverviewView {
        summary: summary(&total, &checks),
        daily: periods.iter().map(|(start, period)| show(calendar.label(*start), period)).collect(),
    }))
}

/// Hits of the semantic cache that were not served or were compared, those of this moment included.
async fn checks(app: &App, filter: &UsageFilter) -> Result<SemanticChecks, Problem> {
    if let Some(semantic) = &app.gateway.semantic_cache {
        semantic.checks().write(usage::ledger(app)).await?;
    }
    Ok(usage::ledger(app).semantic_checks(&usage::until_now(app, filter.clone())).await?)
}

/// Figures by the start of the period.
async fn by_period(
    app: &App,
    filter: UsageFilter,
    calendar: &Calendar,
) -> Result<BTreeMap<Timestamp, CacheUsage>, Problem> {
    let filter = usage::until_now(app, filter);
    let mut periods: BTreeMap<Timestamp, CacheUsage> = BTreeMap::new();
    for stretch in calendar.stretches(filter.from, filter.until) {
        let within = UsageFilter { from: stretch.from, until: stretch.until, ..filter.clone() };
        let steps = usage::ledger(app).cache_usage(&within, Some(calendar.step(&stretch))).await?;
        for (step, figures) in steps {
            periods.entry(calendar.start(&stretch, step)?).or_default().add(&figures);
        }
    }
    Ok(periods)
}

fn summary(total: &CacheUsage, checks: &SemanticChecks) -> CacheSummaryView {
    let interval = checks.false_hit_interval();
    CacheSummaryView {
        shadow_hits: checks.shadow_hits,
        rechecks: checks.rechecks,
        false_hit_rate: checks.false_hit_rate(),
        false_hit_rate_low: interval.map(|(low, _)| low),
        false_hit_rate_high: interval.map(|(_, high)| high),
        total_hits: total.hits(),
        exact_hits: total.exact_hits,
        semantic_hits: total.semantic_hits,
        misses: total.misses,
        hit_rate: total.hit_rate(),
        total_input_tokens: total.input_tokens,
        total_output_tokens: total.output_tokens,
        total_tokens: total.total_tokens(),
        total_saved_cost: total.saved_cost.map(Nanos::usd),
    }
}

fn show(date: String, period: &CacheUsage) -> CachePeriodView {
    CachePeriodView {
        date,
        hits: period.hits(),
        exact_hits: period.exact_hits,
        semantic_hits: period.semantic_hits,
        misses: period.misses,
        input_tokens: period.input_tokens,
        output_tokens: period.output_tokens,
        total_tokens: period.total_tokens(),
        saved_cost: period.saved_cost.map(Nanos::usd),
    }
}
