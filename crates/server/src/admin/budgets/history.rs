//! `GET /admin/api/v1/budgets/history`: the closed windows of budgets with their amount and spending.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use domain::clock::Timestamp;
use domain::fault;
use domain::money::Nanos;
use domain::period::{Anchors, Period};
use domain::resources::Resource as _;
use domain::resources::budget::{Budget, BudgetKey};
use domain::user_path::UserPath;
use pipeline::budgets::{self, Status};
use serde::Serialize;
use store::{Change, ChangeFilter, Spent};
use utoipa::ToSchema;

use super::forecast::below;
use super::{configured, is_visible, settings};
use crate::App;
use crate::admin::record;
use crate::authorized::{Authorized, Budgets, Read};
use crate::fault::Problem;
use crate::query::{self, Pairs};

const DEFAULT_WINDOWS: i64 = 12;
const MAX_WINDOWS: i64 = 100;
const DEFAULT_BUDGETS: i64 = 100;
const MAX_BUDGETS: i64 = 1000;
/// Changes of one budget that are read to find its earlier amounts.
const MAX_CHANGES: i64 = 200;

#[derive(Serialize, ToSchema)]
pub struct BudgetHistory {
    /// By user path and period, each from the newest to the oldest.
    pub windows: Vec<BudgetWindow>,
    /// Number of budgets on all pages
    pub total: usize,
    pub server_time: String,
}

/// A period of a budget that has ended.
#[derive(Serialize, ToSchema)]
pub struct BudgetWindow {
    pub user_path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    pub period_seconds: i64,
    /// hourly, daily, weekly, monthly, or seconds as in 7200s
    pub period_label: String,
    pub period_start: String,
    pub period_end: String,
    /// US dollars: the amount at the end of the window; null if the budget did not exist then
    pub amount: Option<f64>,
    /// US dollars: all spending of the window, also that before a reset
    pub spent: f64,
    /// Spending as a fraction of the amount
    pub usage_ratio: Option<f64>,
}

/// The sums of the ledger by window.
type Sums = HashMap<(Timestamp, Timestamp), Vec<Spent>>;

/// List closed windows of budgets.
#[utoipa::path(get, path = "/admin/api/v1/budgets/history", tag = "budgets", operation_id = "budget_history",
    params(("user_path" = Option<String>, Query, description = "Only budgets of this path and below"),
        ("period" = Option<String>, Query, description = "Only hourly, daily, weekly, monthly or a number of seconds"),
        ("windows" = Option<i64>, Query, description = "Windows of each budget, 1 to 100, default 12"),
        ("limit" = Option<i64>, Query, description = "Budgets, 1 to 1000, default 100"),
        ("offset" = Option<i64>, Query, description = "Budgets to skip, default 0")),
    responses((status = 200, description = "The windows", body = BudgetHistory), (status = 400, description = "Invalid parameters"),
        (status = 401, description = "Unauthorized"), (status = 403, description = "Not in this edition, or not your path"),
        (status = 503, description = "Storage is not available")),
    security(("bearer" = ["admin:budgets:read"])))]
pub async fn list(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Budgets>>,
    Query(pairs): Query<Pairs>,
) -> Result<Json<BudgetHistory>, Problem> {
    let count = query::integer(&pairs, "windows", 1..=MAX_WINDOWS)?.unwrap_or(DEFAULT_WINDOWS);
    let (limit, offset) = record::page(&pairs, DEFAULT_BUDGETS, MAX_BUDGETS)?;
    let period = query::text(&pairs, "period").map(Period::parse).transpose();
    let period = period.map_err(|reason| fault::invalid_parameter("period", reason))?;
    let path = query::visible_path(&pairs, &authorized.principal)?;
    let path = path.and_then(|path| UserPath::parse(&path).ok());
    let store = app.refresher.store();
    budgets::synchronise(&app.gateway.budgets, &*app.gateway.clock, store).await?;
    let now = app.gateway.clock.now();
    let anchors = settings::current(&app).await?.anchors();
    let statuses = app.gateway.budgets.statuses(now).into_iter();
    let wanted = statuses.filter(|status| {
        let key = &status.rule.key;
        is_visible(&app, &authorized, key)
            && period.is_none_or(|period| period == key.period)
            && path.as_ref().is_none_or(|path| path.covers(&key.user_path))
    });
    let wanted: Vec<Status> = wanted.collect();
    let (mut windows, mut sums) = (Vec::new(), Sums::new());
    for status in wanted.iter().skip(offset as usize).take(limit as usize) {
        add_windows(&app, status, &anchors, count, &mut sums, &mut windows).await?;
    }
    Ok(Json(BudgetHistory { windows, total: wanted.len(), server_time: record::time(now) }))
}

/// Adds the windows before the current one.
async fn add_windows(
    app: &App,
    status: &Status,
    anchors: &Anchors,
    count: i64,
    sums: &mut Sums,
    windows: &mut Vec<BudgetWindow>,
) -> Result<(), Problem> {
    let key = &status.rule.key;
    let amounts = Amounts::read(app, status).await?;
    let mut end = status.period_start;
    for _ in 0..count {
        if end.micros() <= 0 {
            break;
        }
        let (start, until) = key.period.around(Timestamp(end.micros() - 1), anchors);
        let spent = match sums.get(&(start, until)) {
            Some(spent) => below(spent, key),
            None => {
                let read = app.refresher.store().ledger().spent(start, until).await?;
                below(sums.entry((start, until)).or_insert(read), key)
            }
        };
        let amount = amounts.at(until);
        // Windows before the budget existed are listed as far as there was spending.
        if amount.is_some() || spent > Nanos::ZERO {
            windows.push(window(key, (start, until), amount, spent));
        }
        end = start;
    }
    Ok(())
}

fn window(
    key: &BudgetKey,
    (start, end): (Timestamp, Timestamp),
    amount: Option<Nanos>,
    spent: Nanos,
) -> BudgetWindow {
    BudgetWindow {
        user_path: key.user_path.as_str().to_owned(),
        tenant_id: key.tenant.clone(),
        period_seconds: key.period.seconds(),
        period_label: key.period.label(),
        period_start: record::time(start),
        period_end: record::time(end),
        amount: amount.map(Nanos::usd),
        spent: spent.usd(),
        usage_ratio: amount.map(|amount| spent.0 as f64 / amount.0 as f64),
    }
}

/// The amounts of a budget over time, from the change log.
struct Amounts {
    /// The changes of the budget, newest first.
    changes: Vec<Change>,
    /// The amount in the configuration, which is in force while none is stored.
    configured: Option<Nanos>,
    current: Nanos,
    /// Whether the budget is derived from another one's `child_default`, and has no changes of its own.
    derived: bool,
}

impl Amounts {
    async fn read(app: &App, status: &Status) -> Result<Self, Problem> {
        let rule = &status.rule;
        if rule.parent.is_some() {
            return Ok(Self { changes: Vec::new(), configured: None, current: rule.amount, derived: true });
        }
        let filter = ChangeFilter {
            kind: Some(Budget::KIND.to_owned()),
            name: Some(rule.key.name()),
            limit: MAX_CHANGES,
            ..ChangeFilter::default()
        };
        Ok(Self {
            changes: app.refresher.store().documents().changes(&filter).await?,
            configured: configured(app, &rule.key),
            current: rule.amount,
            derived: false,
        })
    }

    /// The amount just before a time.
    fn at(&self, time: Timestamp) -> Option<Nanos> {
        if self.derived {
            return Some(self.current);
        }
        let change = self.changes.iter().find(|change| change.at < time);
        let stored = change.and_then(|change| serde_json::from_str::<Budget>(change.after.as_deref()?).ok());
        stored.and_then(|budget| budget.amount).or(self.configured)
    }
}
