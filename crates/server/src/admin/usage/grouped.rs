//! `/admin/api/v1/usage/breakdown`: usage grouped by up to three dimensions, as JSON or CSV.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Response};
use domain::clock::Timestamp;
use domain::fault::{self, Fault};
use http::HeaderMap;
use http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};
use serde::Serialize;
use store::{Axis, Figures, Report, UsageFilter};
use utoipa::ToSchema;

use super::{Consumption, ReportParameters};
use crate::App;
use crate::admin::record;
use crate::authorized::{Authorized, Read, Usage};
use crate::csv;
use crate::fault::Problem;
use crate::query::periods::{Calendar, Interval};
use crate::query::{self, Pairs};

/// Maximum number of dimensions of one breakdown.
const MOST_DIMENSIONS: usize = 3;
/// Maximum number of groups in one answer.
const MOST_GROUPS: usize = 100_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dimension {
    UserPath,
    Model,
    Provider,
    AuthKey,
    Day,
}

const DIMENSIONS: [(&str, Dimension); 5] = [
    ("user_path", Dimension::UserPath),
    ("model", Dimension::Model),
    ("provider", Dimension::Provider),
    ("auth_key", Dimension::AuthKey),
    ("day", Dimension::Day),
];

impl Dimension {
    /// The columns of this dimension, and their axes in the ledger.
    fn columns(self) -> &'static [(&'static str, Axis)] {
        match self {
            Self::UserPath => &[("user_path", Axis::UserPath)],
            Self::Model => &[("model", Axis::Model)],
            Self::Provider => &[("provider", Axis::Provider), ("provider_name", Axis::ProviderName)],
            Self::AuthKey => &[("auth_key_id", Axis::AuthKeyId)],
            Self::Day => &[],
        }
    }
}

/// One group. Of the dimension fields only those of `group_by` are present.
#[derive(Default, Serialize, ToSchema)]
pub struct BreakdownRow {
    /// YYYY-MM-DD in the request's time zone
    #[serde(skip_serializing_if = "Option::is_none")]
    pub day: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The provider's type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_name: Option<String>,
    /// Empty for calls with the master key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth_key_id: Option<String>,
    /// The key's current name; absent for the master key and for deleted keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth_key_name: Option<String>,
    #[serde(flatten)]
    pub usage: Consumption,
}

#[derive(Serialize, ToSchema)]
pub struct BreakdownView {
    /// Sorted by day, if `group_by` contains it, then by use, the most used first.
    pub entries: Vec<BreakdownRow>,
    pub total: i64,
    pub limit: i64,
    pub offset: i64,
}

/// Report usage by up to three of user path, model, provider, key and day. CSV contains all groups, JSON one page.
#[utoipa::path(get, path = "/admin/api/v1/usage/breakdown", tag = "usage",
    params(ReportParameters,
        ("group_by" = Option<String>, Query, description = "One to three of user_path, model, provider, auth_key and day, separated by commas; default model"),
        ("format" = Option<String>, Query, description = "json (default) or csv"),
        ("limit" = Option<i64>, Query, description = "JSON: 1 to 10000, default 1000"),
        ("offset" = Option<i64>, Query, description = "JSON: default 0")),
    responses((status = 200, description = "The groups", content((BreakdownView = "application/json"), (String = "text/csv"))),
        (status = 400, description = "Invalid parameters"), (status = 401, description = "Unauthorized"),
        (status = 503, description = "Usage is off or storage is down")),
    security(("bearer" = ["admin:usage:read"])))]
pub async fn breakdown(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Usage>>,
    Query(pairs): Query<Pairs>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let filter = super::until_now(&app, super::filter(&app, &authorized, &pairs, &headers)?);
    let dimensions = dimensions(&pairs)?;
    let as_csv = query::choice(&pairs, "format", &[("json", false), ("csv", true)], false)?;
    let (limit, offset) = record::page(&pairs, 1000, 10_000)?;
    let calendar = Calendar { zone: query::time_zone(&pairs, &headers)?, interval: Interval::Daily };
    let groups = read(&app, &filter, &dimensions, &calendar).await?;
    if groups.len() > MOST_GROUPS {
        return Err(too_many(groups.len()).into());
    }
    let groups = sorted(groups);
    if as_csv {
        return Ok(as_file(&dimensions, &groups, &calendar));
    }
    let page = groups.iter().skip(offset as usize).take(limit as usize);
    let named = |row: BreakdownRow| BreakdownRow { auth_key_name: key_name(&authorized, &row), ..row };
    let entries = page.map(|group| named(row(&dimensions, group, &calendar))).collect();
    Ok(Json(BreakdownView { entries, total: groups.len() as i64, limit, offset }).into_response())
}

fn dimensions(pairs: &Pairs) -> Result<Vec<Dimension>, Fault> {
    let Some(text) = pairs.get("group_by") else { return Ok(vec![Dimension::Model]) };
    let mut dimensions = Vec::new();
    for word in text.split(',').map(str::trim) {
        let one = Pairs::from([("group_by".to_owned(), word.to_owned())]);
        let dimension = query::choice(&one, "group_by", &DIMENSIONS, Dimension::Model)?;
        if dimensions.contains(&dimension) {
            return Err(fault::invalid_parameter("group_by", format!("'group_by' names {word} twice.")));
        }
        dimensions.push(dimension);
    }
    if dimensions.len() > MOST_DIMENSIONS {
        let message = format!("'group_by' takes at most {MOST_DIMENSIONS} dimensions.");
        return Err(fault::invalid_parameter("group_by", message));
    }
    Ok(dimensions)
}

/// Start of the group's day, its names in column order, and its figures.
type Group = (Option<Timestamp>, Vec<String>, Figures);

async fn read(
    app: &App,
    filter: &UsageFilter,
    dimensions: &[Dimension],
    calendar: &Calendar,
) -> Result<Vec<Group>, Problem> {
    let axes: Vec<Axis> = columns(dimensions).map(|(_, axis)| axis).collect();
    if !dimensions.contains(&Dimension::Day) {
        let lines = super::ledger(app).report(&Report::of(filter.clone()).by(&axes)).await?;
        return Ok(lines.into_iter().map(|line| (None, line.names, line.figures)).collect());
    }
    // A day on which the clocks change is read in two parts.
    let mut groups: BTreeMap<(Timestamp, Vec<String>), Figures> = BTreeMap::new();
    for stretch in calendar.stretches(filter.from, filter.until) {
        let within = UsageFilter { from: stretch.from, until: stretch.until, ..filter.clone() };
        let report = Report::of(within).by(&axes).every(calendar.step(&stretch));
        for line in super::ledger(app).report(&report).await? {
            let start = calendar.start(&stretch, line.step)?;
            groups.entry((start, line.names)).or_default().add(&line.figures);
        }
    }
    Ok(groups.into_iter().map(|((start, names), figures)| (Some(start), names, figures)).collect())
}

fn columns(dimensions: &[Dimension]) -> impl Iterator<Item = (&'static str, Axis)> {
    dimensions.iter().flat_map(|dimension| dimension.columns().iter().copied())
}

fn sorted(mut groups: Vec<Group>) -> Vec<Group> {
    groups.sort_by(|(day, names, figures), (other_day, other_names, other)| {
        let used = other.requests().cmp(&figures.requests());
        day.cmp(other_day).then(used).then_with(|| names.cmp(other_names))
    });
    groups
}

fn row(dimensions: &[Dimension], (day, names, figures): &Group, calendar: &Calendar) -> BreakdownRow {
    let mut row = BreakdownRow { usage: figures.into(), ..BreakdownRow::default() };
    row.day = day.map(|start| calendar.label(start));
    for ((column, _), name) in columns(dimensions).zip(names) {
        let member = match column {
            "user_path" => &mut row.user_path,
            "model" => &mut row.model,
            "provider" => &mut row.provider,
            "provider_name" => &mut row.provider_name,
            _ => &mut row.auth_key_id,
        };
        *member = Some(name.clone());
    }
    row
}

/// The name of a row's key. A caller with a tenant gets the names of the tenant's own keys only.
fn key_name(authorized: &Authorized<Read<Usage>>, row: &BreakdownRow) -> Option<String> {
    let key = authorized.snapshot.keys.by_id(row.auth_key_id.as_deref()?)?;
    let tenant = authorized.principal.tenant();
    (tenant.is_none() || tenant == key.tenant_id.as_ref()).then(|| key.name.to_string())
}

/// Renders the groups as CSV: the columns in the order of `group_by`, then the figures; costs are empty where nothing
/// was priced.
fn as_file(dimensions: &[Dimension], groups: &[Group], calendar: &Calendar) -> Response {
    const FIGURES: [&str; 8] = [
        "requests",
        "input_tokens",
        "output_tokens",
        "total_tokens",
        "input_cost",
        "output_cost",
        "total_cost",
        "prompt_cache_savings",
    ];
    let has_day = dimensions.contains(&Dimension::Day);
    let day = has_day.then_some("day").into_iter();
    let names = day.chain(columns(dimensions).map(|(name, _)| name)).chain(FIGURES);
    let mut text = String::new();
    csv::write_row(&mut text, &names.map(str::to_owned).collect::<Vec<_>>());
    for (start, names, figures) in groups {
        let mut cells: Vec<String> = start.iter().map(|start| calendar.label(*start)).collect();
        cells.extend(names.iter().cloned());
        let usage = Consumption::from(figures);
        let counts = [usage.requests, usage.input_tokens, usage.output_tokens, usage.total_tokens];
        cells.extend(counts.map(|count| count.to_string()));
        let costs = [usage.input_cost, usage.output_cost, usage.total_cost, usage.prompt_cache_savings];
        cells.extend(costs.map(|cost| cost.map(|cost| cost.to_string()).unwrap_or_default()));
        csv::write_row(&mut text, &cells);
    }
    let headers = [
        (CONTENT_TYPE, "text/csv; charset=utf-8"),
        (CACHE_CONTROL, "no-store"),
        (CONTENT_DISPOSITION, "attachment; filename=\"usage-breakdown.csv\""),
    ];
    (headers, text).into_response()
}

fn too_many(groups: usize) -> Fault {
    let message = format!(
        "This breakdown has {groups} groups and at most {MOST_GROUPS} are put together: take a shorter period, a filter or fewer dimensions."
    );
    fault::invalid_parameter("group_by", message)
}
