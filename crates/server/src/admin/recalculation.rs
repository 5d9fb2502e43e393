//! `POST /admin/api/v1/usage/recalculate-pricing`: recalculates the costs of a period from current prices.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use domain::fault::{self, Fault};
use http::HeaderMap;
use pipeline::routing::routes::{Pricing, Routes};
use pipeline::snapshot::Snapshot;
use serde::{Deserialize, Serialize};
use store::{Consumed, Recalculated, Repriced};
use utoipa::ToSchema;
use wire::vendors;

use super::usage;
use crate::App;
use crate::authorized::{Authorized, Usage, Write};
use crate::body::Strict;
use crate::fault::Problem;
use crate::query::{self, Pairs};

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RecalculationBody {
    /// `recalculate`; `confirm` is an alias of this field.
    #[serde(default, alias = "confirm")]
    pub confirmation: Option<String>,
    /// 1 to 365, default 30.
    #[serde(default)]
    pub days: Option<i64>,
    /// YYYY-MM-DD
    #[serde(default)]
    pub start_date: Option<String>,
    /// YYYY-MM-DD
    #[serde(default)]
    pub end_date: Option<String>,
    /// Only calls below this user path.
    #[serde(default)]
    pub user_path: Option<String>,
    /// `provider/model` with the provider's name or type; otherwise a model of any provider.
    #[serde(default)]
    pub selector: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub struct RecalculationResult {
    pub status: &'static str,
    /// Number of calls in the period.
    pub matched: u64,
    /// Number of calls whose cost changed.
    pub recalculated: u64,
    pub with_pricing: u64,
    pub without_pricing: u64,
}

const WORD: &str = "recalculate";

/// Recalculate the costs of past calls from current prices. Costs that a provider reported are kept.
#[utoipa::path(post, path = "/admin/api/v1/usage/recalculate-pricing", tag = "usage", operation_id = "recalculate_pricing",
    request_body = RecalculationBody,
    responses((status = 200, description = "What changed", body = RecalculationResult), (status = 400, description = "Invalid request, or not confirmed"),
        (status = 401, description = "Unauthorized"), (status = 409, description = "Another one is under way"),
        (status = 500, description = "Storage failed"), (status = 503, description = "Usage is off or storage is down")),
    security(("bearer" = ["admin:usage:write"])))]
pub async fn create(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<Usage>>,
    headers: HeaderMap,
    Strict(body): Strict<RecalculationBody>,
) -> Result<Json<RecalculationResult>, Problem> {
    usage::enabled(&app)?;
    if body.confirmation.as_deref() != Some(WORD) {
        let message =
            format!("This changes what past calls cost: confirm it with \"confirmation\": \"{WORD}\".");
        return Err(fault::invalid_parameter("confirmation", message).into());
    }
    let pairs = pairs(body, &authorized.snapshot.routes)?;
    let filter = query::usage_filter(&pairs, &headers, &authorized, app.gateway.clock.now())?;
    let turn = app
        .recalculating
        .clone()
        .try_lock_owned()
        .map_err(|_| fault::conflict("Costs are being recalculated already: wait until that is done."))?;
    let (ledger, actor) = (app.refresher.store().ledger().clone(), authorized.principal.actor().to_owned());
    let snapshot = authorized.snapshot;
    // Runs in a task of its own, so that it is finished even if the client disconnects. The task holds the lock, so
    // that no second recalculation starts meanwhile.
    let task = app.gateway.tasks.spawn(async move {
        let _turn = turn;
        tracing::info!(
            actor,
            from = filter.from.micros(),
            until = filter.until.micros(),
            "cost recalculation started"
        );
        let done = ledger.recalculate(&filter, &mut prices(&snapshot)).await;
        match &done {
            Ok(done) => tracing::info!(actor, done.matched, done.recalculated, "cost recalculation finished"),
            Err(error) => tracing::error!(actor, %error, "cost recalculation failed"),
        }
        done
    });
    let done = task.await.map_err(|_| fault::internal_error())??;
    let Recalculated { matched, recalculated, with_pricing, without_pricing } = done;
    Ok(Json(RecalculationResult { status: "ok", matched, recalculated, with_pricing, without_pricing }))
}

/// The filters as report parameters. Without `cache_mode`, cached answers are left out: they cost nothing at any price.
fn pairs(body: RecalculationBody, routes: &Routes) -> Result<Pairs, Fault> {
    let (provider, model) =
        body.selector.map(|selector| split(selector, routes)).transpose()?.unwrap_or_default();
    let fields = [
        ("days", body.days.map(|days| days.to_string())),
        ("start_date", body.start_date),
        ("end_date", body.end_date),
        ("user_path", body.user_path),
        ("provider", provider),
        ("model", model),
    ];
    Ok(fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect())
}

/// Splits a selector into provider and model. The part before the first slash of a model id need not be a provider.
fn split(selector: String, routes: &Routes) -> Result<(Option<String>, Option<String>), Fault> {
    let parts = selector.split_once('/');
    let (provider, model) = parts.unwrap_or(("-", &selector));
    if provider.is_empty() || model.is_empty() {
        let message =
            "'selector' is a model, or a provider and a model: 'openai/gpt-4o'. For all calls, leave it out.";
        return Err(fault::invalid_parameter("selector", message));
    }
    if parts.is_some() && (routes.has_provider(provider) || vendors::find(provider).is_some()) {
        return Ok((Some(provider.to_owned()), Some(model.to_owned())));
    }
    Ok((None, Some(selector)))
}

/// Returns a price lookup over one snapshot that caches each price. The calls of a tenant have the prices that it sees.
fn prices(snapshot: &Snapshot) -> impl FnMut(&Consumed) -> Option<Repriced> {
    let mut known: HashMap<[String; 4], Pricing> = HashMap::new();
    move |consumed| {
        let Consumed { model, provider, provider_name, tenant, tokens, images } = consumed;
        let key = [tenant, provider_name, provider, model].map(String::clone);
        let pricing = known.entry(key).or_insert_with(|| {
            let seen = snapshot.tenant_view(Some(tenant)).map_or(snapshot, |view| &**view);
            seen.routes.pricing(provider_name, provider, model)
        });
        let (cost, version) = pricing.charge(tokens, *images)?;
        let savings = pricing.prompt_cache_savings(tokens);
        Some(Repriced { cost, savings, version: version.map(str::to_owned) })
    }
}
