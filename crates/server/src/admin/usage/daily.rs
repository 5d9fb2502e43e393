//! `/admin/api/v1/usage/daily`: usage by day, week, month or year.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use domain::clock::Timestamp;
use http::HeaderMap;
use serde::Serialize;
use store::{Figures, Report, UsageFilter};
use utoipa::ToSchema;

use super::{Consumption, ReportParameters};
use crate::App;
use crate::authorized::{Authorized, Read, Usage};
use crate::fault::Problem;
use crate::query::periods::{Calendar, Interval};
use crate::query::{self, Pairs};

#[derive(Serialize, ToSchema)]
pub struct PeriodView {
    /// YYYY-MM-DD, YYYY-Www (ISO), YYYY-MM or YYYY
    pub date: String,
    #[serde(flatten)]
    pub usage: Consumption,
}

/// Report usage by calendar period in the request's time zone; periods without usage are left out.
#[utoipa::path(get, path = "/admin/api/v1/usage/daily", tag = "usage",
    params(ReportParameters, ("interval" = Option<String>, Query, description = "daily (default), weekly, monthly or yearly")),
    responses((status = 200, description = "The periods, oldest first", body = [PeriodView]), (status = 400, description = "Invalid parameters"),
        (status = 401, description = "Unauthorized"), (status = 503, description = "Usage is off or storage is down")),
    security(("bearer" = ["admin:usage:read"])))]
pub async fn daily(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Usage>>,
    Query(pairs): Query<Pairs>,
    headers: HeaderMap,
) -> Result<Json<Vec<PeriodView>>, Problem> {
    let filter = super::filter(&app, &authorized, &pairs, &headers)?;
    let calendar =
        Calendar { zone: query::time_zone(&pairs, &headers)?, interval: Interval::of_days(&pairs)? };
    Ok(Json(by_period(&app, filter, &calendar).await?))
}

/// Usage by calendar period, oldest first.
pub async fn by_period(
    app: &App,
    filter: UsageFilter,
    calendar: &Calendar,
) -> Result<Vec<PeriodView>, Problem> {
    let filter = super::until_now(app, filter);
    let mut periods: BTreeMap<Timestamp, Figures> = BTreeMap::new();
    for stretch in calendar.stretches(filter.from, filter.until) {
        let within = UsageFilter { from: stretch.from, until: stretch.until, ..filter.clone() };
        let report = Report::of(within).every(calendar.step(&stretch));
        for line in super::ledger(app).report(&report).await? {
            periods.entry(calendar.start(&stretch, line.step)?).or_default().add(&line.figures);
        }
    }
    let views = periods
        .iter()
        .map(|(start, figures)| PeriodView { date: calendar.label(*start), usage: figures.into() });
    Ok(views.collect())
}
