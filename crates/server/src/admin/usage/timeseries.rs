//! `/admin/api/v1/usage/timeseries`: one metric over time, as a single series or one for each of the largest groups.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use domain::clock::Timestamp;
use domain::fault::{self, Fault};
use http::HeaderMap;
use serde::Serialize;
use serde_json::Value;
use store::{Axis, Figures, Report, UsageFilter};
use utoipa::ToSchema;

use super::ReportParameters;
use super::series::{GROUPS, Group, METRICS, Metric, Series, by_status};
use crate::App;
use crate::authorized::{Authorized, Read, Usage};
use crate::fault::Problem;
use crate::query::periods::{Calendar, Interval, OffsetRange};
use crate::query::{self, Pairs};

const MOST_POINTS: usize = 5000;

#[derive(Serialize, ToSchema)]
pub struct TimeseriesView {
    pub metric: &'static str,
    pub group_by: &'static str,
    /// quarter_hour, hourly, daily, weekly, monthly or yearly
    pub interval: &'static str,
    pub time_zone: String,
    /// All periods of the range, oldest first.
    pub periods: Vec<PointView>,
    /// Sorted by size, the largest first; `other`, if present, is last.
    pub series: Vec<SeriesView>,
}

#[derive(Serialize, ToSchema)]
pub struct PointView {
    /// Start of the period, with its UTC offset.
    pub at: String,
    /// YYYY-MM-DD, YYYY-Www, YYYY-MM, YYYY or the local time.
    pub label: String,
}

#[derive(Serialize, ToSchema)]
pub struct SeriesView {
    /// Name of the group; `all` without groups, `other` for the groups beyond the largest.
    pub name: String,
    /// Whether this is the sum of the remaining groups.
    pub other: bool,
    /// The metric over the whole range.
    #[schema(value_type = Option<f64>)]
    pub total: Value,
    /// One value per period; null without a price, or without calls to compute a rate or time from.
    #[schema(value_type = Vec<Option<f64>>)]
    pub values: Vec<Value>,
}

/// A time series query.
pub(in crate::admin) struct SeriesQuery<'a> {
    app: &'a App,
    filter: UsageFilter,
    calendar: Calendar,
    stretches: Vec<OffsetRange>,
    starts: Vec<Timestamp>,
    metric: Metric,
}

/// Report a metric over time.
#[utoipa::path(get, path = "/admin/api/v1/usage/timeseries", tag = "usage",
    params(ReportParameters,
        ("metric" = Option<String>, Query, description = "requests (default), tokens, input_tokens, output_tokens, cost, errors, error_rate, p50, p95, ttfb_p50 or ttfb_p95 (milliseconds)"),
        ("group_by" = Option<String>, Query, description = "none (default), model, provider, provider_name, user_path, auth_key_id or status"),
        ("interval" = Option<String>, Query, description = "quarter_hour, hourly, daily (default), weekly, monthly or yearly"),
        ("top" = Option<i64>, Query, description = "So many groups, 1 to 50, default 10; the rest is one more")),
    responses((status = 200, description = "The series", body = TimeseriesView), (status = 400, description = "Invalid parameters"),
        (status = 401, description = "Unauthorized"), (status = 503, description = "Usage is off or storage is down")),
    security(("bearer" = ["admin:usage:read"])))]
pub async fn timeseries(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Usage>>,
    Query(pairs): Query<Pairs>,
    headers: HeaderMap,
) -> Result<Json<TimeseriesView>, Problem> {
    let filter = super::until_now(&app, super::filter(&app, &authorized, &pairs, &headers)?);
    let metric = query::choice(&pairs, "metric", &METRICS, Metric::Requests)?;
    let group = query::choice(&pairs, "group_by", &GROUPS, Group::None)?;
    let top = query::integer(&pairs, "top", 1..=50)?.unwrap_or(10) as usize;
    let calendar = Calendar { zone: query::time_zone(&pairs, &headers)?, interval: Interval::any(&pairs)? };
    let question = SeriesQuery::new(&app, filter, calendar, metric)?;
    let series = match group {
        Group::None => vec![question.whole("all").await?],
        Group::Status => by_status(question.whole("all").await?, metric)?,
        Group::Axis(axis) => question.by(axis, top).await?,
    };
    Ok(Json(TimeseriesView {
        metric: word(&METRICS, metric),
        group_by: word(&GROUPS, group),
        interval: question.calendar.interval.name(),
        time_zone: question.calendar.zone.iana_name().unwrap_or("UTC").to_owned(),
        periods: question.periods(),
        series: series.iter().map(|series| view(series, metric)).collect(),
    }))
}

fn word<T: PartialEq>(words: &[(&'static str, T)], of: T) -> &'static str {
    words.iter().find(|(_, known)| *known == of).map_or("", |(word, _)| word)
}

pub(in crate::admin) fn view(series: &Series, metric: Metric) -> SeriesView {
    SeriesView {
        name: series.name.clone(),
        other: series.other,
        total: metric.value(&series.total),
        values: series.points.iter().map(|figures| metric.value(figures)).collect(),
    }
}

fn too_many(interval: Interval) -> Fault {
    fault::invalid_parameter(
        "interval",
        format!(
            "'interval' {} makes more than {MOST_POINTS} points of this period: take a longer interval or fewer days.",
            interval.name()
        ),
    )
}

impl<'a> SeriesQuery<'a> {
    /// Refused if the range has too many periods.
    pub fn new(app: &'a App, filter: UsageFilter, calendar: Calendar, metric: Metric) -> Result<Self, Fault> {
        let stretches = calendar.stretches(filter.from, filter.until);
        let starts = calendar.starts(&stretches, MOST_POINTS)?.ok_or_else(|| too_many(calendar.interval))?;
        Ok(Self { app, filter, calendar, stretches, starts, metric })
    }

    /// The periods of the range, oldest first.
    pub fn periods(&self) -> Vec<PointView> {
        let point = |start: &Timestamp| PointView {
            at: self.calendar.moment(*start),
            label: self.calendar.label(*start),
        };
        self.starts.iter().map(point).collect()
    }

    fn report(&self, filter: UsageFilter) -> Report {
        Report { histogram: self.metric.histogram(), ..Report::of(filter) }
    }

    pub async fn whole(&self, name: &str) -> Result<Series, Problem> {
        let mut series = Series::new(name.to_owned(), self.starts.len());
        self.read(&[], None, |_, point, figures| series.add(point, figures)).await?;
        Ok(series)
    }

    /// Finds the largest groups first, so that only those are read over time; `other` is the total minus the largest.
    pub async fn by(&self, axis: Axis, top: usize) -> Result<Vec<Series>, Problem> {
        let mut groups =
            super::ledger(self.app).report(&self.report(self.filter.clone()).by(&[axis])).await?;
        groups.sort_by(|one, other| {
            let size = self.metric.size(&other.figures).total_cmp(&self.metric.size(&one.figures));
            size.then_with(|| one.names.cmp(&other.names))
        });
        let names: Vec<String> =
            groups.iter().take(top).filter_map(|line| line.names.first().cloned()).collect();
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let mut series: Vec<Series> =
            names.iter().map(|name| Series::new(name.clone(), self.starts.len())).collect();
        self.read(&[axis], Some((axis, names)), |names, point, figures| {
            if let Some(of) = series.iter_mut().find(|series| names.first() == Some(&series.name)) {
                of.add(point, figures);
            }
        })
        .await?;
        if groups.len() > top {
            let mut rest = Series { other: true, ..self.whole("other").await? };
            series.iter().for_each(|part| rest.subtract(part));
            series.push(rest);
        }
        Ok(series)
    }

    async fn read(
        &self,
        by: &[Axis],
        only: Option<(Axis, Vec<String>)>,
        mut each: impl FnMut(&[String], usize, &Figures),
    ) -> Result<(), Problem> {
        for stretch in &self.stretches {
            let within = UsageFilter { from: stretch.from, until: stretch.until, ..self.filter.clone() };
            let report = Report { only: only.clone(), ..self.report(within) }
                .by(by)
                .every(self.calendar.step(stretch));
            for line in super::ledger(self.app).report(&report).await? {
                let start = self.calendar.start(stretch, line.step)?;
                if let Ok(point) = self.starts.binary_search(&start) {
                    each(&line.names, point, &line.figures);
                }
            }
        }
        Ok(())
    }
}
