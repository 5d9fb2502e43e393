//! The documents of tenants, which are laid over those of the default tenant.

use std::collections::{BTreeMap, HashMap};

use domain::capability::Capability;
use domain::resources::Resource as _;
use domain::resources::provider::Provider;
use domain::resources::workflow::WorkflowActivation;
use store::{RawDocument, StoreError};

use super::Refresher;
use super::proposal::ProposedDocuments;
use crate::routing::routes::Routes;

/// The documents that tenants have themselves, by tenant; tenants without one are left out.
#[derive(Default)]
pub struct TenantDocuments(BTreeMap<String, Vec<RawDocument>>);

impl TenantDocuments {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &[RawDocument])> {
        self.0.iter().map(|(tenant, documents)| (tenant.as_str(), documents.as_slice()))
    }

    /// The providers of all tenants.
    pub fn providers(&self) -> Vec<Provider> {
        let documents = self.0.values().flatten().filter(|document| document.kind == Provider::KIND);
        documents.filter_map(|document| store::decode(document).ok()).map(|stored| stored.value).collect()
    }
}

/// Whether a tenant's document is the activation of no workflow: then that of the default tenant is in force.
pub fn is_inactive(document: &RawDocument) -> bool {
    document.kind == WorkflowActivation::KIND
        && store::decode::<WorkflowActivation>(document).is_ok_and(|stored| stored.value.active.is_none())
}

/// The documents of one tenant over those of the default tenant.
#[derive(Clone, Copy)]
pub struct TenantLayer<'a> {
    pub tenant: &'a str,
    pub own: &'a [RawDocument],
    /// The routes of the default tenant.
    pub base: &'a Routes,
    /// The documents of the default tenant, by kind.
    pub inherited: &'a HashMap<&'static str, Vec<RawDocument>>,
}

impl TenantLayer<'_> {
    /// Whether the tenant has a document of one of these kinds.
    pub fn has_any(&self, kinds: &[&str]) -> bool {
        self.own.iter().any(|document| kinds.contains(&&*document.kind))
    }

    pub fn has(&self, kind: &str, name: &str) -> bool {
        self.own.iter().any(|document| document.kind == kind && document.name == name)
    }

    /// The documents of a kind: the tenant's, and those of the default tenant with other names.
    pub fn documents(&self, kind: &str) -> (Vec<RawDocument>, Vec<RawDocument>) {
        let own: Vec<_> = self.own.iter().filter(|document| document.kind == kind).cloned().collect();
        let inherited = self.inherited.get(kind).into_iter().flatten();
        let inherited = inherited.filter(|document| !self.has(kind, &document.name)).cloned().collect();
        (own, inherited)
    }
}

impl Refresher {
    /// Reads the documents of all tenants; none if the edition has no tenants.
    pub(super) async fn tenant_documents(
        &self,
        proposed: Option<&ProposedDocuments>,
    ) -> Result<TenantDocuments, StoreError> {
        if !self.gateway.capabilities.has(Capability::Identity) {
            return Ok(TenantDocuments::default());
        }
        let mut tenants: BTreeMap<String, Vec<RawDocument>> = BTreeMap::new();
        let documents = self.store.documents().of_all_tenants().await?;
        for document in documents.into_iter().filter(|document| !is_inactive(document)) {
            tenants.entry(document.tenant.clone()).or_default().push(document);
        }
        if let Some(proposed) = proposed {
            proposed.lay_over_tenants(&mut tenants, self.gateway.clock.now());
        }
        tenants.retain(|_, documents| !documents.is_empty());
        Ok(TenantDocuments(tenants))
    }
}
