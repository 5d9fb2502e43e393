//! Response types of budgets; amounts are in US dollars.

use std::collections::HashMap;

use domain::clock::Timestamp;
use domain::money::Nanos;
use domain::resources::Resource as _;
use domain::resources::budget::{Budget, BudgetSource, OnExhausted, OnTight};
use pipeline::budgets::{self, Status};
use serde::Serialize;
use store::Stored;
use utoipa::ToSchema;

use super::{collection, is_visible};
use crate::App;
use crate::admin::record;
use crate::authorized::{Authorized, Needs};
use crate::fault::Problem;

#[derive(Serialize, ToSchema)]
pub struct BudgetList {
    pub budgets: Vec<BudgetView>,
    pub server_time: String,
}

#[derive(Serialize, ToSchema)]
pub struct BudgetView {
    pub user_path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    pub period_seconds: i64,
    /// hourly, daily, weekly, monthly, or seconds as in 7200s
    pub period_label: String,
    pub amount: f64,
    pub source: BudgetSource,
    /// Spending before this time does not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_reset_at: Option<String>,
    /// Null for a budget that only the configuration defines.
    pub created_at: Option<String>,
    pub updated_at: Option<String>,
    pub period_start: String,
    pub period_end: String,
    pub spent: f64,
    /// Reserved for calls in progress.
    pub reserved: f64,
    pub has_usage: bool,
    /// Amount left for further calls.
    pub remaining: f64,
    /// Spending as a fraction of the amount.
    pub usage_ratio: f64,
    /// Elapsed fraction of the period.
    pub period_ratio: f64,
    pub on_tight: OnTight,
    pub on_exhausted: OnExhausted,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub downgrade_to: Option<String>,
    /// US dollars: the amount of the budget that every direct child path gets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub child_default: Option<f64>,
    /// The amount applies to each agent run (`X-Run-Id`) separately; the figures are those of calls without a run.
    pub per_run: bool,
    /// Runs with spending or calls in the current period that this process tracks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_runs: Option<usize>,
    /// The path of the budget whose `child_default` created this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// For `If-Match`; null when nothing is stored, for example for a budget from the configuration.
    pub etag: Option<String>,
}

/// Read-only members of `BudgetView`.
pub const READ_ONLY: [&str; 19] = [
    "user_path",
    "tenant_id",
    "period_seconds",
    "period_label",
    "source",
    "last_reset_at",
    "created_at",
    "updated_at",
    "period_start",
    "period_end",
    "spent",
    "reserved",
    "has_usage",
    "remaining",
    "usage_ratio",
    "period_ratio",
    "active_runs",
    "parent",
    "etag",
];

/// Lists the budgets that the request is about, after synchronising them with storage.
pub async fn list<N: Needs>(app: &App, authorized: &Authorized<N>) -> Result<BudgetList, Problem> {
    let store = app.refresher.store();
    budgets::synchronise(&app.gateway.budgets, &*app.gateway.clock, store).await?;
    let documents = collection(app).all().await?.into_iter();
    let documents: HashMap<String, Stored<Budget>> =
        documents.map(|stored| (stored.value.name().to_owned(), stored)).collect();
    let now = app.gateway.clock.now();
    let statuses = app.gateway.budgets.statuses(now).into_iter();
    let visible = statuses.filter(|status| is_visible(app, authorized, &status.rule.key));
    let budgets = visible.map(|status| view(&status, documents.get(&status.rule.key.name()), now)).collect();
    Ok(BudgetList { budgets, server_time: record::time(now) })
}

fn view(status: &Status, stored: Option<&Stored<Budget>>, now: Timestamp) -> BudgetView {
    let rule = &status.rule;
    let etag = stored.map(Stored::etag);
    let stored = stored.filter(|_| rule.source == BudgetSource::Manual);
    BudgetView {
        user_path: rule.key.user_path.as_str().to_owned(),
        tenant_id: rule.key.tenant.clone(),
        period_seconds: rule.key.period.seconds(),
        period_label: rule.key.period.label(),
        amount: rule.amount.usd(),
        source: rule.source,
        last_reset_at: rule.last_reset_at.map(record::time),
        created_at: stored.map(|stored| record::time(stored.created_at)),
        updated_at: stored.map(|stored| record::time(stored.updated_at)),
        period_start: record::time(status.period_start),
        period_end: record::time(status.period_end),
        spent: status.spent.usd(),
        reserved: status.reserved.usd(),
        has_usage: status.spent > Nanos::ZERO,
        remaining: status.remaining().usd(),
        usage_ratio: status.spent.0 as f64 / rule.amount.0 as f64,
        period_ratio: period_ratio(status, now),
        on_tight: rule.policy.on_tight,
        on_exhausted: rule.policy.on_exhausted,
        downgrade_to: rule.policy.downgrade_to.clone(),
        child_default: rule.policy.child_default.map(Nanos::usd),
        per_run: rule.policy.per_run,
        active_runs: rule.policy.per_run.then_some(status.runs),
        parent: rule.parent.as_ref().map(|path| path.as_str().to_owned()),
        etag,
    }
}

fn period_ratio(status: &Status, now: Timestamp) -> f64 {
    let since = |at: Timestamp| (at.micros() - status.period_start.micros()) as f64;
    (since(now) / since(status.period_end)).clamp(0.0, 1.0)
}
