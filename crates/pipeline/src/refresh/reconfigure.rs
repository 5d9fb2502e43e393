//! Live reload of the static configuration.

use std::sync::Arc;

use domain::resources::Resource as _;
use domain::resources::auth_key::AuthKey;
use store::StoreError;

use super::sections::{AuthKeys, BudgetSections, RouteSections, WorkflowSections};
use super::tenant_views::AffectedTenants;
use super::{Refresher, StaticConfig};
use crate::services::token_issuers::TokenIssuers;
use crate::snapshot::Snapshot;
use crate::snapshot::keys::Keys;

impl Refresher {
    pub fn configuration(&self) -> StaticConfig {
        (*self.fixed()).clone()
    }

    /// Applies another configuration and master key. Calls in progress keep the snapshot they started with. On an
    /// error the old configuration stays in force.
    pub async fn reconfigure(&self, configuration: StaticConfig, master: [u8; 32]) -> Result<(), StoreError> {
        let _turn = self.turn.lock().await;
        let before = self.fixed.swap(Arc::new(configuration));
        let compiled = self.recompile(master, &before).await;
        if compiled.is_err() {
            self.fixed.store(before);
        }
        compiled
    }

    /// Compiles budgets last: the steps before have no side effects if one of them fails.
    async fn recompile(&self, master: [u8; 32], before: &StaticConfig) -> Result<(), StoreError> {
        let tenants = self.tenant_documents(None).await?;
        let (routes, in_routes) = self.routes(&tenants, None, None).await?;
        let (guardrails, workflows, in_workflows) = self.workflows(None, None).await?;
        let mut compilation = self.compilation(&[], None, None);
        let mut keys = Keys::default();
        keys.apply(compilation.load::<AuthKeys>().await?);
        let in_keys = compilation.errors;
        let current = (*self.gateway.snapshot()).clone();
        let mut snapshot = Snapshot { routes, guardrails, workflows, keys, master, ..current };
        snapshot.tenant_views = self.tenant_views(&snapshot, &tenants, &AffectedTenants::All, None).await?;
        let in_budgets = self.budgets().await?;
        snapshot.document_errors.replace_kinds(WorkflowSections::KINDS, in_workflows);
        snapshot.document_errors.replace_kinds(&[AuthKey::KIND], in_keys);
        snapshot.document_errors.replace_kinds(RouteSections::KINDS, in_routes);
        snapshot.document_errors.replace_kinds(BudgetSections::KINDS, in_budgets);
        let fixed = self.fixed();
        if fixed.token_issuers != before.token_issuers {
            // Tokens that were verified before are verified again: their issuer may be gone or have other rules.
            snapshot.identities.token_issuers = Arc::new(TokenIssuers::new(fixed.token_issuers.clone()));
        }
        self.publish(snapshot);
        Ok(())
    }
}
