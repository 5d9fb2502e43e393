//! Live reload of the static configuration.

use std::sync::Arc;

use store::StoreError;

use super::{BUDGETED, ROUTED, Refresher, StaticConfig};
use crate::snapshot::Snapshot;
use crate::snapshot::unreadable::Unreadable;

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
        let (mut in_routes, mut in_budgets) = (Unreadable::default(), Unreadable::default());
        let routes = Arc::new(self.routes(&mut in_routes).await?);
        self.budgets(&mut in_budgets).await?;
        let mut snapshot = (*self.gateway.snapshot()).clone();
        snapshot.broken.replace(ROUTED, in_routes);
        snapshot.broken.replace(BUDGETED, in_budgets);
        self.gateway.snapshot.store(Arc::new(Snapshot { routes, master, ..snapshot }));
        Ok(())
    }
}
