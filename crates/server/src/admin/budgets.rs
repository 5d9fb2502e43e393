//! `/admin/api/v1/budgets`: what may be spent below a user path within a period, and what is spent.

pub mod forecast;
mod place;
pub mod reset;
pub mod settings;
mod view;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use domain::caller::Caller;
use domain::capability::Capability;
use domain::fault::{self, Fault};
use domain::money::Nanos;
use domain::resources::Resource as _;
use domain::resources::budget::{self, Budget, BudgetKey};
use domain::user_path::UserPath;
use serde::Deserialize;
use store::{Collection, Write as Writing};
use utoipa::ToSchema;

use crate::App;
use crate::body::Strict;
use crate::fault::Problem;
use crate::principal::{Budgets, Principal, Read, Write};
use place::Place;
use view::BudgetList;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AmountBody {
    /// US dollars, above 0.
    pub amount: f64,
}

/// Budgets and how they stand, by path and period.
#[utoipa::path(get, path = "/admin/api/v1/budgets", tag = "budgets",
    responses((status = 200, description = "The budgets", body = BudgetList), (status = 401, description = "Unauthorized"),
        (status = 403, description = "Not in this edition"), (status = 503, description = "Storage is not available")),
    security(("bearer" = ["admin:budgets:read"])))]
pub async fn list(
    State(app): State<Arc<App>>,
    principal: Principal<Read<Budgets>>,
) -> Result<Json<BudgetList>, Problem> {
    view::list(&app, &principal.caller).await
}

/// Set a budget's amount. One of the configuration is overridden.
#[utoipa::path(put, path = "/admin/api/v1/budgets/{user_path}/{period}", tag = "budgets",
    params(("user_path" = String, Path, description = "The user path, URL-encoded: %2Fteam%2Fa"),
        ("period" = String, Path, description = "hourly, daily, weekly, monthly or a number of seconds")),
    request_body = AmountBody,
    responses((status = 200, description = "The budgets", body = BudgetList), (status = 400, description = "Invalid request"),
        (status = 401, description = "Unauthorized"), (status = 403, description = "Not in this edition, or not your path"),
        (status = 503, description = "Storage is not available")),
    security(("bearer" = ["admin:budgets:write"])))]
pub async fn replace(
    State(app): State<Arc<App>>,
    principal: Principal<Write<Budgets>>,
    place: Place,
    Strict(body): Strict<AmountBody>,
) -> Result<Json<BudgetList>, Problem> {
    let caller = &principal.caller;
    let key = place.key(&app, caller)?;
    let amount = budget::amount(body.amount)?;
    let turn = app.naming.lock().await;
    let known = collection(&app).get(&key.name()).await?;
    let last_reset_at = known.and_then(|known| known.value.last_reset_at);
    put(&app, caller, &Budget::new(key, Some(amount), last_reset_at)).await?;
    app.refresher.refresh().await?;
    drop(turn);
    view::list(&app, caller).await
}

/// Remove a budget. What overrode one of the configuration gives way to it again.
#[utoipa::path(delete, path = "/admin/api/v1/budgets/{user_path}/{period}", tag = "budgets",
    params(("user_path" = String, Path, description = "The user path, URL-encoded: %2Fteam%2Fa"),
        ("period" = String, Path, description = "hourly, daily, weekly, monthly or a number of seconds")),
    responses((status = 200, description = "The budgets", body = BudgetList), (status = 400, description = "Invalid request"),
        (status = 401, description = "Unauthorized"), (status = 403, description = "Not in this edition, or not your path"),
        (status = 409, description = "Configured elsewhere"), (status = 503, description = "Storage is not available")),
    security(("bearer" = ["admin:budgets:write"])))]
pub async fn delete(
    State(app): State<Arc<App>>,
    principal: Principal<Write<Budgets>>,
    place: Place,
) -> Result<Json<BudgetList>, Problem> {
    let caller = &principal.caller;
    let key = place.key(&app, caller)?;
    let turn = app.naming.lock().await;
    let known = collection(&app).get(&key.name()).await?.map(|known| known.value);
    let known = known.filter(|known| known.amount.is_some());
    match (known, configured(&app, &key)) {
        // The reset outlives the amount.
        (Some(known), Some(_)) if known.last_reset_at.is_some() => {
            put(&app, caller, &Budget::new(key, None, known.last_reset_at)).await?;
        }
        (Some(known), _) => drop(collection(&app).delete(known.name(), caller.actor(), None).await?),
        (None, Some(_)) => {
            let message =
                "This budget comes from the configuration (BUDGETS): it can be overridden, not deleted.";
            return Err(fault::conflict(message).into());
        }
        (None, None) => {}
    }
    app.refresher.refresh().await?;
    drop(turn);
    view::list(&app, caller).await
}

fn collection(app: &App) -> Collection<Budget> {
    app.refresher.store().collection()
}

async fn put(app: &App, caller: &Caller, budget: &Budget) -> Result<(), Problem> {
    collection(app).put(budget, Writing::Upsert, caller.actor(), None).await?;
    Ok(())
}

fn configured(app: &App, key: &BudgetKey) -> Option<Nanos> {
    let configured = app.refresher.configured_budgets().iter();
    configured.clone().find(|(known, _)| known == key).map(|(_, amount)| *amount)
}

/// Tenants are told apart only where the edition has them.
fn tenant(app: &App, caller: &Caller) -> Option<String> {
    let known = app.gateway.capabilities.has(Capability::Identity);
    caller.key().filter(|_| known).and_then(|key| key.tenant_id.as_deref().map(str::to_owned))
}

/// A caller that is bound to a user path, or a tenant, sees what is its own.
fn is_visible(app: &App, caller: &Caller, key: &BudgetKey) -> bool {
    let own = caller.key().and_then(|key| key.user_path.as_ref());
    let tenant = tenant(app, caller);
    own.is_none_or(|own| own.covers(&key.user_path)) && (tenant.is_none() || tenant == key.tenant)
}

fn within(caller: &Caller, path: &UserPath) -> Result<(), Fault> {
    match caller.key().and_then(|key| key.user_path.as_ref()) {
        Some(own) if !own.covers(path) => Err(fault::user_path_denied(path.as_str(), own.as_str())),
        _ => Ok(()),
    }
}
