//! Resets budgets: spending before the reset no longer counts.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use domain::fault::{self, Fault};
use domain::period::Period;
use domain::principal::Principal;
use domain::resources::budget::{Budget, BudgetSource};
use http::HeaderMap;
use pipeline::budgets::{Rule, Status};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::amend::amend;
use super::budget_path::user_path;
use super::view::{self, BudgetList};
use super::{budget_key, is_visible, within};
use crate::App;
use crate::authorized::{Authorized, Budgets, Write};
use crate::body::Strict;
use crate::fault::Problem;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResetBody {
    /// The word reset.
    pub confirmation: String,
}

#[derive(Serialize, ToSchema)]
pub struct ResetResult {
    /// ok
    pub status: &'static str,
    /// The number of budgets that were reset.
    pub reset: usize,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResetOneBody {
    pub user_path: String,
    /// hourly, daily, weekly, monthly or a number of seconds
    #[serde(default)]
    pub period: Option<String>,
    /// Alternative to `period`.
    #[serde(default)]
    pub period_seconds: Option<i64>,
}

/// Reset all budgets.
#[utoipa::path(post, path = "/admin/api/v1/budgets/reset", tag = "budgets", request_body = ResetBody,
    responses((status = 200, description = "Done", body = ResetResult), (status = 400, description = "Not confirmed"),
        (status = 401, description = "Unauthorized"), (status = 403, description = "Not in this edition"),
        (status = 503, description = "Storage is not available")),
    security(("bearer" = ["admin:budgets:write"])))]
pub async fn all(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<Budgets>>,
    Strict(body): Strict<ResetBody>,
) -> Result<Json<ResetResult>, Problem> {
    if body.confirmation != "reset" {
        return Err(fault::invalid_parameter("confirmation", "'confirmation' must be the word reset.").into());
    }
    let principal = &authorized.principal;
    let _turn = app.naming.lock().await;
    let statuses = app.gateway.budgets.statuses(app.gateway.clock.now());
    let rules = statuses.into_iter().map(|Status { rule, .. }| rule);
    // A child's budget is reset together with its parent.
    let own = rules.filter(|rule| rule.parent.is_none());
    let rules: Vec<Rule> = own.filter(|rule| is_visible(&app, &authorized, &rule.key)).collect();
    begin_anew(&app, principal, &rules).await?;
    Ok(Json(ResetResult { status: "ok", reset: rules.len() }))
}

/// Reset one budget.
#[utoipa::path(post, path = "/admin/api/v1/budgets/reset-one", tag = "budgets", request_body = ResetOneBody,
    responses((status = 200, description = "The budgets", body = BudgetList), (status = 400, description = "No such budget"),
        (status = 401, description = "Unauthorized"), (status = 403, description = "Not in this edition, or not your path"),
        (status = 503, description = "Storage is not available")),
    security(("bearer" = ["admin:budgets:write"])))]
pub async fn one(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<Budgets>>,
    Strict(body): Strict<ResetOneBody>,
) -> Result<Json<BudgetList>, Problem> {
    let principal = &authorized.principal;
    let user_path = user_path(&body.user_path)?;
    within(principal, &user_path)?;
    let key = budget_key(&authorized, user_path, body.period()?);
    let turn = app.naming.lock().await;
    let statuses = app.gateway.budgets.statuses(app.gateway.clock.now());
    let rules = statuses.into_iter().map(|Status { rule, .. }| rule);
    let found = rules.filter(|rule| rule.parent.is_none()).find(|rule| rule.key == key);
    let rule = found.ok_or_else(|| fault::budget_not_found(key.user_path.as_str(), &key.period.label()))?;
    begin_anew(&app, principal, &[rule]).await?;
    drop(turn);
    Ok(Json(view::list(&app, &authorized).await?))
}

impl ResetOneBody {
    fn period(&self) -> Result<Period, Fault> {
        let (name, period) = match (&self.period, self.period_seconds) {
            (Some(period), None) => ("period", Period::parse(period)),
            (None, Some(seconds)) => ("period_seconds", Period::from_seconds(seconds)),
            _ => {
                return Err(fault::invalid_parameter(
                    "period",
                    "One of 'period' and 'period_seconds' is needed.",
                ));
            }
        };
        period.map_err(|reason| fault::invalid_parameter(name, reason))
    }
}

async fn begin_anew(app: &App, principal: &Principal, rules: &[Rule]) -> Result<(), Problem> {
    let now = app.gateway.clock.now();
    for rule in rules {
        let begin = |known: Option<&Budget>| {
            let amount = known.and_then(|known| known.amount);
            // A budget that was deleted in the meantime stays deleted.
            let there = known.is_some() || rule.source == BudgetSource::Config;
            let policy = known.map(|known| known.policy.clone()).unwrap_or_default();
            Ok(there.then(|| Budget::new(rule.key.clone(), amount, Some(now)).with_policy(policy)))
        };
        amend(app, principal, &rule.key, &HeaderMap::new(), begin).await?;
    }
    // Refreshes even if nothing was written, so that an unavailable storage is reported.
    app.refresher.refresh().await?;
    Ok(())
}
