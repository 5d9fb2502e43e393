//! `GET /admin/api/v1/models/catalog`: the models that the gateway knows, whether a provider serves them or not.

use axum::Json;
use axum::extract::Query;
use axum::response::{IntoResponse as _, Response};
use domain::fault::{self, Fault};
use domain::model::{Category, Mode, ModelFacts};
use domain::resources::model_price::ModelPrice;
use pipeline::routing::known_models;
use serde::Serialize;
use utoipa::ToSchema;
use wire::vendors;

use super::MOST;
use crate::authorized::{Authorized, Models, Read};
use crate::fault::Problem;
use crate::nearest;
use crate::query::{self, Pairs};

/// A known model at a type of provider; unknown facts are left out.
#[derive(Serialize, ToSchema)]
pub struct CatalogEntry {
    pub provider_type: &'static str,
    pub model: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub family: Option<&'static str>,
    pub modes: Vec<Mode>,
    pub categories: Vec<Category>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// Names of its abilities, e.g. tools
    #[schema(value_type = Vec<String>)]
    pub capabilities: Vec<&'static str>,
    /// US dollars; absent if the price is not known
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pricing: Option<ModelPrice>,
    /// Whether a provider of this type is configured
    pub configured: bool,
}

/// List the models of the built-in catalogue by provider type, at most 10000; `X-Total-Count` has their number.
#[utoipa::path(get, path = "/admin/api/v1/models/catalog", tag = "models", operation_id = "model_catalog",
    params(("provider_type" = Option<String>, Query, description = "Only this type of provider"),
        ("category" = Option<String>, Query,
            description = "all (default), text_generation, embedding, rerank, image, audio, video or utility"),
        ("search" = Option<String>, Query, description = "Only models whose id has this text, in any case")),
    responses((status = 200, description = "The models", body = Vec<CatalogEntry>), (status = 400, description = "Invalid parameters"),
        (status = 401, description = "Unauthorized")),
    security(("bearer" = ["admin:models:read"])))]
pub async fn catalog(
    authorized: Authorized<Read<Models>>,
    Query(pairs): Query<Pairs>,
) -> Result<Response, Problem> {
    let wanted_type = provider_type(&pairs)?;
    let wanted = super::category(&pairs)?;
    let search = query::text(&pairs, "search").map(str::to_lowercase);
    let routes = &authorized.snapshot.routes;
    let is_configured =
        |name: &str| routes.instances.values().any(|instance| instance.provider.provider_type == name);
    let mut entries = Vec::new();
    for vendor in vendors::list().iter().filter(|vendor| wanted_type.is_none_or(|name| vendor.name == name)) {
        let configured = is_configured(vendor.name);
        for (model, facts) in known_models::of_type(vendor.name) {
            let fits = wanted.is_none_or(|wanted| wanted == facts.mode.category())
                && search.as_ref().is_none_or(|search| model.to_lowercase().contains(search));
            if fits {
                entries.push(entry(vendor.name, model, facts, configured));
            }
        }
    }
    let total = [("x-total-count", entries.len().to_string())];
    entries.truncate(MOST);
    Ok((total, Json(entries)).into_response())
}

fn provider_type(pairs: &Pairs) -> Result<Option<&str>, Fault> {
    let Some(name) = query::text(pairs, "provider_type") else { return Ok(None) };
    if vendors::find(name).is_some() {
        return Ok(Some(name));
    }
    let hint = nearest::hint(name, vendors::list().iter().map(|vendor| vendor.name));
    Err(fault::invalid_parameter("provider_type", format!("There is no provider type '{name}'.{hint}")))
}

fn entry(
    provider_type: &'static str,
    model: &'static str,
    facts: &'static ModelFacts,
    configured: bool,
) -> CatalogEntry {
    CatalogEntry {
        provider_type,
        model,
        family: known_models::family(model),
        modes: vec![facts.mode],
        categories: vec![facts.mode.category()],
        context_window: facts.context_window,
        max_output_tokens: facts.max_output_tokens,
        capabilities: facts.abilities.names().collect(),
        pricing: facts.price.as_ref().map(ModelPrice::from),
        configured,
    }
}
