//! Model discovery: queries providers for their models, and compiles the routes again when the inventory changes.

use std::sync::Arc;
use std::time::Duration;

use store::StoreError;

use super::Refresher;
use super::sections::RouteSections;
use crate::routing::inventory;

impl Refresher {
    /// Queries every provider for its models. If a query fails, the last known list is kept.
    pub async fn discover(&self) {
        let routes = self.gateway.snapshot().routes.clone();
        let mut changed = self.inventory.forget_moved(routes.instances.values().cloned());
        for instance in routes.instances.values().filter(|instance| inventory::is_discoverable(instance)) {
            let now = self.gateway.clock.now();
            changed |= self.inventory.discover(instance, &self.gateway.egress, now).await;
        }
        if changed && let Err(error) = self.reroute().await {
            tracing::warn!(%error, "route compilation failed");
        }
    }

    /// Queries one provider for its models now.
    pub async fn discover_one(&self, name: &str) {
        let Some(instance) = self.gateway.snapshot().routes.instances.get(name).cloned() else { return };
        if !inventory::is_discoverable(&instance) {
            return;
        }
        self.inventory.forget_moved(std::iter::once(instance.clone()));
        let now = self.gateway.clock.now();
        if self.inventory.discover(&instance, &self.gateway.egress, now).await
            && let Err(error) = self.reroute().await
        {
            tracing::warn!(%error, "route compilation failed");
        }
    }

    /// Runs discovery at startup and at every interval.
    pub async fn keep_discovering(self: Arc<Self>, interval: Duration) {
        loop {
            self.discover().await;
            tokio::time::sleep(interval).await;
        }
    }

    /// Compiles the routes again from the same documents, after the inventory changed.
    async fn reroute(&self) -> Result<(), StoreError> {
        let _turn = self.turn.lock().await;
        let (routes, errors) = self.routes().await?;
        let mut snapshot = (*self.gateway.snapshot()).clone();
        snapshot.routes = routes;
        snapshot.document_errors.replace_kinds(RouteSections::KINDS, errors);
        self.publish(snapshot);
        Ok(())
    }
}
