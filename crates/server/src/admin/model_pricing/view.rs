//! Response types of model prices: the catalogue's, the operator's, and the effective price.

use std::collections::BTreeMap;

use domain::fault::{self, Fault};
use domain::model::Price;
use domain::resources::model_price::ModelPrice;
use pipeline::routing::routes::Routes;
use serde::Serialize;
use utoipa::ToSchema;

use crate::nearest;

/// Source of the effective price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PriceSource {
    Missing,
    Catalog,
    Override,
}

impl PriceSource {
    pub fn parse(text: &str) -> Result<Self, Fault> {
        match text {
            "missing" => Ok(Self::Missing),
            "catalog" => Ok(Self::Catalog),
            "override" => Ok(Self::Override),
            _ => {
                let hint = nearest::hint(text, ["missing", "catalog", "override"]);
                let message = format!("'source' is missing, catalog or override.{hint}");
                Err(fault::invalid_parameter("source", message))
            }
        }
    }
}

#[derive(Serialize, ToSchema)]
pub struct PriceView {
    pub selector: String,
    pub source: PriceSource,
    /// The catalogue's price.
    pub base: Option<ModelPrice>,
    /// The operator's price, with the selector it was set for: the instance's or its type's.
    #[serde(rename = "override")]
    pub own: Option<ModelPrice>,
    /// The price that calls are charged.
    pub effective: Option<ModelPrice>,
}

/// Splits a selector into instance, type and model. An unknown provider is treated as a type.
fn parts<'a>(routes: &'a Routes, selector: &'a str) -> (&'a str, &'a str, &'a str) {
    let (provider, model) = selector.split_once('/').unwrap_or((selector, ""));
    let provider_type =
        routes.instances.get(provider).map_or(provider, |instance| &instance.provider.provider_type);
    (provider, provider_type, model)
}

pub fn show(routes: &Routes, selector: &str) -> PriceView {
    let (instance, provider_type, model) = parts(routes, selector);
    let pricing = routes.pricing(instance, provider_type, model);
    let source = match (&pricing.effective, &pricing.tariff) {
        (None, _) => PriceSource::Missing,
        (Some(_), None) => PriceSource::Catalog,
        (Some(_), Some(_)) => PriceSource::Override,
    };
    PriceView {
        selector: selector.to_owned(),
        source,
        base: pricing.base.map(ModelPrice::from),
        own: pricing.tariff.map(|tariff| tariff.price.clone()),
        effective: pricing.effective.as_ref().map(ModelPrice::from),
    }
}

/// The catalogue's price.
pub fn base(routes: &Routes, selector: &str) -> Option<&'static Price> {
    let (instance, provider_type, model) = parts(routes, selector);
    routes.pricing(instance, provider_type, model).base
}

/// Whether a model is listed or may be served by a provider, or has a price in the catalogue.
pub fn is_known(routes: &Routes, selector: &str) -> bool {
    let Some((provider, model)) = selector.split_once('/').filter(|(_, model)| !model.is_empty()) else {
        return false;
    };
    match routes.instances.get(provider) {
        Some(instance) => instance.deployments.contains_key(model) || !instance.authoritative,
        None => {
            let of_type = |deployment: &&std::sync::Arc<pipeline::routing::routes::Deployment>| {
                *deployment.target.provider_type == *provider && *deployment.target.model == *model
            };
            base(routes, selector).is_some() || routes.deployments().any(|deployment| of_type(&deployment))
        }
    }
}

/// Lists the prices of all listed models and all operator prices that match `wanted` (selector, instance, type).
pub fn all(routes: &Routes, wanted: impl Fn(&str, &str, &str) -> bool) -> Vec<PriceView> {
    let listed = routes.deployments().map(|deployment| deployment.target.selector());
    let own = routes.prices.iter().map(|(selector, _)| selector.clone());
    let mut views = BTreeMap::new();
    for selector in listed.chain(own) {
        let (instance, provider_type, _) = parts(routes, &selector);
        if !views.contains_key(&selector) && wanted(&selector, instance, provider_type) {
            let view = show(routes, &selector);
            views.insert(selector, view);
        }
    }
    views.into_values().collect()
}
