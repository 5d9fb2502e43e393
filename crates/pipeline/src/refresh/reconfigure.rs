//! Live reload of the static configuration.

use std::sync::Arc;

use store::StoreError;

use super::sections::{BudgetSections, RouteSections};
use super::{Refresher, StaticConfig};
use crate::snapshot::Snapshot;

impl Refresher {
    pub fn configuration(&self) -> StaticConfig {
        (*self.fixed()).clone()
    }

    /// Applies another configuration and master key. Calls in progress keep the snapshot they started with. On an
    /// error the old configuration stays in force.
    pub async fn reconfigure(&self, configuration: StaticConfig, master: [u8; 32]) -> Result<(), StoreError> {
        let _turn = self.turn.lock().await;
        let before = self.fixed.swap(Arc::new(configuration));
        let compiled = self.recompile(master).await;
        if compiled.is_err() {
            self.fixed.store(before);
        }
        compiled
    }

    /// Compiles budgets last: the steps before have no side effects if one of them fails.
    async fn recompile(&self, master: [u8; 32]) -> Result<(), StoreError> {
        let (routes, in_routes) = self.routes().await?;
        let in_budgets = self.budgets().await?;
        let mut snapshot = (*self.gateway.snapshot()).clone();
        snapshot.document_errors.replace_kinds(RouteSections::KINDS, in_routes);
        snapshot.document_errors.replace_kinds(BudgetSections::KINDS, in_budgets);
        self.publish(Snapshot { routes, master, ..snapshot });
        Ok(())
    }
}
