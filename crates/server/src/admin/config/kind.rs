//! The kinds of documents that configuration files have.

use domain::fault::{self, Fault};
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
use domain::resources::provider::Provider;
use domain::resources::setting_values::SettingValues;
use domain::resources::tenant::Tenant;
use domain::resources::workflow::Workflow;
use domain::scope::Area;
use store::DEFAULT_TENANT;

use crate::nearest;

/// The identity of a document. The order is that in which documents are written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DocumentId {
    pub kind: ConfigKind,
    /// Empty for the default tenant.
    pub tenant: String,
    pub name: String,
}

impl DocumentId {
    pub fn new(kind: ConfigKind, tenant: &str, name: &str) -> Self {
        Self { kind, tenant: tenant.to_owned(), name: name.to_owned() }
    }

    /// A document of the default tenant.
    pub fn of_default(kind: ConfigKind, name: &str) -> Self {
        Self::new(kind, DEFAULT_TENANT, name)
    }

    /// The tenant; `None` for the default tenant.
    pub fn tenant(&self) -> Option<&str> {
        Some(&*self.tenant).filter(|tenant| *tenant != DEFAULT_TENANT)
    }

    /// The name for messages.
    pub fn described(&self) -> String {
        match self.tenant() {
            Some(tenant) => format!("'{}' of the tenant '{tenant}'", self.name),
            None => format!("'{}'", self.name),
        }
    }
}

/// A kind of document, in the order in which documents are written: those that others refer to come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConfigKind {
    Settings,
    Tenant,
    Provider,
    Pool,
    Combo,
    Alias,
    ModelOverride,
    ModelPrice,
    Guardrail,
    Workflow,
    BudgetSettings,
    Budget,
    AuthKey,
}

impl ConfigKind {
    pub const ALL: [Self; 13] = [
        Self::Settings,
        Self::Tenant,
        Self::Provider,
        Self::Pool,
        Self::Combo,
        Self::Alias,
        Self::ModelOverride,
        Self::ModelPrice,
        Self::Guardrail,
        Self::Workflow,
        Self::BudgetSettings,
        Self::Budget,
        Self::AuthKey,
    ];

    /// The name of the section in files.
    pub fn section(self) -> &'static str {
        match self {
            Self::Settings => "settings",
            Self::Tenant => "tenants",
            Self::Provider => "providers",
            Self::Pool => "pools",
            Self::Combo => "combos",
            Self::Alias => "aliases",
            Self::ModelOverride => "model_overrides",
            Self::ModelPrice => "model_prices",
            Self::Guardrail => "guardrails",
            Self::Workflow => "workflows",
            Self::BudgetSettings => "budget_settings",
            Self::Budget => "budgets",
            Self::AuthKey => "auth_keys",
        }
    }

    /// The name of the kind in storage and in changes.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Settings => SettingValues::KIND,
            Self::Tenant => Tenant::KIND,
            Self::Provider => Provider::KIND,
            Self::Pool => Pool::KIND,
            Self::Combo => Combo::KIND,
            Self::Alias => Alias::KIND,
            Self::ModelOverride => ModelOverride::KIND,
            Self::ModelPrice => ModelPrice::KIND,
            Self::Guardrail => Guardrail::KIND,
            Self::Workflow => Workflow::KIND,
            Self::BudgetSettings => BudgetSettings::KIND,
            Self::Budget => Budget::KIND,
            Self::AuthKey => AuthKey::KIND,
        }
    }

    /// The area whose write scope a change needs.
    pub fn area(self) -> Area {
        match self {
            Self::Settings => Area::Settings,
            Self::Tenant => Area::Tenants,
            Self::Provider => Area::Providers,
            Self::Pool => Area::Pools,
            Self::Combo => Area::Combos,
            Self::Alias => Area::Aliases,
            Self::ModelOverride => Area::ModelOverrides,
            Self::ModelPrice => Area::ModelPricing,
            Self::Guardrail => Area::Guardrails,
            Self::Workflow => Area::Workflows,
            Self::BudgetSettings | Self::Budget => Area::Budgets,
            Self::AuthKey => Area::AuthKeys,
        }
    }

    /// The name of the only document of this kind, whose members stand directly in the section.
    pub fn single(self) -> Option<&'static str> {
        match self {
            Self::Settings => Some(domain::resources::setting_values::NAME),
            Self::BudgetSettings => Some(domain::resources::budget_settings::NAME),
            _ => None,
        }
    }

    /// Whether a tenant can have documents of this kind itself.
    pub fn is_of_tenant(self) -> bool {
        match self {
            Self::Provider
            | Self::Pool
            | Self::Combo
            | Self::Alias
            | Self::ModelOverride
            | Self::ModelPrice
            | Self::Guardrail
            | Self::Workflow => true,
            Self::Settings | Self::Tenant | Self::BudgetSettings | Self::Budget | Self::AuthKey => false,
        }
    }

    /// Whether budgets must be in the edition.
    pub fn is_of_budgets(self) -> bool {
        matches!(self, Self::Budget | Self::BudgetSettings)
    }

    /// The kind of a section of a file.
    pub fn of_section(name: &str) -> Result<Self, Fault> {
        Self::ALL.into_iter().find(|kind| kind.section() == name).ok_or_else(|| {
            let sections = Self::ALL.map(Self::section);
            fault::unknown_parameter(name, nearest::nearest(name, sections))
        })
    }

    /// The kind of a change.
    pub fn of_change(name: &str) -> Result<Self, Fault> {
        Self::ALL.into_iter().find(|kind| kind.kind() == name).ok_or_else(|| {
            let kinds = Self::ALL.map(Self::kind);
            let hint = nearest::hint(name, kinds);
            let message = format!("There is no kind '{name}'.{hint} Known kinds: {}.", kinds.join(", "));
            fault::invalid_parameter("kind", message)
        })
    }
}
