//! One document of a proposed configuration.

use std::collections::BTreeMap;

use domain::fault::Fault;
use domain::resources::Resource;
use domain::resources::alias::Alias;
use domain::resources::combo::Combo;
use domain::resources::guardrail::Guardrail;
use domain::resources::model_override::ModelOverride;
use domain::resources::model_price::ModelPrice;
use domain::resources::pool::Pool;
use domain::resources::provider::Provider;
use domain::resources::workflow::{Workflow, WorkflowActivation};
use pipeline::refresh::ProposedDocuments;
use pipeline::snapshot::Snapshot;
use store::StoreError;

use super::workflow_changes;
use crate::admin::crud::Served as _;
use crate::admin::names::Names;
use crate::admin::workflows::{self, references};

/// A document that would be stored, or the name of one that would be deleted.
pub enum ProposedDocument {
    Alias(Alias),
    Combo(Combo),
    Guardrail(Box<Guardrail>),
    ModelOverride(ModelOverride),
    ModelPrice(Box<ModelPrice>),
    Pool(Pool),
    Provider(Box<Provider>),
    /// A new version, in force for its scope.
    Workflow(Box<Workflow>),
    Activation(WorkflowActivation),
    Deleted {
        kind: &'static str,
        name: String,
    },
}

impl ProposedDocument {
    /// Adds the document to those of a tenant in the proposed configuration.
    pub fn lay_over(&self, tenant: &str, documents: &mut ProposedDocuments) -> Result<(), StoreError> {
        match self {
            Self::Alias(alias) => documents.put(tenant, alias),
            Self::Combo(combo) => documents.put(tenant, combo),
            Self::Guardrail(guardrail) => documents.put::<Guardrail>(tenant, guardrail),
            Self::ModelOverride(document) => documents.put(tenant, document),
            Self::ModelPrice(price) => documents.put::<ModelPrice>(tenant, price),
            Self::Pool(pool) => documents.put(tenant, pool),
            Self::Provider(provider) => documents.put::<Provider>(tenant, provider),
            Self::Workflow(workflow) => {
                documents.put::<Workflow>(tenant, workflow)?;
                documents.put(tenant, &workflow_changes::activation_of(workflow))
            }
            Self::Activation(activation) => documents.put(tenant, activation),
            Self::Deleted { kind, name } => {
                documents.delete(tenant, kind, name);
                Ok(())
            }
        }
    }

    /// Adds the document to the names that models can have, or removes it from them, so that a document of the
    /// configuration file or of the default tenant has its name again. Names of providers are those of the routes.
    pub fn name_in(&self, after: &Snapshot, names: &mut Names) {
        let left = &after.routes.names;
        match self {
            Self::Alias(alias) => _ = names.aliases.insert(alias.name.clone(), alias.clone()),
            Self::Combo(combo) => _ = names.combos.insert(combo.name.clone(), combo.clone()),
            Self::Pool(pool) => _ = names.pools.insert(pool.name.clone(), pool.clone()),
            Self::Deleted { kind: Alias::KIND, name } => {
                restore(&mut names.aliases, name, left.aliases.get(name).cloned());
            }
            Self::Deleted { kind: Combo::KIND, name } => {
                let combo = left.combos.get(name).map(|combo| combo.document.clone());
                restore(&mut names.combos, name, combo);
            }
            Self::Deleted { kind: Pool::KIND, name } => {
                let pool = left.pools.get(name).map(|pool| pool.document.clone());
                restore(&mut names.pools, name, pool);
            }
            _ => {}
        }
    }

    /// Checks the constraints that depend on other documents, among those of the proposed configuration.
    pub fn check(&self, names: &Names, after: &Snapshot) -> Result<(), Fault> {
        match self {
            Self::Alias(alias) => alias.check(names),
            Self::Combo(combo) => combo.check(names),
            Self::Guardrail(guardrail) => guardrail.check(names),
            Self::ModelOverride(document) => document.check(names),
            Self::ModelPrice(price) => price.check(names),
            Self::Pool(pool) => pool.check(names),
            Self::Provider(provider) => names.free(Provider::KIND, &provider.name),
            Self::Workflow(workflow) => {
                workflows::check_provider(&after.routes, &workflow.scope)?;
                let known: Vec<&str> = after.guardrails.names().collect();
                references::check_names(&workflow.workflow_payload, &known)
            }
            Self::Activation(activation) => {
                let id = activation.active.as_deref().unwrap_or_default();
                let guardrails = activation.guardrails.iter().map(String::as_str);
                let exists = |name: &str| after.guardrails.get(name).is_some();
                references::check_existing(id, guardrails, exists).map_err(|fault| fault.param("active"))
            }
            Self::Deleted { .. } => Ok(()),
        }
    }
}

/// Puts the document that is in force after the changes in the place of a deleted one, if there is one.
fn restore<T>(documents: &mut BTreeMap<String, T>, name: &str, left: Option<T>) {
    match left {
        Some(left) => _ = documents.insert(name.to_owned(), left),
        None => _ = documents.remove(name),
    }
}
