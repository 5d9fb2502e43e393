//! Keeps the snapshot current: compiles it at startup, and again when a document or the inventory changes.

mod reconfigure;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use domain::capability::Capability;
use domain::money::Nanos;
use domain::principal::KeyFacts;
use domain::resources::Resource;
use domain::resources::alias::Alias;
use domain::resources::auth_key::AuthKey;
use domain::resources::budget::{Budget, BudgetKey};
use domain::resources::budget_settings::BudgetSettings;
use domain::resources::combo::Combo;
use domain::resources::model_override::ModelOverride;
use domain::resources::model_price::ModelPrice;
use domain::resources::pool::Pool;
use domain::resources::provider::{Provider, Source};
use domain::secret::Secret;
use egress::Trust;
use store::{Change, RawDocument, Store, StoreError};

use crate::budgets::{self, Rules};
use crate::gateway::Gateway;
use crate::routing::inventory::{self, Inventory};
use crate::routing::names::Names;
use crate::routing::routes;
use crate::routing::routes::prices::Prices;
use crate::services::audit::Scrubber;
use crate::services::console::Notice;
use crate::snapshot::Snapshot;
use crate::snapshot::keys::{self, Keys};
use crate::snapshot::unreadable::Unreadable;

/// The document kinds that routes are compiled from.
const ROUTED: &[&str] =
    &[Provider::KIND, ModelOverride::KIND, ModelPrice::KIND, Pool::KIND, Combo::KIND, Alias::KIND];

/// The document kinds that budgets are compiled from.
const BUDGETED: &[&str] = &[Budget::KIND, BudgetSettings::KIND];

/// The configuration that is not in storage: file, environment and flags.
#[derive(Clone)]
pub struct StaticConfig {
    pub providers: Vec<(Provider, Source)>,
    /// Whether the demo provider is present; if unset, only when no other provider is configured.
    pub demo: Option<bool>,
    pub allow_private: bool,
    pub loopback_listener: bool,
    /// Whether combos are enabled.
    pub combos: bool,
    pub budgets: Vec<(BudgetKey, Nanos)>,
    /// Secrets that are masked in all stored text, in addition to provider credentials.
    pub secrets: Vec<Secret>,
}

pub struct Refresher {
    gateway: Arc<Gateway>,
    store: Store,
    fixed: ArcSwap<StaticConfig>,
    pub inventory: Inventory,
    /// Serializes compilations, so that an earlier one cannot overwrite the result of a later one.
    turn: tokio::sync::Mutex<()>,
}

impl Refresher {
    pub fn new(gateway: Arc<Gateway>, store: Store, fixed: StaticConfig, inventory: Inventory) -> Self {
        Self {
            gateway,
            store,
            fixed: ArcSwap::from_pointee(fixed),
            inventory,
            turn: tokio::sync::Mutex::default(),
        }
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Compiles everything from storage. Called once, before the first call is served.
    pub async fn load(&self) -> Result<(), StoreError> {
        let _turn = self.turn.lock().await;
        let revision = self.store.documents().revision().await?;
        self.store.ledger().listen(self.gateway.budgets.clone());
        let mut broken = Unreadable::default();
        self.budgets(&mut broken).await?;
        let mut keys = Keys::default();
        let documents = self.store.documents().raw(AuthKey::KIND).await?;
        let compiled = documents.iter().filter_map(|raw| match compile_key(raw) {
            Ok(values) => Some((raw.name.clone(), values)),
            Err(reason) => {
                broken.insert(&raw.kind, &raw.name, reason);
                None
            }
        });
        keys.apply(compiled);
        let routes = Arc::new(self.routes(&mut broken).await?);
        for instance in routes.instances.values().filter(|instance| instance.source == Source::Admin) {
            if let Some(source) = self.configured_source(instance.name()) {
                let provider = instance.name();
                tracing::warn!(
                    provider,
                    ?source,
                    "provider is overridden by the one stored through the admin API"
                );
            }
        }
        let before = self.gateway.snapshot();
        broken.log_since(&before.broken);
        let master = before.master;
        self.gateway.snapshot.store(Arc::new(Snapshot { revision, master, keys, routes, broken }));
        Ok(())
    }

    /// Applies the changes since the current snapshot. The writer of a change calls this before it answers.
    pub async fn refresh(&self) -> Result<(), StoreError> {
        let _turn = self.turn.lock().await;
        let before = self.gateway.snapshot();
        let mut snapshot = (*before).clone();
        let changes = self.store.documents().changes_since(snapshot.revision, 10_000).await?;
        let Some(newest) = changes.iter().map(|change| change.revision).max() else { return Ok(()) };
        let changed = |kinds: &[&str]| changes.iter().any(|change| kinds.contains(&&*change.kind));
        if changed(&[AuthKey::KIND]) {
            self.refresh_keys(&mut snapshot, &changes).await?;
            // Published at once: a revocation must not wait for routes or budgets that may fail to compile.
            self.gateway.snapshot.store(Arc::new(snapshot.clone()));
        }
        if changed(BUDGETED) {
            let mut broken = Unreadable::default();
            self.budgets(&mut broken).await?;
            snapshot.broken.replace(BUDGETED, broken);
        }
        if changed(ROUTED) {
            let mut broken = Unreadable::default();
            snapshot.routes = Arc::new(self.routes(&mut broken).await?);
            snapshot.broken.replace(ROUTED, broken);
        }
        snapshot.broken.log_since(&before.broken);
        snapshot.revision = newest;
        self.gateway.snapshot.store(Arc::new(snapshot));
        self.announce(changes);
        Ok(())
    }

    /// Compiles changed keys again. A key that cannot be read is disabled and reported.
    async fn refresh_keys(&self, snapshot: &mut Snapshot, changes: &[Change]) -> Result<(), StoreError> {
        let keys = changes.iter().filter(|change| change.kind == AuthKey::KIND);
        let ids: BTreeSet<&str> = keys.map(|change| &*change.name).collect();
        let mut changed = Vec::with_capacity(ids.len());
        for id in ids {
            snapshot.broken.remove(AuthKey::KIND, id);
            let raw = self.store.documents().find(AuthKey::KIND, id).await?;
            let values = match raw.as_ref().map(compile_key) {
                None => Vec::new(),
                Some(Ok(values)) => values,
                Some(Err(reason)) => {
                    snapshot.broken.insert(AuthKey::KIND, id, reason);
                    Vec::new()
                }
            };
            changed.push((id.to_owned(), values));
        }
        snapshot.keys.apply(changed);
        Ok(())
    }

    /// Loads the budgets and their spending, if the edition supports them.
    async fn budgets(&self, broken: &mut Unreadable) -> Result<(), StoreError> {
        if !self.gateway.capabilities.has(Capability::AdvancedBudgets) {
            return Ok(());
        }
        let rules = Rules::load(&self.store, &self.fixed().budgets, broken).await?;
        budgets::install(&self.gateway.budgets, &*self.gateway.clock, &self.store, rules).await
    }

    /// The budgets from the static configuration.
    pub fn configured_budgets(&self) -> Vec<(BudgetKey, Nanos)> {
        self.fixed().budgets.clone()
    }

    fn fixed(&self) -> Arc<StaticConfig> {
        self.fixed.load_full()
    }

    /// Publishes applied changes, including those of other replicas, to the console.
    fn announce(&self, changes: Vec<Change>) {
        for Change { revision, at, actor, kind, name, action, .. } in changes {
            self.gateway.console.say(at, Notice::Config { actor, kind, name, action, revision });
        }
    }

    /// Compiles the routes again from the same documents, after the inventory changed.
    async fn reroute(&self) -> Result<(), StoreError> {
        let _turn = self.turn.lock().await;
        let mut broken = Unreadable::default();
        let routes = Arc::new(self.routes(&mut broken).await?);
        let mut snapshot = (*self.gateway.snapshot()).clone();
        snapshot.broken.replace(ROUTED, broken);
        self.gateway.snapshot.store(Arc::new(Snapshot { routes, ..snapshot }));
        Ok(())
    }

    async fn routes(&self, broken: &mut Unreadable) -> Result<routes::Routes, StoreError> {
        let providers = self.merge(self.readable(broken).await?);
        let combos = if self.fixed().combos { self.readable(broken).await? } else { Vec::new() };
        let (pools, aliases) = (self.readable(broken).await?, self.readable(broken).await?);
        let before = self.gateway.snapshot();
        let names = Names::compile(pools, combos, aliases, &before.routes.names);
        let overrides = self.stored::<ModelOverride>(broken).await?;
        let overrides = overrides
            .into_iter()
            .map(|(selector, found)| {
                let found = found.unwrap_or_else(|| closed(&selector));
                (selector, found)
            })
            .collect();
        let prices = self.prices(broken).await?;
        for (provider, _) in &providers {
            let known = before.routes.instances.get(&provider.name).map(|instance| &instance.provider);
            let moved =
                |known: &Provider| known.base_url != provider.base_url || known.api_key != provider.api_key;
            if known.is_some_and(moved) {
                self.gateway.target_health.forget(&provider.name);
                self.gateway.metrics.forget(&provider.name);
            }
        }
        let inputs = routes::CompileInputs {
            listings: &self.inventory.listings(),
            overrides: &overrides,
            prices: Arc::new(prices),
            egress: &self.gateway.egress,
            trust: &|source| self.trust(source),
            metrics: &self.gateway.metrics,
            health: &self.gateway.target_health,
        };
        let mut routes = routes::compile(&providers, &inputs);
        routes.names = names;
        routes.scrubber = Scrubber::of(&self.fixed().secrets, providers.iter().map(|(provider, _)| provider));
        Ok(routes)
    }

    /// The configured prices. One that cannot be read is reported, and the catalogue's price applies.
    async fn prices(&self, broken: &mut Unreadable) -> Result<Prices, StoreError> {
        let mut documents = BTreeMap::new();
        for raw in self.store.documents().raw(ModelPrice::KIND).await? {
            match store::decode::<ModelPrice>(&raw) {
                Ok(stored) => drop(documents.insert(raw.name, (stored.value, stored.revision))),
                Err(error) => broken.insert(&raw.kind, &raw.name, error.to_string()),
            }
        }
        Ok(Prices::new(documents))
    }

    /// The readable documents of a kind.
    async fn readable<T: Resource>(&self, broken: &mut Unreadable) -> Result<Vec<T>, StoreError> {
        Ok(self.stored::<T>(broken).await?.into_values().flatten().collect())
    }

    /// All documents of a kind, by name; `None` for one that cannot be read, which is reported.
    async fn stored<T: Resource>(
        &self,
        broken: &mut Unreadable,
    ) -> Result<BTreeMap<String, Option<T>>, StoreError> {
        let mut documents = BTreeMap::new();
        for raw in self.store.documents().raw(T::KIND).await? {
            let document = match store::decode::<T>(&raw) {
                Ok(document) => Some(document.value),
                Err(error) => {
                    broken.insert(&raw.kind, &raw.name, error.to_string());
                    None
                }
            };
            documents.insert(raw.name, document);
        }
        Ok(documents)
    }

    /// Merges stored and configured providers; stored ones override configured ones of the same name.
    fn merge(&self, stored: Vec<Provider>) -> Vec<(Provider, Source)> {
        let configured = self.fixed();
        let overridden = |name: &str| stored.iter().any(|provider| provider.name == name);
        let fixed = configured.providers.iter().filter(|(provider, _)| !overridden(&provider.name)).cloned();
        let mut providers: Vec<_> = fixed.collect();
        providers.extend(stored.iter().cloned().map(|provider| (provider, Source::Admin)));
        let wanted = configured.demo.unwrap_or(providers.is_empty());
        let demo = demo();
        if wanted && !providers.iter().any(|(provider, _)| provider.name == demo.name) {
            providers.push((demo, Source::Default));
        }
        providers
    }

    /// The source of a configured (not stored) instance of this name: file or environment.
    pub fn configured_source(&self, name: &str) -> Option<Source> {
        let configured = self.fixed();
        let mut fixed = configured.providers.iter();
        fixed.find(|(provider, _)| provider.name == name).map(|(_, source)| *source)
    }

    /// Trust in a provider's address: the operator's configuration is trusted, the admin API's input is checked.
    pub fn trust(&self, source: Source) -> Trust {
        match source {
            Source::Config | Source::Env | Source::Default => Trust::Operator,
            Source::Admin => Trust::Admin {
                allow_private: self.fixed().allow_private,
                loopback_listener: self.fixed().loopback_listener,
            },
        }
    }

    /// Queries every provider for its models. If a query fails, the last known list is kept.
    pub async fn discover(&self) {
        let routes = self.gateway.snapshot().routes.clone();
        let mut changed = self.inventory.forget_moved(routes.instances.values().cloned());
        for instance in routes.instances.values().filter(|instance| inventory::is_discoverable(instance)) {
            let now = self.gateway.clock.now();
            changed |= self.inventory.discover(instance, &self.gateway.egress, now).await;
        }
        if changed && let Err(error) = self.reroute().await {
            tracing::warn!(%error, "route compilation failed");
        }
    }

    /// Queries one provider for its models now.
    pub async fn discover_one(&self, name: &str) {
        let Some(instance) = self.gateway.snapshot().routes.instances.get(name).cloned() else { return };
        if !inventory::is_discoverable(&instance) {
            return;
        }
        self.inventory.forget_moved(std::iter::once(instance.clone()));
        let now = self.gateway.clock.now();
        if self.inventory.discover(&instance, &self.gateway.egress, now).await
            && let Err(error) = self.reroute().await
        {
            tracing::warn!(%error, "route compilation failed");
        }
    }

    /// Runs discovery at startup and at every interval.
    pub async fn keep_discovering(self: Arc<Self>, interval: Duration) {
        loop {
            self.discover().await;
            tokio::time::sleep(interval).await;
        }
    }

    /// Polls for changes of other processes. A file database is queried only if its files may have changed, which
    /// keeps an idle process cheap.
    pub async fn keep_following(self: Arc<Self>, interval: Duration) {
        let mut seen = None;
        loop {
            tokio::time::sleep(interval).await;
            let stamp = self.store.stamp();
            if stamp.is_some_and(|stamp| stamp.is_still(seen.as_ref(), self.gateway.clock.now())) {
                continue;
            }
            match self.follow().await {
                Ok(()) => seen = stamp,
                Err(error) => tracing::debug!(%error, "configuration revision check failed"),
            }
        }
    }

    async fn follow(&self) -> Result<(), StoreError> {
        if self.store.documents().revision().await? <= self.gateway.snapshot().revision {
            return Ok(());
        }
        self.refresh().await.inspect_err(|error| {
            tracing::warn!(%error, "configuration refresh failed");
        })
    }
}

fn compile_key(raw: &RawDocument) -> Result<Vec<KeyFacts>, String> {
    let stored = store::decode::<AuthKey>(raw).map_err(|error| error.to_string())?;
    keys::compile(&stored.value)
}

/// The override used for a stored one that cannot be read. It denies access: to ignore it would allow everybody.
fn closed(selector: &str) -> ModelOverride {
    ModelOverride {
        selector: selector.to_owned(),
        enabled: false,
        user_paths: Vec::new(),
        metadata: Default::default(),
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
