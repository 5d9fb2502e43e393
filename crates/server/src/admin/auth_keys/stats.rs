//! `GET /auth-keys/{id}/stats`: usage of one key.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use http::HeaderMap;
use serde::Serialize;
use store::{Report, UsageFilter};
use utoipa::ToSchema;

use super::super::record;
use super::super::usage::breakdown::{self, ModelUsageView};
use super::super::usage::daily::{self, PeriodView};
use super::super::usage::{self, Consumption};
use super::{find, view};
use crate::App;
use crate::authorized::{AuthKeys, Authorized, Read};
use crate::fault::Problem;
use crate::path::Named;
use crate::query::periods::{Calendar, Interval};
use crate::query::{self, Pairs};

#[derive(Serialize, ToSchema)]
pub struct KeyStats {
    pub id: String,
    pub name: String,
    pub last_used_at: Option<String>,
    pub errors: i64,
    #[serde(flatten)]
    pub usage: Consumption,
    /// Sorted by use, the most used first.
    pub by_model: Vec<ModelUsageView>,
    /// The days with calls, in the request's time zone.
    pub daily: Vec<PeriodView>,
}

/// Get the usage of a key in a period, by model and by day.
#[utoipa::path(get, path = "/admin/api/v1/auth-keys/{id}/stats", tag = "auth-keys",
    params(("id" = String, Path, description = "The key's id"),
        ("days" = Option<i64>, Query, description = "1 to 365, default 30"), ("start_date" = Option<String>, Query, description = "YYYY-MM-DD"),
        ("end_date" = Option<String>, Query, description = "YYYY-MM-DD"),
        ("timezone" = Option<String>, Query, description = "IANA time zone of dates and days; wins over the header X-Gateway-Timezone"),
        ("cache_mode" = Option<String>, Query, description = "uncached (default), cached or all")),
    responses((status = 200, description = "The figures", body = KeyStats), (status = 400, description = "Invalid parameters"),
        (status = 401, description = "Unauthorized"), (status = 404, description = "No such key"),
        (status = 503, description = "Usage is off or storage is down")),
    security(("bearer" = ["admin:auth-keys:read"])))]
pub async fn stats(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<AuthKeys>>,
    Named(id): Named,
    Query(mut pairs): Query<Pairs>,
    headers: HeaderMap,
) -> Result<Json<KeyStats>, Problem> {
    let stored = find(&app, &authorized.principal, &id).await?;
    usage::enabled(&app)?;
    pairs.retain(|name, _| {
        matches!(name.as_str(), "days" | "start_date" | "end_date" | "timezone" | "cache_mode")
    });
    let filter = query::usage_filter(&pairs, &headers, &authorized, app.gateway.clock.now())?;
    let filter = UsageFilter { auth_key_id: Some(id.clone()), ..filter };
    let total = app.refresher.store().ledger().report(&Report::of(filter.clone())).await?;
    let total = total.into_iter().next().map(|line| line.figures).unwrap_or_default();
    let calendar = Calendar { zone: query::time_zone(&pairs, &headers)?, interval: Interval::Daily };
    Ok(Json(KeyStats {
        last_used_at: view::last_use(&app, &id).await?.map(record::time),
        name: stored.value.name,
        errors: total.errors(),
        usage: (&total).into(),
        by_model: breakdown::by_model(&app, filter.clone()).await?,
        daily: daily::by_period(&app, filter, &calendar).await?,
        id,
    }))
}
