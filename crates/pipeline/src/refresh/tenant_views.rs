//! Compilation of the configurations of tenants that have documents of their own.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use store::{Change, RawDocument, StoreError};

use super::Refresher;
use super::proposal::ProposedDocuments;
use super::sections::{RouteSections, WorkflowSections};
use super::tenant_documents::{TenantDocuments, TenantLayer};
use crate::snapshot::{Snapshot, TenantConfiguration};

/// The tenants whose configuration is compiled again.
pub enum AffectedTenants<'a> {
    All,
    Only(BTreeSet<&'a str>),
}

impl<'a> AffectedTenants<'a> {
    /// The tenants that changes of documents of these kinds affect: those of the default tenant affect all.
    pub fn by(changes: &'a [Change], kinds: &[&str]) -> Self {
        let changed = changes.iter().filter(|change| kinds.contains(&&*change.kind));
        let tenants: BTreeSet<&str> = changed.map(|change| &*change.tenant).collect();
        if tenants.contains(store::DEFAULT_TENANT) { Self::All } else { Self::Only(tenants) }
    }

    fn include(&self, tenant: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(tenants) => tenants.contains(tenant),
        }
    }
}

impl Refresher {
    /// Compiles the configurations of tenants over the one of the default tenant; those that are not affected stay as
    /// they are. With proposed documents, they are not put in force.
    pub(super) async fn tenant_views(
        &self,
        base: &Snapshot,
        tenants: &TenantDocuments,
        affected: &AffectedTenants<'_>,
        proposed: Option<&ProposedDocuments>,
    ) -> Result<Arc<BTreeMap<String, Arc<Snapshot>>>, StoreError> {
        if tenants.is_empty() {
            return Ok(Arc::default());
        }
        let inherited = self.inherited_documents(proposed).await?;
        let mut views = BTreeMap::new();
        for (tenant, own) in tenants.iter() {
            let view = match base.tenant_views.get(tenant).filter(|_| !affected.include(tenant)) {
                Some(known) => known.clone(),
                None => {
                    let layer = TenantLayer { tenant, own, base: &base.routes, inherited: &inherited };
                    base.with(self.tenant_configuration(base, layer, tenants, proposed).await?)
                }
            };
            views.insert(tenant.to_owned(), view);
        }
        Ok(Arc::new(views))
    }

    /// The documents of the default tenant that tenants see, by kind.
    async fn inherited_documents(
        &self,
        proposed: Option<&ProposedDocuments>,
    ) -> Result<HashMap<&'static str, Vec<RawDocument>>, StoreError> {
        let compilation = self.compilation(&[], proposed, None);
        let mut documents = HashMap::new();
        for kind in RouteSections::KINDS.iter().chain(WorkflowSections::KINDS) {
            documents.insert(*kind, compilation.documents_of_default_tenant(kind).await?);
        }
        Ok(documents)
    }

    /// Compiles what documents of a tenant change; the rest is that of the default tenant.
    async fn tenant_configuration(
        &self,
        base: &Snapshot,
        layer: TenantLayer<'_>,
        tenants: &TenantDocuments,
        proposed: Option<&ProposedDocuments>,
    ) -> Result<TenantConfiguration, StoreError> {
        let mut own = TenantConfiguration {
            routes: base.routes.clone(),
            guardrails: base.guardrails.clone(),
            workflows: base.workflows.clone(),
            document_errors: Default::default(),
        };
        if layer.has_any(RouteSections::KINDS) {
            let (routes, errors) = self.routes(tenants, Some(layer), proposed).await?;
            own.routes = routes;
            own.document_errors.replace_kinds(RouteSections::KINDS, errors);
        }
        if layer.has_any(WorkflowSections::KINDS) {
            let (guardrails, workflows, errors) = self.workflows(Some(layer), proposed).await?;
            (own.guardrails, own.workflows) = (guardrails, workflows);
            own.document_errors.replace_kinds(WorkflowSections::KINDS, errors);
        }
        Ok(own)
    }
}
