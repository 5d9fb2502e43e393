//! Keeps the snapshot current: compiles it at startup, and again when a document or the inventory changes.

mod configured;
mod discovery;
mod identities;
mod proposal;
mod reconfigure;
mod remote_changes;
mod routes;
mod sections;
mod tenant_documents;
mod tenant_views;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arc_swap::ArcSwap;
use domain::capability::Capability;
use domain::principal::KeyFacts;
use domain::resources::Resource as _;
use domain::resources::auth_key::AuthKey;
use domain::resources::budget::Budget;
use domain::resources::budget_settings::{self, BudgetSettings};
use domain::resources::provider::{Provider, ProviderSource};
use domain::resources::setting_values::SettingValues;
use domain::resources::workflow::Workflow;
use domain::secret::Secret;
use futures_util::future::BoxFuture;
use identity::token_issuer::TokenIssuer;
use store::{Change, DEFAULT_TENANT, Store, StoreError};

use crate::budgets::{self, Rules};
use crate::gateway::Gateway;
use crate::routing::inventory::Inventory;
use crate::routing::routes::Routes;
use crate::services::console::Notice;
use crate::services::webhooks::Webhooks;
use crate::snapshot::Snapshot;
use crate::snapshot::document_errors::DocumentErrors;
use crate::snapshot::guardrails::Guardrails;
use crate::snapshot::keys::Keys;
use crate::snapshot::section;
use crate::snapshot::workflows::Workflows;
use sections::{AuthKeys, BudgetSections, Compilation, IdentitySections, RouteSections, WorkflowSections};
use tenant_documents::TenantLayer;
use tenant_views::AffectedTenants;

pub use configured::ConfiguredDocument;
pub use proposal::ProposedDocuments;

/// The configuration that is not in storage: file, environment and flags.
#[derive(Clone)]
pub struct StaticConfig {
    pub providers: Vec<(Provider, ProviderSource)>,
    /// Whether the demo provider is present; if unset, only when no other provider is configured.
    pub demo: Option<bool>,
    pub allow_private: bool,
    pub loopback_listener: bool,
    /// Whether combos are enabled.
    pub combos: bool,
    /// Budgets with their amounts.
    pub budgets: Vec<Budget>,
    /// Other documents of the configuration file.
    pub documents: Vec<ConfiguredDocument>,
    /// Issuers whose tokens are accepted.
    pub token_issuers: Vec<TokenIssuer>,
    /// Secrets that are masked in all stored text, in addition to provider credentials.
    pub secrets: Vec<Secret>,
}

pub struct Refresher {
    gateway: Arc<Gateway>,
    store: Store,
    fixed: Arc<ArcSwap<StaticConfig>>,
    pub inventory: Inventory,
    /// The revision of the latest change of the stored settings.
    settings_revision: tokio::sync::watch::Sender<i64>,
    /// Serializes compilations, so that an earlier one cannot overwrite the result of a later one.
    turn: tokio::sync::Mutex<()>,
}

impl Refresher {
    pub fn new(gateway: Arc<Gateway>, store: Store, fixed: StaticConfig, inventory: Inventory) -> Self {
        Self {
            gateway,
            store,
            fixed: Arc::new(ArcSwap::from_pointee(fixed)),
            inventory,
            settings_revision: tokio::sync::watch::Sender::default(),
            turn: tokio::sync::Mutex::default(),
        }
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The outbox of webhooks and its sender.
    pub fn webhooks(&self) -> Webhooks {
        let (gateway, fixed) = (&self.gateway, self.fixed.clone());
        let file_settings = move || {
            let settings = configured::find::<BudgetSettings>(&fixed.load().documents, budget_settings::NAME);
            settings.map(|settings| settings.value)
        };
        Webhooks::new(
            self.store.clone(),
            gateway.egress.clone(),
            gateway.clock.clone(),
            gateway.entropy.clone(),
            self.trust(ProviderSource::Admin),
            gateway.webhook_events.clone(),
            Arc::new(file_settings),
        )
    }

    /// Compiles everything from storage. Called once, before the first call is served.
    pub async fn load(&self) -> Result<(), StoreError> {
        let _turn = self.turn.lock().await;
        let revision = self.store.documents().revision().await?;
        self.store.ledger().listen(self.gateway.budgets.clone());
        let mut document_errors = self.budgets().await?;
        let mut compilation = self.compilation(&[], None, None);
        let mut keys = Keys::default();
        keys.apply(compilation.load::<AuthKeys>().await?);
        document_errors.replace_kinds(&[AuthKey::KIND], compilation.errors);
        let tenants = self.tenant_documents(None).await?;
        let (routes, errors) = self.routes(&tenants, None, None).await?;
        document_errors.replace_kinds(RouteSections::KINDS, errors);
        self.log_overridden(&routes);
        let (guardrails, workflows, errors) = self.workflows(None, None).await?;
        document_errors.replace_kinds(WorkflowSections::KINDS, errors);
        let (identities, errors) = self.load_identities().await?;
        document_errors.replace_kinds(IdentitySections::KINDS, errors);
        let initial = (*self.gateway.snapshot()).clone();
        let mut snapshot = Snapshot {
            revision,
            keys,
            identities,
            routes,
            guardrails,
            workflows,
            document_errors,
            ..initial
        };
        snapshot.tenant_views = self.tenant_views(&snapshot, &tenants, &AffectedTenants::All, None).await?;
        self.publish(snapshot);
        Ok(())
    }

    fn log_overridden(&self, routes: &Routes) {
        for instance in routes.instances.values().filter(|instance| instance.source == ProviderSource::Admin)
        {
            if let Some(source) = self.configured_source(instance.name()) {
                let provider = instance.name();
                tracing::warn!(
                    provider,
                    ?source,
                    "provider is overridden by the one stored through the admin API"
                );
            }
        }
    }

    /// Applies the changes since the current snapshot. The writer of a change calls this before it answers. The type of the
    /// future is erased: it is deep, and part of that of every admin route that changes something.
    pub fn refresh(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.apply_changes())
    }

    async fn apply_changes(&self) -> Result<(), StoreError> {
        let _turn = self.turn.lock().await;
        let mut snapshot = (*self.gateway.snapshot()).clone();
        let changes = self.store.documents().changes_since(snapshot.revision, 10_000).await?;
        let Some(newest) = changes.iter().map(|change| change.revision).max() else { return Ok(()) };
        let changed = |kinds: &[&str]| changes.iter().any(|change| kinds.contains(&&*change.kind));
        if changed(&[AuthKey::KIND]) {
            self.refresh_keys(&mut snapshot, &changes).await?;
            // Published at once: a revocation must not wait for routes or budgets that may fail to compile.
            self.publish(snapshot.clone());
        }
        if changed(IdentitySections::KINDS) {
            let (users, tenants, errors) = self.users().await?;
            (snapshot.identities.users, snapshot.identities.tenants) = (users, tenants);
            snapshot.document_errors.replace_kinds(IdentitySections::KINDS, errors);
            self.publish(snapshot.clone());
        }
        if changed(BudgetSections::KINDS) {
            let errors = self.budgets().await?;
            snapshot.document_errors.replace_kinds(BudgetSections::KINDS, errors);
        }
        if changed(RouteSections::KINDS) || changed(WorkflowSections::KINDS) {
            self.refresh_configurations(&mut snapshot, &changes).await?;
        }
        snapshot.revision = newest;
        self.publish(snapshot);
        if changed(&[SettingValues::KIND]) {
            self.settings_revision.send_replace(newest);
        }
        self.announce(changes);
        Ok(())
    }

    /// Compiles routes and workflows again, those of the default tenant and of the tenants that the changes affect.
    async fn refresh_configurations(
        &self,
        snapshot: &mut Snapshot,
        changes: &[Change],
    ) -> Result<(), StoreError> {
        let changed = |kinds: &[&str]| changes.iter().any(|change| kinds.contains(&&*change.kind));
        let of_default = |kinds: &[&str]| {
            changes.iter().any(|change| change.tenant == DEFAULT_TENANT && kinds.contains(&&*change.kind))
        };
        let tenants = self.tenant_documents(None).await?;
        // For every tenant's: the routes of the default tenant mask the secrets of all providers.
        if changed(RouteSections::KINDS) {
            let (routes, errors) = self.routes(&tenants, None, None).await?;
            snapshot.routes = routes;
            snapshot.document_errors.replace_kinds(RouteSections::KINDS, errors);
        }
        if of_default(WorkflowSections::KINDS) {
            let (guardrails, workflows, errors) = self.workflows(None, None).await?;
            (snapshot.guardrails, snapshot.workflows) = (guardrails, workflows);
            snapshot.document_errors.replace_kinds(WorkflowSections::KINDS, errors);
        }
        let kinds = [RouteSections::KINDS, WorkflowSections::KINDS].concat();
        let affected = AffectedTenants::by(changes, &kinds);
        snapshot.tenant_views = self.tenant_views(snapshot, &tenants, &affected, None).await?;
        Ok(())
    }

    /// Puts a snapshot in force and logs the documents that have stopped compiling.
    fn publish(&self, snapshot: Snapshot) {
        let before = self.gateway.snapshot();
        snapshot.document_errors.log_since(DEFAULT_TENANT, &before.document_errors);
        for (tenant, view) in snapshot.tenant_views.iter() {
            let known = before.tenant_views.get(tenant).map(|before| before.document_errors.clone());
            view.document_errors.log_since(tenant, &known.unwrap_or_default());
        }
        let compiled_at = self.gateway.clock.now();
        let mut snapshot = Snapshot { compiled_at, ..snapshot };
        snapshot.update_views();
        self.gateway.snapshot.store(Arc::new(snapshot));
    }

    fn compilation<'a>(
        &'a self,
        off: &'a [&'static str],
        proposed: Option<&'a ProposedDocuments>,
        layer: Option<TenantLayer<'a>>,
    ) -> Compilation<'a> {
        let (documents, at) = (self.store.documents(), self.gateway.clock.now());
        let configured = self.fixed();
        Compilation { documents, configured, at, off, proposed, layer, errors: DocumentErrors::default() }
    }

    /// Compiles changed keys again. A deleted key has no values, nor has one that does not compile.
    async fn refresh_keys(&self, snapshot: &mut Snapshot, changes: &[Change]) -> Result<(), StoreError> {
        let keys = changes.iter().filter(|change| change.kind == AuthKey::KIND);
        let ids: BTreeSet<&str> = keys.map(|change| &*change.name).collect();
        let mut documents = Vec::with_capacity(ids.len());
        for id in &ids {
            documents.extend(self.store.documents().find(AuthKey::KIND, id).await?);
        }
        // A key of the configuration file is in force again when the stored one that overrode it is deleted.
        let fixed = self.fixed();
        let mut documents = configured::lay_under(&fixed.documents, AuthKey::KIND, documents);
        documents.retain(|document| ids.contains(&*document.name));
        let mut errors = DocumentErrors::default();
        let mut values: BTreeMap<String, Vec<KeyFacts>> =
            ids.iter().map(|id| ((*id).to_owned(), Vec::new())).collect();
        values.extend(section::compile::<AuthKeys>(documents, self.gateway.clock.now(), &mut errors));
        snapshot.keys.apply(values);
        snapshot.document_errors.replace(|kind, name| kind == AuthKey::KIND && ids.contains(name), errors);
        Ok(())
    }

    /// Puts the budgets and their spending in force, if the edition supports them, and returns the documents that do not
    /// compile.
    async fn budgets(&self) -> Result<DocumentErrors, StoreError> {
        if !self.gateway.capabilities.has(Capability::AdvancedBudgets) {
            return Ok(DocumentErrors::default());
        }
        let mut compilation = self.compilation(&[], None, None);
        let BudgetSections { budgets, mut settings } = BudgetSections::load(&mut compilation).await?;
        let settings = settings.remove(budget_settings::NAME).unwrap_or_default();
        let rules = Rules::compile(&self.fixed().budgets, budgets.into_values(), settings);
        budgets::install(&self.gateway.budgets, &*self.gateway.clock, &self.store, rules).await?;
        Ok(compilation.errors)
    }

    /// Compiles guardrails and workflows of the default tenant, or of the tenant of `layer`, with proposed documents if
    /// there are any, and returns the documents that do not compile.
    async fn workflows(
        &self,
        layer: Option<TenantLayer<'_>>,
        proposed: Option<&ProposedDocuments>,
    ) -> Result<(Arc<Guardrails>, Arc<Workflows>, DocumentErrors), StoreError> {
        let mut compilation = self.compilation(&[], proposed, layer);
        let sections = WorkflowSections::load(&mut compilation).await?;
        let WorkflowSections { versions, activations, guardrails } = sections;
        let guardrails = Guardrails::new(guardrails);
        let (mut errors, at) = (compilation.errors, self.gateway.clock.now());
        let workflows = Workflows::link(&versions, &activations, &guardrails, |version, missing| {
            if layer.is_some_and(|layer| !layer.has(Workflow::KIND, version)) {
                return;
            }
            let error = format!("the guardrail '{missing}' does not exist or does not compile");
            errors.report(Workflow::KIND, version, error, at);
        });
        Ok((Arc::new(guardrails), Arc::new(workflows), errors))
    }

    /// The budgets from the static configuration.
    pub fn configured_budgets(&self) -> Vec<Budget> {
        self.fixed().budgets.clone()
    }

    fn fixed(&self) -> Arc<StaticConfig> {
        self.fixed.load_full()
    }

    /// Changes whenever the settings in storage are changed, by this process or another.
    pub fn settings_revision(&self) -> tokio::sync::watch::Receiver<i64> {
        self.settings_revision.subscribe()
    }

    /// Publishes applied changes, including those of other replicas, to the console.
    fn announce(&self, changes: Vec<Change>) {
        for Change { revision, at, actor, kind, name, action, .. } in changes {
            self.gateway.console.notice(at, Notice::Config { actor, kind, name, action, revision });
        }
    }
}
