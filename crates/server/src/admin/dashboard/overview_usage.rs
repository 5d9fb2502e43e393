//! The figures of the overview page: totals, series and tables of a range, and those of the range before.

use std::collections::HashSet;
use std::sync::Arc;

use domain::clock::Timestamp;
use domain::money::Nanos;
use http::HeaderMap;
use serde::Serialize;
use serde_json::Value;
use store::{Axis, CacheMode, Report, UsageFilter};
use utoipa::ToSchema;

use crate::App;
use crate::admin::usage::breakdown::{self, ModelUsageView, UserPathView};
use crate::admin::usage::series::{Metric, Series};
use crate::admin::usage::timeseries::{self, PointView, SeriesQuery, SeriesView};
use crate::admin::usage::{self, Consumption};
use crate::authorized::{Authorized, Dashboard, Read};
use crate::fault::Problem;
use crate::query::periods::{Calendar, Interval};
use crate::query::{self, Pairs};

/// Models in the chart of costs; the others are one more series.
const CHART_MODELS: usize = 5;
/// Rows in each table.
const ROWS: usize = 10;

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
    /// requests, errors, error_rate, tokens, cost, p50, p95, ttfb_p50, ttfb_p95 (milliseconds) and saved_cost over time
    pub series: Vec<SeriesView>,
    /// The same of the range before, by position: as many values as there are periods
    pub previous_series: Vec<SeriesView>,
    /// Cost over time of the models with the highest cost; `other` is the rest
    pub cost_by_model: Vec<SeriesView>,
    /// Number of models with calls in the range
    pub model_count: usize,
    /// The most used models, at most 10
    pub models: Vec<ModelUsageView>,
    /// The models with the highest cost, at most 10
    pub models_by_cost: Vec<ModelUsageView>,
    /// The most used user paths, at most 10
    pub user_paths: Vec<UserPathView>,
    /// The user paths with the highest cost, at most 10
    pub user_paths_by_cost: Vec<UserPathView>,
    /// Usage without a price
    pub unpriced: UnpricedTotals,
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
    /// Duration in milliseconds; null without calls
    #[schema(value_type = Option<f64>)]
    pub p50: Value,
    #[schema(value_type = Option<f64>)]
    pub p95: Value,
    /// Time to the first byte in milliseconds; null without calls
    #[schema(value_type = Option<f64>)]
    pub ttfb_p50: Value,
    #[schema(value_type = Option<f64>)]
    pub ttfb_p95: Value,
    /// Cost that answers from the response cache saved, whatever `cache_mode`; null when they saved none
    pub saved_cost: Option<f64>,
    /// Answers from the response cache, whatever `cache_mode`
    pub cache_hits: i64,
}

/// Models and calls without a price.
#[derive(Serialize, ToSchema)]
pub struct UnpricedTotals {
    pub models: usize,
    pub requests: i64,
}

/// The figures of the calls that the request is about.
pub async fn figures(
    app: &Arc<App>,
    authorized: &Authorized<Read<Dashboard>>,
    pairs: &Pairs,
    headers: &HeaderMap,
) -> Result<OverviewUsage, Problem> {
    usage::enabled(app)?;
    let now = app.gateway.clock.now();
    let filter = usage::until_now(app, query::usage_filter(pairs, headers, authorized, now)?);
    let (zone, interval) = (query::time_zone(pairs, headers)?, Interval::any(pairs)?);
    let calendar = || Calendar { zone: zone.clone(), interval };
    let periods = SeriesQuery::new(app, filter.clone(), calendar(), Metric::Requests)?.periods();
    let range = RangeFigures::read(app, &filter, calendar).await?;
    let before = RangeFigures::read(app, &before(&filter), calendar).await?;
    let costs = SeriesQuery::new(app, filter.clone(), calendar(), Metric::Cost)?;
    let costs = costs.by(Axis::Model, CHART_MODELS).await?;
    let models = breakdown::by_model(app, filter.clone()).await?;
    let user_paths = breakdown::by_user_path(app, filter.clone()).await?;
    let names: HashSet<&str> = models.iter().map(|usage| &*usage.model).collect();
    Ok(OverviewUsage {
        interval: interval.name(),
        time_zone: zone.iana_name().unwrap_or("UTC").to_owned(),
        totals: range.totals(),
        previous: before.totals(),
        series: range.series(),
        previous_series: before.series_of_length(periods.len()),
        cost_by_model: costs.iter().map(|series| timeseries::view(series, Metric::Cost)).collect(),
        model_count: names.len(),
        models_by_cost: by_cost(&models, |row| &row.usage),
        models: models.into_iter().take(ROWS).collect(),
        user_paths_by_cost: by_cost(&user_paths, |row| &row.usage),
        user_paths: user_paths.into_iter().take(ROWS).collect(),
        unpriced: unpriced(app, filter).await?,
        periods,
    })
}

/// Models and calls without a price, from the sums by model: the tokens and times in the list of unpriced usage take
/// longer to read.
async fn unpriced(app: &App, filter: UsageFilter) -> Result<UnpricedTotals, Problem> {
    let report = Report::of(filter).by(&[Axis::Model, Axis::Provider, Axis::ProviderName]);
    let lines = app.refresher.store().ledger().report(&report).await?;
    let calls: Vec<i64> =
        lines.iter().map(|line| line.figures.unpriced()).filter(|calls| *calls > 0).collect();
    Ok(UnpricedTotals { models: calls.len(), requests: calls.iter().sum() })
}

/// The range before, which has the same length.
fn before(filter: &UsageFilter) -> UsageFilter {
    let length = filter.until.micros() - filter.from.micros();
    let from = Timestamp(filter.from.micros().saturating_sub(length).max(0));
    UsageFilter { from, until: filter.from, ..filter.clone() }
}

/// The rows with the highest cost; those without a price last.
fn by_cost<T: Clone>(rows: &[T], usage: impl Fn(&T) -> &Consumption) -> Vec<T> {
    let cost = |row: &T| usage(row).total_cost.unwrap_or(-1.0);
    let mut sorted: Vec<&T> = rows.iter().collect();
    sorted.sort_by(|one, other| cost(other).total_cmp(&cost(one)));
    sorted.into_iter().take(ROWS).cloned().collect()
}

/// The figures of one range over time.
struct RangeFigures {
    /// Calls with their durations.
    calls: Series,
    /// The same calls with their times to the first byte.
    first_bytes: Series,
    /// Answers from the response cache.
    cached: Series,
}

impl RangeFigures {
    async fn read(app: &App, filter: &UsageFilter, calendar: impl Fn() -> Calendar) -> Result<Self, Problem> {
        let query = |filter: UsageFilter, metric| SeriesQuery::new(app, filter, calendar(), metric);
        let cached = UsageFilter { cache: CacheMode::Cached, ..filter.clone() };
        Ok(Self {
            // The figures of a series with latencies have all others too.
            calls: query(filter.clone(), Metric::P95)?.whole("all").await?,
            first_bytes: query(filter.clone(), Metric::FirstByteP95)?.whole("all").await?,
            cached: query(cached, Metric::SavedCost)?.whole("all").await?,
        })
    }

    fn totals(&self) -> OverviewTotals {
        let (figures, first_bytes) = (&self.calls.total, &self.first_bytes.total);
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
            ttfb_p50: Metric::FirstByteP50.value(first_bytes),
            ttfb_p95: Metric::FirstByteP95.value(first_bytes),
            saved_cost: self.cached.total.saved_cost().map(Nanos::usd),
            cache_hits: self.cached.total.requests(),
        }
    }

    /// One series per metric.
    fn series(&self) -> Vec<SeriesView> {
        let metrics = [
            ("requests", &self.calls, Metric::Requests),
            ("errors", &self.calls, Metric::Errors),
            ("error_rate", &self.calls, Metric::ErrorRate),
            ("tokens", &self.calls, Metric::Tokens),
            ("cost", &self.calls, Metric::Cost),
            ("p50", &self.calls, Metric::P50),
            ("p95", &self.calls, Metric::P95),
            ("ttfb_p50", &self.first_bytes, Metric::FirstByteP50),
            ("ttfb_p95", &self.first_bytes, Metric::FirstByteP95),
            ("saved_cost", &self.cached, Metric::SavedCost),
        ];
        let named = |(name, series, metric): (&str, &Series, Metric)| SeriesView {
            name: name.to_owned(),
            ..timeseries::view(series, metric)
        };
        metrics.map(named).into()
    }

    /// The series, cut or filled with nulls to this many values: months differ in length.
    fn series_of_length(&self, length: usize) -> Vec<SeriesView> {
        let mut series = self.series();
        series.iter_mut().for_each(|series| series.values.resize(length, Value::Null));
        series
    }
}
