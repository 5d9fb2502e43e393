//! The configuration in force, as documents.

mod tenant_documents;

use std::collections::BTreeMap;

use domain::capability::Capability;
use domain::clock::Timestamp;
use domain::resources::Resource as _;
use domain::resources::alias::Alias;
use domain::resources::auth_key::AuthKey;
use domain::resources::budget::Budget;
use domain::resources::budget_settings::BudgetSettings;
use domain::resources::combo::Combo;
use domain::resources::guardrail::Guardrail;
use domain::resources::model_override::ModelOverride;
use domain::resources::model_price::ModelPrice;
use domain::resources::pool::Pool;
use domain::resources::provider::{Provider, ProviderSource};
use domain::resources::setting_values::{self, SettingValues};
use domain::resources::tenant::Tenant;
use domain::resources::workflow::{Workflow, WorkflowActivation};
use store::DEFAULT_TENANT;

use super::document::{ConfigDocument, budget_name};
use super::kind::{ConfigKind, DocumentId};
use super::secret_references::SecretSettings;
use crate::App;
use crate::fault::Problem;

/// All documents of the configuration.
pub struct CurrentConfig {
    /// The revision of storage.
    pub revision: i64,
    pub documents: BTreeMap<DocumentId, CurrentDocument>,
    /// Resets of budgets that have no stored amount, by the stored name.
    pub resets: BTreeMap<String, Timestamp>,
}

pub struct CurrentDocument {
    pub document: ConfigDocument,
    /// Whether it is in storage; otherwise it comes from the configuration file or the environment.
    pub is_stored: bool,
}

impl CurrentConfig {
    pub async fn load(app: &App) -> Result<Self, Problem> {
        // Read first: a change in between is noticed when a plan is applied.
        let revision = app.refresher.store().documents().revision().await?;
        let mut current = Self { revision, documents: BTreeMap::new(), resets: BTreeMap::new() };
        current.add_settings(app).await?;
        current.add_providers(app).await?;
        current.add_named::<Pool>(app, ConfigKind::Pool, ConfigDocument::Pool).await?;
        current.add_named::<Combo>(app, ConfigKind::Combo, ConfigDocument::Combo).await?;
        current.add_named::<Alias>(app, ConfigKind::Alias, ConfigDocument::Alias).await?;
        let overrides = ConfigDocument::ModelOverride;
        current.add_named::<ModelOverride>(app, ConfigKind::ModelOverride, overrides).await?;
        let prices = |price| ConfigDocument::ModelPrice(Box::new(price));
        current.add_named::<ModelPrice>(app, ConfigKind::ModelPrice, prices).await?;
        let guardrails = |guardrail| ConfigDocument::Guardrail(Box::new(guardrail));
        current.add_named::<Guardrail>(app, ConfigKind::Guardrail, guardrails).await?;
        current.add_workflows(app).await?;
        if app.gateway.capabilities.has(Capability::AdvancedBudgets) {
            current.add_budgets(app).await?;
        }
        let keys = |key| ConfigDocument::AuthKey(Box::new(key));
        current.add_named::<AuthKey>(app, ConfigKind::AuthKey, keys).await?;
        if app.gateway.capabilities.has(Capability::Identity) {
            current.add_named::<Tenant>(app, ConfigKind::Tenant, ConfigDocument::Tenant).await?;
            tenant_documents::add(&mut current, app).await?;
        }
        Ok(current)
    }

    pub fn auth_keys(&self) -> impl Iterator<Item = &AuthKey> {
        self.documents.values().filter_map(|current| match &current.document {
            ConfigDocument::AuthKey(key) => Some(&**key),
            _ => None,
        })
    }

    /// The key with this id.
    pub fn auth_key(&self, id: &str) -> Option<&AuthKey> {
        match &self.documents.get(&DocumentId::of_default(ConfigKind::AuthKey, id))?.document {
            ConfigDocument::AuthKey(key) => Some(key),
            _ => None,
        }
    }

    /// The settings whose values are secret.
    pub fn secret_settings(&self, app: &App) -> SecretSettings {
        let key = DocumentId::of_default(ConfigKind::Settings, setting_values::NAME);
        let stored = match self.documents.get(&key).map(|current| &current.document) {
            Some(ConfigDocument::Settings(values)) => Some(values),
            _ => None,
        };
        SecretSettings::new(&app.settings.list(), stored)
    }

    fn add(&mut self, kind: ConfigKind, name: String, document: ConfigDocument, is_stored: bool) {
        let id = DocumentId::of_default(kind, &name);
        self.documents.insert(id, CurrentDocument { document, is_stored });
    }

    async fn add_named<T: domain::resources::Resource>(
        &mut self,
        app: &App,
        kind: ConfigKind,
        document: impl Fn(T) -> ConfigDocument,
    ) -> Result<(), Problem> {
        for stored in app.refresher.effective::<T>(DEFAULT_TENANT).await? {
            let (name, is_stored) = (stored.value.name().to_owned(), stored.revision > 0);
            self.add(kind, name, document(stored.value), is_stored);
        }
        Ok(())
    }

    async fn add_settings(&mut self, app: &App) -> Result<(), Problem> {
        let stored = app.refresher.store().collection::<SettingValues>().all().await?;
        for stored in stored.into_iter().filter(|stored| stored.value.names().next().is_some()) {
            let name = stored.value.name().to_owned();
            self.add(ConfigKind::Settings, name, ConfigDocument::Settings(stored.value), true);
        }
        Ok(())
    }

    /// Providers are those in force but for the built-in one.
    async fn add_providers(&mut self, app: &App) -> Result<(), Problem> {
        let configured = app.refresher.configuration().providers;
        for (provider, _) in configured.into_iter().filter(|(_, source)| *source != ProviderSource::Default) {
            let document = ConfigDocument::Provider(Box::new(provider.clone()));
            self.add(ConfigKind::Provider, provider.name, document, false);
        }
        for stored in app.refresher.store().collection::<Provider>().all().await? {
            let name = stored.value.name.clone();
            self.add(ConfigKind::Provider, name, ConfigDocument::Provider(Box::new(stored.value)), true);
        }
        Ok(())
    }

    /// Workflows are the versions in force.
    async fn add_workflows(&mut self, app: &App) -> Result<(), Problem> {
        let mut versions: BTreeMap<String, Workflow> = BTreeMap::new();
        for stored in app.refresher.effective::<Workflow>(DEFAULT_TENANT).await? {
            versions.insert(stored.value.id.clone(), stored.value);
        }
        for activation in app.refresher.effective::<WorkflowActivation>(DEFAULT_TENANT).await? {
            let active = activation.value.active.as_ref().and_then(|id| versions.get(id));
            if let Some(workflow) = active {
                let document = ConfigDocument::Workflow(Box::new(workflow.clone()));
                let is_stored = activation.revision > 0;
                self.add(ConfigKind::Workflow, activation.value.scope, document, is_stored);
            }
        }
        Ok(())
    }

    async fn add_budgets(&mut self, app: &App) -> Result<(), Problem> {
        for budget in app.refresher.configured_budgets() {
            self.add_budget(budget, false);
        }
        let stored = app.refresher.store().collection::<Budget>().all().await?;
        for budget in stored.into_iter().map(|stored| stored.value) {
            match (budget.amount, budget.last_reset_at) {
                (Some(_), _) => self.add_budget(budget, true),
                // A document without an amount only records a reset of a configured budget.
                (None, Some(at)) => _ = self.resets.insert(budget.name().to_owned(), at),
                (None, None) => {}
            }
        }
        for stored in app.refresher.effective::<BudgetSettings>(DEFAULT_TENANT).await? {
            let name = stored.value.name().to_owned();
            let document = ConfigDocument::BudgetSettings(Box::new(stored.value));
            self.add(ConfigKind::BudgetSettings, name, document, stored.revision > 0);
        }
        Ok(())
    }

    fn add_budget(&mut self, budget: Budget, is_stored: bool) {
        if let Some(key) = budget.key() {
            self.add(
                ConfigKind::Budget,
                budget_name(&key),
                ConfigDocument::Budget(Box::new(budget)),
                is_stored,
            );
        }
    }
}
