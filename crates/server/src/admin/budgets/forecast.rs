//! `/admin/api/v1/budgets/forecast/{user_path}`: spending forecasts from the rates of the current period and of the
//! last week.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use domain::clock::Timestamp;
use domain::money::Nanos;
use domain::resources::budget::BudgetKey;
use pipeline::budgets::{self, Status};
use serde::Serialize;
use store::Spent;
use utoipa::ToSchema;

use super::budget_path::user_path;
use super::{is_visible, within};
use crate::App;
use crate::admin::record;
use crate::authorized::{Authorized, Budgets, Read};
use crate::fault::Problem;
use crate::path::Named;

const HOUR: f64 = 3600e6;
const WEEK_HOURS: f64 = 7.0 * 24.0;

#[derive(Serialize, ToSchema)]
pub struct Forecast {
    pub user_path: String,
    pub forecasts: Vec<Outlook>,
}

/// Forecast of one budget, in US dollars.
#[derive(Serialize, ToSchema)]
pub struct Outlook {
    pub period_label: String,
    pub amount: f64,
    pub spent: f64,
    pub period_start: String,
    pub period_end: String,
    /// Spending expected at the end of the period at the current rate.
    pub projected: f64,
    /// Time at which the amount is used up, if that is before the end of the period.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exhausted_at: Option<String>,
    pub rate_per_hour: f64,
    /// low, medium or high
    pub confidence: &'static str,
}

/// Forecast the spending of a user path.
#[utoipa::path(get, path = "/admin/api/v1/budgets/forecast/{*user_path}", tag = "budgets", operation_id = "forecast",
    params(("user_path" = String, Path, description = "The user path, URL-encoded: %2Fteam%2Fa")),
    responses((status = 200, description = "A forecast for each budget of the path", body = Forecast),
        (status = 400, description = "Invalid path"), (status = 401, description = "Unauthorized"),
        (status = 403, description = "Not in this edition, or not your path"), (status = 503, description = "Storage is not available")),
    security(("bearer" = ["admin:budgets:read"])))]
pub async fn read(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Budgets>>,
    Named(path): Named,
) -> Result<Json<Forecast>, Problem> {
    let path = user_path(&path)?;
    within(&authorized.principal, &path)?;
    let store = app.refresher.store();
    budgets::synchronise(&app.gateway.budgets, &*app.gateway.clock, store).await?;
    let now = app.gateway.clock.now();
    let week = Timestamp(now.micros().saturating_sub((WEEK_HOURS * HOUR) as i64));
    let past = store.ledger().spent(week, now).await?;
    let statuses = app.gateway.budgets.statuses(now).into_iter();
    let own = statuses.filter(|status| status.rule.key.user_path == path);
    let own = own.filter(|status| is_visible(&app, &authorized, &status.rule.key));
    let forecasts = own.map(|status| outlook(&status, below(&past, &status.rule.key), now)).collect();
    Ok(Json(Forecast { user_path: path.as_str().to_owned(), forecasts }))
}

/// Sums the cost of the calls that count towards a budget.
pub(super) fn below(spent: &[Spent], key: &BudgetKey) -> Nanos {
    let counts = |spent: &&Spent| {
        let path = user_path(&spent.user_path);
        let of_tenant = key.tenant.as_ref().is_none_or(|tenant| *tenant == spent.tenant);
        of_tenant && path.is_ok_and(|path| key.user_path.covers(&path))
    };
    spent.iter().filter(counts).fold(Nanos::ZERO, |sum, spent| sum + spent.cost)
}

/// Computes the forecast of a budget. The rate of the current period weighs more the more of the period has been
/// counted; spending before a reset does not count.
fn outlook(status: &Status, past: Nanos, now: Timestamp) -> Outlook {
    let hours = |from: Timestamp, until: Timestamp| ((until.micros() - from.micros()) as f64 / HOUR).max(0.0);
    let (amount, spent) = (status.rule.amount.usd(), status.spent.usd());
    let elapsed = hours(status.counted_from, now).max(1.0 / 60.0);
    let pace = spent / elapsed;
    let usual = past.usd() / WEEK_HOURS;
    let counted =
        (hours(status.counted_from, now) / hours(status.period_start, status.period_end)).clamp(0.0, 1.0);
    let weight = if past > Nanos::ZERO { counted } else { 1.0 };
    let rate = weight * pace + (1.0 - weight) * usual;
    let left = hours(now, status.period_end);
    let until_empty = (amount - spent).max(0.0) / rate;
    let exhausted = (rate > 0.0 && until_empty < left)
        .then(|| Timestamp(now.micros().saturating_add((until_empty * HOUR) as i64)));
    Outlook {
        period_label: status.rule.key.period.label(),
        amount,
        spent,
        period_start: record::time(status.period_start),
        period_end: record::time(status.period_end),
        projected: spent + rate * left,
        exhausted_at: exhausted.map(record::time),
        rate_per_hour: rate,
        confidence: confidence(pace, usual, counted),
    }
}

/// Rates the confidence: higher if the rates of the period and of the last week agree, and the more of the period has
/// been counted.
fn confidence(pace: f64, usual: f64, counted: f64) -> &'static str {
    let agree = pace > 0.0 && usual > 0.0 && (0.5..=2.0).contains(&(pace / usual));
    match counted {
        ratio if ratio >= 0.5 || (agree && ratio >= 0.1) => "high",
        ratio if agree || ratio >= 0.1 => "medium",
        _ => "low",
    }
}

#[cfg(test)]
mod tests {
    use domain::period::Period;
    use domain::resources::budget::BudgetSource;
    use domain::user_path::UserPath;
    use pipeline::budgets::Rule;

    use super::*;

    fn status(spent: f64) -> Status {
        let key = BudgetKey { user_path: UserPath::root(), period: Period::DAILY, tenant: None };
        let amount = Nanos::from_usd(24.0).unwrap();
        let start = Timestamp::from_seconds(0);
        Status {
            rule: Rule::new(key, amount, BudgetSource::Manual),
            period_start: start,
            period_end: Timestamp::from_seconds(86_400),
            counted_from: start,
            spent: Nanos::from_usd(spent).unwrap(),
            reserved: Nanos::ZERO,
            runs: 0,
        }
    }

    #[test]
    fn the_pace_of_the_period_takes_over_from_the_weeks() {
        let at = |hour: i64| Timestamp::from_seconds(hour * 3600);
        let week = |usd_per_hour: f64| Nanos::from_usd(usd_per_hour * WEEK_HOURS).unwrap();
        let found = outlook(&status(6.0), Nanos::ZERO, at(6));
        assert_eq!((found.projected, found.rate_per_hour, found.confidence), (24.0, 1.0, "medium"));
        assert_eq!(found.exhausted_at, None);
        let found = outlook(&status(12.0), week(2.0), at(6));
        assert_eq!((found.rate_per_hour, found.confidence), (2.0, "high"));
        assert_eq!(found.exhausted_at.as_deref(), Some("1970-01-01T12:00:00.000Z"));
        let found = outlook(&status(0.0), week(0.5), at(12));
        assert_eq!((found.projected, found.rate_per_hour), (3.0, 0.25));
        let found = outlook(&status(0.0), Nanos::ZERO, at(1));
        assert_eq!((found.projected, found.exhausted_at, found.confidence), (0.0, None, "low"));
        let found = outlook(&status(30.0), Nanos::ZERO, at(6));
        assert_eq!(found.exhausted_at.as_deref(), Some("1970-01-01T06:00:00.000Z"), "used up already");
        let reset = Status { counted_from: Timestamp::from_seconds(12 * 3600 - 8), ..status(0.1) };
        let found = outlook(&reset, week(0.01), at(12));
        assert_eq!((found.confidence, found.projected < 0.5), ("low", true), "{}", found.projected);
    }
}
