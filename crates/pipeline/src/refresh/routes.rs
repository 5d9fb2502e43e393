//! Compilation of the routes: stored and configured providers, names, overrides, prices and the inventory.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use domain::resources::Resource as _;
use domain::resources::combo::Combo;
use domain::resources::provider::{Provider, ProviderSource};
use egress::Trust;
use store::StoreError;

use super::Refresher;
use super::proposal::ProposedDocuments;
use super::sections::RouteSections;
use super::tenant_documents::{TenantDocuments, TenantLayer};
use crate::routing::health::HealthRegistry;
use crate::routing::names::{Names, PreviousNames};
use crate::routing::routes::prices::Prices;
use crate::routing::routes::{self, Instance, Routes};
use crate::services::audit::Scrubber;
use crate::services::metrics::Metrics;
use crate::snapshot::document_errors::DocumentErrors;

/// The live state of targets, which outlives the routes.
struct TargetState<'a> {
    metrics: &'a Metrics,
    health: &'a HealthRegistry,
}

impl Refresher {
    /// Compiles the routes of the default tenant, or of the tenant of `layer`, and returns the documents that do not
    /// compile. With proposed documents, the state of targets is read and not changed.
    pub(super) async fn routes(
        &self,
        tenants: &TenantDocuments,
        layer: Option<TenantLayer<'_>>,
        proposed: Option<&ProposedDocuments>,
    ) -> Result<(Arc<Routes>, DocumentErrors), StoreError> {
        let off: &[&str] = if self.fixed().combos { &[] } else { &[Combo::KIND] };
        let mut compilation = self.compilation(off, proposed, layer);
        let sections = RouteSections::load(&mut compilation).await?;
        let gateway = &self.gateway;
        let routes = if proposed.is_some() {
            let (metrics, health) = (Metrics::default(), gateway.target_health.detached());
            self.link(sections, &TargetState { metrics: &metrics, health: &health }, tenants, layer)
        } else {
            let targets = TargetState { metrics: &gateway.metrics, health: &gateway.target_health };
            self.link(sections, &targets, tenants, layer)
        };
        Ok((Arc::new(routes), compilation.errors))
    }

    fn link(
        &self,
        sections: RouteSections,
        targets: &TargetState<'_>,
        tenants: &TenantDocuments,
        layer: Option<TenantLayer<'_>>,
    ) -> Routes {
        let RouteSections { providers, model_overrides, model_prices, pools, combos, aliases } = sections;
        let providers = self.merge(providers);
        let tenant = layer.map(|layer| layer.tenant);
        let before = self.gateway.snapshot().seen_by(tenant);
        let owner_of = |kind: &str, name: &str| {
            let layer = layer.filter(|layer| layer.has(kind, name));
            layer.map(|layer| layer.tenant.into())
        };
        let owner = |name: &str| owner_of(Provider::KIND, name);
        // Providers of the default tenant are compared when its own routes are compiled.
        let compared =
            providers.iter().filter(|(provider, _)| owner(&provider.name).is_some() == layer.is_some());
        forget_moved(compared.map(|(provider, _)| provider), &before.routes, tenant, targets);
        let inputs = routes::CompileInputs {
            listings: &self.inventory.listings(),
            overrides: &model_overrides,
            prices: Arc::new(Prices::new(model_prices)),
            egress: &self.gateway.egress,
            trust: &|source| self.trust(source),
            metrics: targets.metrics,
            health: targets.health,
            owner: &owner,
        };
        let mut routes = routes::compile(&providers, &inputs);
        routes.names = Names::compile(
            pools.into_values().collect(),
            combos.into_values().collect(),
            aliases.into_values().collect(),
            &PreviousNames {
                own: &before.routes.names,
                inherited: layer.map_or(&before.routes.names, |layer| &layer.base.names),
                owner: &owner_of,
            },
        );
        routes.scrubber = match layer {
            Some(layer) => layer.base.scrubber.clone(),
            None => self.scrubber(&providers, tenants),
        };
        routes
    }

    /// Masks the secrets of the operator and of the providers of all tenants.
    fn scrubber(&self, providers: &[(Provider, ProviderSource)], tenants: &TenantDocuments) -> Arc<Scrubber> {
        let of_tenants = tenants.providers();
        let all = providers.iter().map(|(provider, _)| provider).chain(&of_tenants);
        Arc::new(Scrubber::of(&self.fixed().secrets, all))
    }

    /// Merges stored and configured providers; stored ones override configured ones of the same name.
    fn merge(&self, stored: BTreeMap<String, Provider>) -> Vec<(Provider, ProviderSource)> {
        let configured = self.fixed();
        let overridden = |name: &str| stored.values().any(|provider| provider.name == name);
        let fixed = configured.providers.iter().filter(|(provider, _)| !overridden(&provider.name)).cloned();
        let mut providers: Vec<_> = fixed.collect();
        providers.extend(stored.into_values().map(|provider| (provider, ProviderSource::Admin)));
        let wanted = configured.demo.unwrap_or(providers.is_empty());
        let demo = demo();
        if wanted && !providers.iter().any(|(provider, _)| provider.name == demo.name) {
            providers.push((demo, ProviderSource::Default));
        }
        providers
    }

    /// An instance that is not stored, compiled for a test of its connection. Its address is checked as that of a stored
    /// one; its state is its own. `None` if its type is unknown.
    pub fn unsaved_instance(&self, provider: &Provider) -> Option<Arc<Instance>> {
        let inputs = routes::CompileInputs {
            listings: &HashMap::new(),
            overrides: &BTreeMap::new(),
            prices: Arc::default(),
            egress: &self.gateway.egress,
            trust: &|source| self.trust(source),
            metrics: &Metrics::default(),
            health: &HealthRegistry::default(),
            owner: &|_| None,
        };
        let mut routes = routes::compile(&[(provider.clone(), ProviderSource::Admin)], &inputs);
        routes.instances.remove(&provider.name)
    }

    /// The source of a configured (not stored) instance of this name: file or environment.
    pub fn configured_source(&self, name: &str) -> Option<ProviderSource> {
        let configured = self.fixed();
        let mut fixed = configured.providers.iter();
        fixed.find(|(provider, _)| provider.name == name).map(|(_, source)| *source)
    }

    /// Trust in a provider's address: the operator's configuration is trusted, the admin API's input is checked.
    pub fn trust(&self, source: ProviderSource) -> Trust {
        match source {
            ProviderSource::Config | ProviderSource::Env | ProviderSource::Default => Trust::Operator,
            ProviderSource::Admin => Trust::Admin {
                allow_private: self.fixed().allow_private,
                loopback_listener: self.fixed().loopback_listener,
            },
        }
    }
}

/// Discards health and metrics of providers whose address or credential has changed.
fn forget_moved<'a>(
    providers: impl Iterator<Item = &'a Provider>,
    before: &Routes,
    tenant: Option<&str>,
    targets: &TargetState<'_>,
) {
    for provider in providers {
        let known = before.instances.get(&provider.name).map(|instance| &instance.provider);
        let moved =
            |known: &Provider| known.base_url != provider.base_url || known.api_key != provider.api_key;
        if known.is_some_and(moved) {
            let key = routes::state_key(tenant, &provider.name);
            targets.health.forget(&key);
            targets.metrics.forget(&key);
        }
    }
}

fn demo() -> Provider {
    Provider {
        name: "demo".into(),
        provider_type: "demo".into(),
        api_key: None,
        base_url: String::new(),
        api_version: String::new(),
        models: Vec::new(),
        headers: Default::default(),
        enabled: true,
        priority: 0,
        resilience: Default::default(),
    }
}
