//! Budgets as they are shown; US dollars.

use std::collections::HashMap;

use domain::caller::Caller;
use domain::clock::Timestamp;
use domain::money::Nanos;
use domain::resources::Resource as _;
use domain::resources::budget::{Budget, OnExhausted, OnTight, Source};
use pipeline::spending::{self, Status};
use serde::Serialize;
use store::Stored;
use utoipa::ToSchema;

use super::{collection, is_visible};
use crate::App;
use crate::admin::record;
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
    pub source: Source,
    /// What was spent before no longer counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_reset_at: Option<String>,
    /// Null for what the configuration says.
    pub created_at: Option<String>,
    pub updated_at: Option<String>,
    pub period_start: String,
    pub period_end: String,
    pub spent: f64,
    /// Held for calls under way.
    pub reserved: f64,
    pub has_usage: bool,
    /// What further calls may cost.
    pub remaining: f64,
    /// Spent, as a share of the amount.
    pub usage_ratio: f64,
    /// How much of the period is over.
    pub period_ratio: f64,
    pub on_tight: OnTight,
    pub on_exhausted: OnExhausted,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub downgrade_to: Option<String>,
    /// US dollars: what every direct child path has as a budget of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub child_default: Option<f64>,
    /// The amount holds for each agent run (`X-Run-Id`) by itself; the figures are those of calls without a run.
    pub per_run: bool,
    /// Runs with spending or calls in the current period, as far as this process tracks them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_runs: Option<usize>,
    /// The path of the budget whose `child_default` this one comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// For `If-Match`; null when nothing is stored, as for what only the configuration says.
    pub etag: Option<String>,
}

/// Members of `BudgetView` that nobody can set.
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

/// What is visible to the caller, read anew.
pub async fn list(app: &App, caller: &Caller) -> Result<BudgetList, Problem> {
    let store = app.refresher.store();
    spending::synchronise(&app.gateway, store).await?;
    let documents = collection(app).all().await?.into_iter();
    let documents: HashMap<String, Stored<Budget>> =
        documents.map(|stored| (stored.value.name().to_owned(), stored)).collect();
    let now = app.gateway.clock.now();
    let statuses = app.gateway.spending.statuses(now).into_iter();
    let visible = statuses.filter(|status| is_visible(app, caller, &status.rule.key));
    let budgets = visible.map(|status| view(&status, documents.get(&status.rule.key.name()), now)).collect();
    Ok(BudgetList { budgets, server_time: record::time(now) })
}

fn view(status: &Status, stored: Option<&Stored<Budget>>, now: Timestamp) -> BudgetView {
    let rule = &status.rule;
    let etag = stored.map(Stored::etag);
    let stored = stored.filter(|_| rule.source == Source::Manual);
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
