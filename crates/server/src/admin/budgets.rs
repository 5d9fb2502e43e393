//! `/admin/api/v1/budgets`: spending limits per user path and period, and the spending so far.

mod amend;
mod budget_path;
pub mod forecast;
pub mod history;
pub mod reset;
pub mod settings;
mod view;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use domain::fault::{self, Fault};
use domain::money::Nanos;
use domain::period::Period;
use domain::principal::Principal;
use domain::resources::Resource as _;
use domain::resources::budget::{self, Budget, BudgetKey, BudgetPolicy, OnExhausted, OnTight};
use domain::user_path::UserPath;
use http::{HeaderMap, StatusCode};
use pipeline::budgets;
use serde::{Deserialize, Serialize};
use store::Collection;
use utoipa::ToSchema;

use super::record;
use crate::App;
use crate::authorized::{Authorized, Budgets, Needs, Read, Write};
use crate::body::Patch;
use crate::fault::Problem;
use amend::amend;
use budget_path::BudgetPath;
use view::BudgetList;

/// The settable members of a budget. In a PUT, absent members keep their value and null restores the default.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AmountBody {
    /// US dollars, above 0.
    pub amount: f64,
    /// Action for a call whose worst-case cost does not fit: clamp its output limit, or refuse it.
    #[serde(default)]
    pub on_tight: OnTight,
    /// Action when no useful part of a call fits: block it, or send it to `downgrade_to`.
    #[serde(default)]
    pub on_exhausted: OnExhausted,
    /// The selector that serves calls instead, with `on_exhausted: downgrade`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub downgrade_to: Option<String>,
    /// US dollars: gives every direct child path a budget of its own of this amount.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_default: Option<f64>,
    /// Applies the amount to each agent run (`X-Run-Id`) separately.
    #[serde(default)]
    pub per_run: bool,
}

impl AmountBody {
    pub(super) fn from_parts(amount: Nanos, policy: &BudgetPolicy) -> Self {
        Self {
            amount: amount.usd(),
            on_tight: policy.on_tight,
            on_exhausted: policy.on_exhausted,
            downgrade_to: policy.downgrade_to.clone(),
            child_default: policy.child_default.map(Nanos::usd),
            per_run: policy.per_run,
        }
    }

    pub(super) fn policy(&self) -> Result<BudgetPolicy, Fault> {
        let child_default = self.child_default.map(|usd| budget::amount("child_default", usd));
        let downgrade_to = self.downgrade_to.clone().filter(|selector| !selector.trim().is_empty());
        Ok(BudgetPolicy {
            on_tight: self.on_tight,
            on_exhausted: self.on_exhausted,
            downgrade_to,
            child_default: child_default.transpose()?,
            per_run: self.per_run,
        })
    }
}

/// List budgets and their current spending, by path and period.
#[utoipa::path(get, path = "/admin/api/v1/budgets", tag = "budgets",
    responses((status = 200, description = "The budgets", body = BudgetList), (status = 401, description = "Unauthorized"),
        (status = 403, description = "Not in this edition"), (status = 503, description = "Storage is not available")),
    security(("bearer" = ["admin:budgets:read"])))]
pub async fn list(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Budgets>>,
) -> Result<Json<BudgetList>, Problem> {
    Ok(Json(view::list(&app, &authorized).await?))
}

/// Set a budget. A budget from the configuration is overridden.
#[utoipa::path(put, path = "/admin/api/v1/budgets/{user_path}/{period}", tag = "budgets",
    params(("user_path" = String, Path, description = "The user path, URL-encoded: %2Fteam%2Fa"),
        ("period" = String, Path, description = "hourly, daily, weekly, monthly or a number of seconds")),
    request_body = AmountBody,
    responses((status = 200, description = "The budgets", body = BudgetList), (status = 400, description = "Invalid request"),
        (status = 401, description = "Unauthorized"), (status = 403, description = "Not in this edition, or not your path"),
        (status = 412, description = "Changed in the meantime"), (status = 503, description = "Storage is not available")),
    security(("bearer" = ["admin:budgets:write"])))]
pub async fn replace(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<Budgets>>,
    path: BudgetPath,
    headers: HeaderMap,
    patch: Patch,
) -> Result<Response, Problem> {
    let principal = &authorized.principal;
    let key = path.key(&authorized)?;
    let body: AmountBody = patch.over(in_force(&app, &key).as_ref(), &view::READ_ONLY)?;
    let amount = budget::amount("amount", body.amount)?;
    let policy = body.policy()?;
    let turn = app.naming.lock().await;
    let set = |known: Option<&Budget>| {
        let last_reset_at = known.and_then(|known| known.last_reset_at);
        let budget = Budget::new(key.clone(), Some(amount), last_reset_at).with_policy(policy.clone());
        budget.validate()?;
        Ok(Some(budget))
    };
    let stored = amend(&app, principal, &key, &headers, set).await?;
    app.refresher.refresh().await?;
    drop(turn);
    let etag = stored.map(|stored| stored.etag()).unwrap_or_default();
    Ok(record::answer(StatusCode::OK, &etag, view::list(&app, &authorized).await?))
}

/// Delete a budget. A budget from the configuration that it overrode is in force again.
#[utoipa::path(delete, path = "/admin/api/v1/budgets/{user_path}/{period}", tag = "budgets",
    params(("user_path" = String, Path, description = "The user path, URL-encoded: %2Fteam%2Fa"),
        ("period" = String, Path, description = "hourly, daily, weekly, monthly or a number of seconds")),
    responses((status = 200, description = "The budgets", body = BudgetList), (status = 400, description = "Invalid request"),
        (status = 401, description = "Unauthorized"), (status = 403, description = "Not in this edition, or not your path"),
        (status = 409, description = "Configured elsewhere"), (status = 412, description = "Changed in the meantime"),
        (status = 503, description = "Storage is not available")),
    security(("bearer" = ["admin:budgets:write"])))]
pub async fn delete(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<Budgets>>,
    path: BudgetPath,
    headers: HeaderMap,
) -> Result<Json<BudgetList>, Problem> {
    let principal = &authorized.principal;
    let key = path.key(&authorized)?;
    let configured = configured(&app, &key).is_some();
    let turn = app.naming.lock().await;
    let remove = |known: Option<&Budget>| match known.filter(|known| known.amount.is_some()) {
        // Keeps the time of the last reset, which still applies to the configured budget.
        Some(known) if configured && known.last_reset_at.is_some() => {
            Ok(Some(Budget::new(key.clone(), None, known.last_reset_at)))
        }
        None if configured => {
            let message =
                "This budget comes from the configuration (BUDGETS): it can be overridden, not deleted.";
            Err(fault::conflict(message))
        }
        _ => Ok(None),
    };
    amend(&app, principal, &key, &headers, remove).await?;
    app.refresher.refresh().await?;
    drop(turn);
    Ok(Json(view::list(&app, &authorized).await?))
}

fn collection(app: &App) -> Collection<Budget> {
    app.refresher.store().collection()
}

/// The budget in force, in the form of a PUT body.
fn in_force(app: &App, key: &BudgetKey) -> Option<AmountBody> {
    let statuses = app.gateway.budgets.statuses(app.gateway.clock.now());
    let status = statuses.into_iter().find(|status| status.rule.key == *key)?;
    Some(AmountBody::from_parts(status.rule.amount, &status.rule.policy))
}

fn configured(app: &App, key: &BudgetKey) -> Option<Nanos> {
    let configured = app.refresher.configured_budgets();
    configured.iter().find(|known| known.key().as_ref() == Some(key)).and_then(|known| known.amount)
}

/// The budget of a user path and a period that the request is about: that of its tenant.
fn budget_key<N: Needs>(authorized: &Authorized<N>, user_path: UserPath, period: Period) -> BudgetKey {
    BudgetKey { user_path, period, tenant: authorized.tenant.as_ref().map(|tenant| tenant.to_string()) }
}

/// Whether the caller may see a budget, and the request is about it: a caller bound to a user path or a tenant sees only
/// its own.
fn is_visible<N: Needs>(app: &App, authorized: &Authorized<N>, key: &BudgetKey) -> bool {
    let is_of_tenant = |tenant: &Arc<str>| key.tenant.as_deref() == Some(&**tenant);
    authorized.tenant.as_ref().is_none_or(is_of_tenant)
        && budgets::is_visible(&app.gateway.capabilities, &authorized.principal, key)
}

fn within(principal: &Principal, path: &UserPath) -> Result<(), Fault> {
    match principal.own_path() {
        Some(own) if !own.covers(path) => Err(fault::user_path_denied(path.as_str(), own.as_str())),
        _ => Ok(()),
    }
}
