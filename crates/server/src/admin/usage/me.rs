//! `/admin/api/v1/usage/me`: the calling key's own usage, limits and budgets.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use http::HeaderMap;
use pipeline::explain::{self, BudgetRoom, LimitView};
use serde::Serialize;
use store::{Report, UsageFilter};
use utoipa::ToSchema;

use super::breakdown::{self, ModelUsageView};
use super::daily::{self, PeriodView};
use super::{Consumption, enabled};
use crate::App;
use crate::admin::record;
use crate::authorized::{Authorized, Inference};
use crate::fault::Problem;
use crate::query::periods::{Calendar, Interval};
use crate::query::{self, Pairs};

/// Usage and limits of the calling key.
#[derive(Serialize, ToSchema)]
pub struct OwnUsage {
    /// Null for the master key.
    pub auth_key_id: Option<String>,
    pub name: String,
    pub user_path: String,
    pub expires_at: Option<String>,
    pub errors: i64,
    #[serde(flatten)]
    pub usage: Consumption,
    /// The most used first.
    pub by_model: Vec<ModelUsageView>,
    /// The days with calls, in the request's time zone.
    pub daily: Vec<PeriodView>,
    /// The rate limits of the key; empty if it has none.
    pub limits: Vec<LimitView>,
    /// All budgets on the key's path. Figures of budgets above it are null.
    pub budgets: Vec<BudgetRoom>,
}

/// Report the calling key's usage in a period, and its current limits and budgets.
#[utoipa::path(get, path = "/admin/api/v1/usage/me", tag = "usage", operation_id = "own_usage",
    params(("days" = Option<i64>, Query, description = "1 to 365, default 30"), ("start_date" = Option<String>, Query, description = "YYYY-MM-DD"),
        ("end_date" = Option<String>, Query, description = "YYYY-MM-DD, inclusive"),
        ("timezone" = Option<String>, Query, description = "IANA time zone of dates and days; wins over the header X-Gateway-Timezone"),
        ("cache_mode" = Option<String>, Query, description = "uncached (default), cached or all")),
    responses((status = 200, description = "The figures", body = OwnUsage), (status = 400, description = "Invalid parameters"),
        (status = 401, description = "Unauthorized"), (status = 503, description = "Usage is off or storage is down")),
    security(("bearer" = ["inference"])))]
pub async fn me(
    State(app): State<Arc<App>>,
    authorized: Authorized<Inference>,
    Query(mut pairs): Query<Pairs>,
    headers: HeaderMap,
) -> Result<Json<OwnUsage>, Problem> {
    enabled(&app)?;
    pairs.retain(|name, _| {
        matches!(name.as_str(), "days" | "start_date" | "end_date" | "timezone" | "cache_mode")
    });
    let principal = &authorized.principal;
    let filter = query::usage_filter(&pairs, &headers, &authorized, app.gateway.clock.now())?;
    let id = principal.key().map(|key| key.id.to_string());
    // Filters by key only: the key may have been bound to another path or tenant before. Calls of the master key have an empty
    // id.
    let auth_key_id = Some(id.clone().unwrap_or_default());
    let filter = UsageFilter { auth_key_id, user_path: None, tenant_id: None, ..filter };
    let total = super::ledger(&app).report(&Report::of(filter.clone())).await?;
    let total = total.into_iter().next().map(|line| line.figures).unwrap_or_default();
    let calendar = Calendar { zone: query::time_zone(&pairs, &headers)?, interval: Interval::Daily };
    let (limits, budgets) = explain::limits_and_budgets(&app.gateway, principal);
    let key = principal.key();
    Ok(Json(OwnUsage {
        auth_key_id: id,
        name: key.map_or_else(|| "master".to_owned(), |key| key.name.to_string()),
        user_path: principal.own_path().map_or_else(|| "/".to_owned(), |path| path.as_str().to_owned()),
        expires_at: key.and_then(|key| key.expires_at).map(record::time),
        errors: total.errors(),
        usage: (&total).into(),
        by_model: breakdown::by_model(&app, filter.clone()).await?,
        daily: daily::by_period(&app, filter, &calendar).await?,
        limits,
        budgets,
    }))
}
