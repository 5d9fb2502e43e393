//! The kinds of documents that the configuration is compiled from. A new kind is one line below, and one file here
//! unless its documents are used as they are stored.

mod as_stored;
mod auth_keys;
mod budget_settings;
mod budgets;
mod guardrails;
mod model_overrides;
mod model_prices;
mod providers;
#[cfg(test)]
mod tests;
mod workflow_activations;

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::clock::Timestamp;
use domain::resources::alias::Alias;
use domain::resources::combo::Combo;
use domain::resources::pool::Pool;
use domain::resources::role::Role;
use domain::resources::tenant::Tenant;
use domain::resources::user::User;
use domain::resources::workflow::Workflow;
use store::{DEFAULT_TENANT, Documents, RawDocument, StoreError};

use super::StaticConfig;
use super::configured::lay_under;
use super::proposal::ProposedDocuments;
use super::tenant_documents::TenantLayer;
use crate::snapshot::document_errors::DocumentErrors;
use crate::snapshot::section::{self, Section};
use as_stored::AsStored;

pub use auth_keys::AuthKeys;

/// Reads documents from storage, compiles them and collects their errors.
pub struct Compilation<'a> {
    pub documents: &'a Documents,
    pub configured: Arc<StaticConfig>,
    pub at: Timestamp,
    /// Kinds of documents whose feature is off; they are not read.
    pub off: &'a [&'static str],
    /// Documents that are laid over those in storage.
    pub proposed: Option<&'a ProposedDocuments>,
    /// The documents of a tenant, which are laid over all others.
    pub layer: Option<TenantLayer<'a>>,
    pub errors: DocumentErrors,
}

impl Compilation<'_> {
    /// The compiled documents of a kind, by name.
    pub async fn load<S: Section>(&mut self) -> Result<BTreeMap<String, S::Compiled>, StoreError> {
        let kind = section::kind::<S>();
        if self.off.contains(&kind) {
            return Ok(BTreeMap::new());
        }
        let Some(layer) = self.layer else {
            let documents = self.documents_of_default_tenant(kind).await?;
            return Ok(section::compile::<S>(documents, self.at, &mut self.errors).collect());
        };
        let (own, inherited) = layer.documents(kind);
        // The errors of inherited documents are those of the default tenant.
        let mut reported = DocumentErrors::default();
        let mut compiled: BTreeMap<_, _> = section::compile::<S>(inherited, self.at, &mut reported).collect();
        compiled.extend(section::compile::<S>(own, self.at, &mut self.errors));
        Ok(compiled)
    }

    /// The documents of a kind: stored, proposed and those of the configuration file.
    pub async fn documents_of_default_tenant(
        &self,
        kind: &'static str,
    ) -> Result<Vec<RawDocument>, StoreError> {
        let stored = self.documents.raw(kind).await?;
        let stored = match self.proposed {
            Some(proposed) => proposed.lay_over(DEFAULT_TENANT, kind, stored, self.at),
            None => stored,
        };
        // Last: the document of the file is in force again when one that overrides it is deleted.
        Ok(lay_under(&self.configured.documents, kind, stored))
    }
}

/// Declares sections that are compiled together: a struct with the compiled documents of each, by name.
macro_rules! sections {
    ($(#[$about:meta])* $name:ident { $($field:ident: $section:ty,)* }) => {
        $(#[$about])*
        pub struct $name {
            $(pub $field: BTreeMap<String, <$section as Section>::Compiled>,)*
        }

        impl $name {
            pub const KINDS: &'static [&'static str] = &[$(section::kind::<$section>()),*];

            pub async fn load(compilation: &mut Compilation<'_>) -> Result<Self, StoreError> {
                Ok(Self { $($field: compilation.load::<$section>().await?,)* })
            }
        }
    };
}

sections! {
    /// The documents that routes are compiled from.
    RouteSections {
        providers: providers::Providers,
        model_overrides: model_overrides::ModelOverrides,
        model_prices: model_prices::ModelPrices,
        pools: AsStored<Pool>,
        combos: AsStored<Combo>,
        aliases: AsStored<Alias>,
    }
}

sections! {
    /// The documents that budgets are compiled from.
    BudgetSections {
        budgets: budgets::Budgets,
        settings: budget_settings::Settings,
    }
}

sections! {
    /// The documents that workflows are compiled from.
    WorkflowSections {
        // Before the versions: a version is written before the activation that names it.
        activations: workflow_activations::WorkflowActivations,
        versions: AsStored<Workflow>,
        guardrails: guardrails::Guardrails,
    }
}

sections! {
    /// The documents that users and tenants are compiled from. One that does not compile grants nothing.
    IdentitySections {
        roles: AsStored<Role>,
        tenants: AsStored<Tenant>,
        users: AsStored<User>,
    }
}
