//! `GET /auth-keys/{id}/stats`: what a key has consumed.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use domain::clock::Timestamp;
use domain::fault;
use domain::money::Nanos;
use http::HeaderMap;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::Serialize;
use store::{KeyFigures, KeyModel, UsageFilter};
use utoipa::ToSchema;

use super::super::record;
use super::{find, view};
use crate::App;
use crate::fault::Problem;
use crate::path::Named;
use crate::principal::{AuthKeys, Principal, Read};
use crate::query::{self, Pairs};

#[derive(Serialize, ToSchema)]
pub struct KeyStats {
    pub id: String,
    pub name: String,
    pub last_used_at: Option<String>,
    #[serde(flatten)]
    pub figures: Figures,
    /// The most called first.
    pub by_model: Vec<ModelFigures>,
    /// The days with calls, in the zone of the request.
    pub daily: Vec<DayFigures>,
}

#[derive(Serialize, ToSchema)]
pub struct Figures {
    pub requests: i64,
    pub errors: i64,
    pub input_tokens: i64,
    pub output_tokens: i64,
    pub total_tokens: i64,
    /// US dollars; null when nothing was priced.
    pub input_cost: Option<f64>,
    pub output_cost: Option<f64>,
    pub total_cost: Option<f64>,
}

impl From<&KeyFigures> for Figures {
    fn from(figures: &KeyFigures) -> Self {
        let cost = figures.cost();
        Self {
            requests: figures.requests,
            errors: figures.errors,
            input_tokens: figures.input_tokens,
            output_tokens: figures.output_tokens,
            total_tokens: figures.input_tokens.saturating_add(figures.output_tokens),
            input_cost: cost.map(|[input, _]| input.usd()),
            output_cost: cost.map(|[_, output]| output.usd()),
            total_cost: cost.map(|[input, output]| Nanos::usd(input + output)),
        }
    }
}

#[derive(Serialize, ToSchema)]
pub struct ModelFigures {
    pub model: String,
    /// The provider's type.
    pub provider: String,
    pub provider_name: String,
    #[serde(flatten)]
    pub figures: Figures,
}

#[derive(Serialize, ToSchema)]
pub struct DayFigures {
    /// YYYY-MM-DD
    pub date: String,
    #[serde(flatten)]
    pub figures: Figures,
}

/// What a key has consumed in a period, by model and by day.
#[utoipa::path(get, path = "/admin/api/v1/auth-keys/{id}/stats", tag = "auth-keys",
    params(("id" = String, Path, description = "The key's id"),
        ("days" = Option<i64>, Query, description = "1 to 365, default 30"), ("start_date" = Option<String>, Query, description = "YYYY-MM-DD"),
        ("end_date" = Option<String>, Query, description = "YYYY-MM-DD"),
        ("cache_mode" = Option<String>, Query, description = "uncached (default), cached or all")),
    responses((status = 200, description = "The figures", body = KeyStats), (status = 400, description = "Invalid parameters"),
        (status = 401, description = "Unauthorized"), (status = 404, description = "No such key"),
        (status = 503, description = "Usage is off or storage is down")),
    security(("bearer" = ["admin:auth-keys:read"])))]
pub async fn stats(
    State(app): State<Arc<App>>,
    principal: Principal<Read<AuthKeys>>,
    Named(id): Named,
    Query(mut pairs): Query<Pairs>,
    headers: HeaderMap,
) -> Result<Json<KeyStats>, Problem> {
    let stored = find(&app, &principal.caller, &id).await?;
    if !app.config.usage_enabled {
        return Err(fault::feature_unavailable("Usage is not recorded: USAGE_ENABLED is false.").into());
    }
    pairs.retain(|name, _| matches!(name.as_str(), "days" | "start_date" | "end_date" | "cache_mode"));
    let filter = query::usage_filter(&pairs, &headers, &principal.caller, app.gateway.clock.now())?;
    let filter = UsageFilter { auth_key_id: Some(id.clone()), ..filter };
    let ledger = app.refresher.store().ledger();
    let models = ledger.models_of_key(&filter).await?;
    let quarters = ledger.quarters_of_key(&filter).await?;
    let mut total = KeyFigures::default();
    models.iter().for_each(|model| total.add(&model.figures));
    let last_used_at = view::last_use(&app, &id).await?;
    Ok(Json(KeyStats {
        id,
        name: stored.value.name,
        last_used_at: last_used_at.map(record::time),
        figures: Figures::from(&total),
        by_model: models.into_iter().map(of_model).collect(),
        daily: daily(&quarters, &query::time_zone(&headers)?),
    }))
}

fn of_model(of: KeyModel) -> ModelFigures {
    let figures = Figures::from(&of.figures);
    ModelFigures { model: of.model, provider: of.provider, provider_name: of.provider_name, figures }
}

fn daily(quarters: &[(Timestamp, KeyFigures)], zone: &TimeZone) -> Vec<DayFigures> {
    let mut days: BTreeMap<Date, KeyFigures> = BTreeMap::new();
    for (at, figures) in quarters {
        let Ok(moment) = jiff::Timestamp::from_microsecond(at.micros()) else { continue };
        days.entry(moment.to_zoned(zone.clone()).date()).or_default().add(figures);
    }
    let day = |(date, figures): (Date, KeyFigures)| DayFigures {
        date: date.to_string(),
        figures: Figures::from(&figures),
    };
    days.into_iter().map(day).collect()
}
