//! Access to the documents of one tenant, with those of the default tenant underneath.

use std::sync::Arc;

use domain::resources::Resource;
use pipeline::snapshot::Snapshot;
use store::{Collection, DEFAULT_TENANT, Documents, RawDocument, StoreError, Stored};

use crate::App;

/// The documents that a request reads and writes. It reads the tenant's and, where the tenant has none of that name, the
/// default tenant's; it writes the tenant's.
#[derive(Clone, Copy)]
pub struct TenantAccess<'a> {
    pub app: &'a App,
    tenant: &'a str,
}

impl<'a> TenantAccess<'a> {
    pub fn new(app: &'a App, tenant: Option<&'a str>) -> Self {
        Self { app, tenant: tenant.unwrap_or(DEFAULT_TENANT) }
    }

    /// The documents of the default tenant.
    pub fn of_default(app: &'a App) -> Self {
        Self::new(app, None)
    }

    /// The tenant; `None` for the default tenant.
    pub fn tenant(&self) -> Option<&'a str> {
        Some(self.tenant).filter(|tenant| *tenant != DEFAULT_TENANT)
    }

    /// The configuration in force as the tenant sees it.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.app.gateway.snapshot().seen_by(self.tenant())
    }

    /// The tenant's own documents of a kind.
    pub fn collection<T: Resource>(&self) -> Collection<T> {
        self.app.refresher.store().collection_of(self.tenant)
    }

    /// The tenant's own documents.
    pub fn documents(&self) -> Documents {
        self.app.refresher.store().documents().of_tenant(self.tenant)
    }

    /// All documents of a kind that the tenant sees, by name.
    pub async fn effective<T: Resource>(&self) -> Result<Vec<Stored<T>>, StoreError> {
        self.app.refresher.effective(self.tenant).await
    }

    /// Like `effective`, those that cannot be read included, in no particular order.
    pub async fn effective_raw(&self, kind: &str) -> Result<Vec<RawDocument>, StoreError> {
        self.app.refresher.effective_raw(self.tenant, kind).await
    }

    /// The document of this name that the tenant sees.
    pub async fn find_effective<T: Resource>(&self, name: &str) -> Result<Option<Stored<T>>, StoreError> {
        self.app.refresher.find_effective(self.tenant, name).await
    }

    /// Whether the configuration file has a document of this kind and name for the default tenant. Other tenants
    /// inherit it.
    pub fn is_configured(&self, kind: &str, name: &str) -> bool {
        self.tenant().is_none() && self.app.refresher.is_configured(kind, name)
    }

    /// The document of the configuration file that one of the default tenant overrides, with the revision 0.
    pub fn configured_document<T: Resource>(&self, name: &str) -> Option<Stored<T>> {
        self.app.refresher.configured_document(name).filter(|_| self.tenant().is_none())
    }
}
