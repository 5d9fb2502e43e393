//! Compiles providers into routes.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use domain::call::Target;
use domain::resources::model_override::ModelOverride;
use domain::resources::provider::{Provider, ProviderSource};
use egress::{Destination, Egress, Trust};
use wire::vendors::{self, Vendor};

use super::access::Overrides;
use super::instance_request::InstanceHeaders;
use super::prices::{PriceKey, Prices};
use super::{Deployment, Instance, InstanceConfig, Limits, Routes, facts, state_key};
use crate::routing::health::{Health, HealthRegistry};
use crate::routing::inventory::Listing;
use crate::services::metrics::{Metrics, TargetMetrics, UNLISTED};

/// The inputs of a compilation besides the providers.
pub struct CompileInputs<'a> {
    pub listings: &'a HashMap<String, Listing>,
    /// Overrides by selector.
    pub overrides: &'a BTreeMap<String, ModelOverride>,
    pub prices: Arc<Prices>,
    pub egress: &'a Egress,
    pub trust: &'a dyn Fn(ProviderSource) -> Trust,
    pub metrics: &'a Metrics,
    pub health: &'a HealthRegistry,
    /// The tenant that a provider belongs to; `None` for the default tenant.
    pub owner: &'a dyn Fn(&str) -> Option<Arc<str>>,
}

/// Compiles the routes. Metrics and health of existing targets carry over.
pub fn compile(providers: &[(Provider, ProviderSource)], ground: &CompileInputs<'_>) -> Routes {
    let mut routes = Routes { prices: ground.prices.clone(), ..Routes::default() };
    for (provider, source) in providers {
        let Some(vendor) = vendors::find(&provider.provider_type) else { continue };
        let type_is_taken = providers.iter().any(|(other, _)| other.name == provider.provider_type);
        let instance = Arc::new(instance(provider, *source, vendor, type_is_taken, ground));
        routes.instances.insert(provider.name.clone(), instance);
    }
    let mut enabled: Vec<_> =
        routes.instances.values().filter(|instance| instance.provider.enabled).cloned().collect();
    enabled.sort_by_key(|instance| (instance.provider.priority, instance.provider.name.clone()));
    for instance in enabled {
        for (model, deployment) in &instance.deployments {
            routes.by_model.entry(model.clone()).or_default().push(deployment.clone());
        }
        if !instance.authoritative && instance.core.destination.is_ok() {
            routes.unlisted.push(instance.clone());
        }
        routes.by_type.entry(instance.provider.provider_type.clone()).or_default().push(instance);
    }
    routes
}

fn instance(
    provider: &Provider,
    source: ProviderSource,
    vendor: &'static Vendor,
    type_is_taken: bool,
    ground: &CompileInputs<'_>,
) -> Instance {
    let CompileInputs { egress, metrics, .. } = ground;
    let trust = (ground.trust)(source);
    let destination = destination(provider, vendor, egress, trust);
    let discovery = discovery(provider, vendor, egress, trust);
    let api_version = match provider.api_version.as_str() {
        "" => vendor.api_version.map(str::to_owned),
        version => Some(version.to_owned()),
    };
    let tenant = (ground.owner)(&provider.name);
    let state_key = state_key(tenant.as_deref(), &provider.name);
    let unlisted_metrics = metrics.target(&state_key, UNLISTED);
    let health = ground.health.instance(&state_key);
    let limits = Limits::from(&provider.resilience);
    let overrides = Overrides::of(provider, ground.overrides);
    let core = Arc::new(InstanceConfig {
        vendor,
        destination,
        headers: InstanceHeaders::new(provider, vendor),
        api_version,
        limits,
        overrides,
        prices: ground.prices.clone(),
        type_is_taken,
        unlisted_metrics,
        health: health.clone(),
    });
    let listing = ground.listings.get(&*state_key);
    let known = listing.is_some_and(|listing| listing.known);
    let mut deployments = BTreeMap::new();
    let mut add = |model: &str, created: Option<i64>, owned_by: Option<String>| {
        let metrics = metrics.target(&state_key, model);
        let deployment = Deployment {
            created,
            owned_by,
            ..deployment(provider, &core, model, metrics, health.listed(model))
        };
        deployments.insert(deployment.target.model.clone(), Arc::new(deployment));
    };
    vendor.models.iter().for_each(|model| add(model, None, None));
    if !known && provider.models.is_empty() {
        catalog::models(vendor.name).for_each(|(model, _)| add(model, None, None));
    }
    provider.models.iter().for_each(|model| add(model, None, None));
    for model in listing.iter().flat_map(|listing| &listing.models) {
        add(&model.id, model.created, model.owned_by.clone());
    }
    let authoritative = known || !provider.models.is_empty() || vendor.answer.is_some();
    Instance { provider: provider.clone(), tenant, source, core, discovery, deployments, authoritative }
}

/// The deployment of an unlisted model.
pub fn unlisted(provider: &Provider, core: &Arc<InstanceConfig>, model: &str) -> Deployment {
    deployment(provider, core, model, core.unlisted_metrics.clone(), core.health.unlisted(model))
}

fn deployment(
    provider: &Provider,
    core: &Arc<InstanceConfig>,
    model: &str,
    metrics: Arc<TargetMetrics>,
    health: Arc<Health>,
) -> Deployment {
    let target = Target {
        instance: provider.name.as_str().into(),
        provider_type: provider.provider_type.as_str().into(),
        model: model.into(),
    };
    core.health.apply_rules(&health, core.limits.breaker);
    let known = catalog::facts(&provider.provider_type, model);
    let (facts, access) = match core.overrides.find(model) {
        None => (known.map(Cow::Borrowed), None),
        Some((access, metadata)) => (facts::adjusted(known, metadata, model), Some(access.clone())),
    };
    let whose = PriceKey {
        instance: &provider.name,
        provider_type: &provider.provider_type,
        type_is_taken: core.type_is_taken,
        model,
    };
    let tariff = core.prices.find(whose).cloned();
    let facts = match &tariff {
        None => facts,
        Some(tariff) => {
            let base = known.and_then(|known| known.price.as_ref());
            facts::priced(facts, &tariff.price, base, model)
        }
    };
    Deployment {
        answer_headers: Arc::default(),
        facts,
        tariff,
        access,
        target,
        instance: core.clone(),
        metrics,
        health,
        created: None,
        owned_by: None,
        client_credential: None,
    }
}

fn destination(
    provider: &Provider,
    vendor: &Vendor,
    egress: &Egress,
    trust: Trust,
) -> Result<Arc<Destination>, String> {
    if vendor.answer.is_some() {
        return Err("it is built in".into());
    }
    dialled(provider, base_url(provider, vendor)?, egress, trust)
}

/// The destination of a URL, with the instance's connect timeout and HTTP version.
fn dialled(
    provider: &Provider,
    url: &str,
    egress: &Egress,
    trust: Trust,
) -> Result<Arc<Destination>, String> {
    let destination = egress
        .destination_with(url, trust, provider.resilience.http2)
        .map_err(|error| error.reason().to_owned())?;
    Ok(match provider.resilience.connect_timeout_ms {
        None => destination,
        Some(ms) => Arc::new(destination.connecting_within(Duration::from_millis(ms))),
    })
}

fn base_url<'a>(provider: &'a Provider, vendor: &Vendor) -> Result<&'a str, String> {
    match provider.base_url.as_str() {
        "" => vendor.base_url.ok_or_else(|| "its base_url is not set".into()),
        own => Ok(own),
    }
}

/// The address of the model list, which some vendors serve outside of the API's base URL.
fn discovery(
    provider: &Provider,
    vendor: &Vendor,
    egress: &Egress,
    trust: Trust,
) -> Result<Option<(Arc<Destination>, String)>, String> {
    if vendor.answer.is_some() {
        return Ok(None);
    }
    let Some(url) = vendor.discovery.url(base_url(provider, vendor)?) else { return Ok(None) };
    let after_scheme = url.find("://").map_or(0, |at| at + 3);
    let path_at = url[after_scheme..].find('/').map_or(url.len(), |at| after_scheme + at);
    let destination = dialled(provider, &url[..path_at], egress, trust)?;
    Ok(Some((destination, url[path_at..].to_owned())))
}
