//! The compiled configuration in force: immutable, replaced as a whole, and pinned by each call.

pub mod document_errors;
pub mod guardrails;
pub mod identities;
pub mod keys;
pub mod section;
pub mod workflows;

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::clock::Timestamp;

use crate::routing::routes::Routes;
use document_errors::{DocumentError, DocumentErrors};
use guardrails::Guardrails;
use identities::Identities;
use keys::Keys;
use workflows::Workflows;

#[derive(Clone)]
pub struct Snapshot {
    /// The storage revision this was compiled from.
    pub revision: i64,
    pub compiled_at: Timestamp,
    /// SHA-256 of the master key.
    pub master: [u8; 32],
    pub keys: Keys,
    /// Sessions, users and tokens.
    pub identities: Identities,
    pub routes: Arc<Routes>,
    pub guardrails: Arc<Guardrails>,
    pub workflows: Arc<Workflows>,
    /// Documents that do not compile. They are reported and do not affect the others.
    pub document_errors: DocumentErrors,
    /// The configurations of the tenants that have documents of their own: the documents of the default tenant, and
    /// the tenant's in place of those of the same kind and name. They have no views themselves, and their document
    /// errors are those of the tenant's documents.
    pub tenant_views: Arc<BTreeMap<String, Arc<Snapshot>>>,
}

/// The part of a configuration that documents of a tenant can change.
pub struct TenantConfiguration {
    pub routes: Arc<Routes>,
    pub guardrails: Arc<Guardrails>,
    pub workflows: Arc<Workflows>,
    pub document_errors: DocumentErrors,
}

impl Snapshot {
    /// The configuration of a tenant, if it has documents of its own.
    pub fn tenant_view(&self, tenant: Option<&str>) -> Option<&Arc<Self>> {
        // Most installations have none: then no tenant is looked up.
        if self.tenant_views.is_empty() {
            return None;
        }
        self.tenant_views.get(tenant?)
    }

    /// The configuration as the callers of a tenant see it.
    pub fn seen_by(self: Arc<Self>, tenant: Option<&str>) -> Arc<Self> {
        match self.tenant_view(tenant) {
            Some(view) => view.clone(),
            None => self,
        }
    }

    /// The configuration of a tenant over this one.
    pub fn with(&self, own: TenantConfiguration) -> Arc<Self> {
        let TenantConfiguration { routes, guardrails, workflows, document_errors } = own;
        let tenant_views = Arc::default();
        Arc::new(Self { routes, guardrails, workflows, document_errors, tenant_views, ..self.clone() })
    }

    /// Gives the views of tenants the keys, identities and revision of this configuration.
    pub fn update_views(&mut self) {
        if self.tenant_views.is_empty() {
            return;
        }
        let updated = self.tenant_views.iter().map(|(tenant, view)| {
            let own = TenantConfiguration {
                routes: view.routes.clone(),
                guardrails: view.guardrails.clone(),
                workflows: view.workflows.clone(),
                document_errors: view.document_errors.clone(),
            };
            (tenant.clone(), self.with(own))
        });
        self.tenant_views = Arc::new(updated.collect());
    }

    /// The errors of all documents, with the tenant that each belongs to; empty for the default tenant.
    pub fn all_document_errors(&self) -> impl Iterator<Item = (&str, DocumentError<'_>)> {
        let of_tenants = self
            .tenant_views
            .iter()
            .flat_map(|(tenant, view)| view.document_errors.iter().map(|error| (tenant.as_str(), error)));
        self.document_errors.iter().map(|error| ("", error)).chain(of_tenants)
    }
}
