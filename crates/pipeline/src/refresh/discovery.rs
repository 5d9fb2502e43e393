//! Model discovery: queries providers for their models, and compiles the routes again when the inventory changes.

use std::sync::Arc;
use std::time::Duration;

use store::StoreError;

use super::Refresher;
use super::sections::RouteSections;
use super::tenant_views::AffectedTenants;
use crate::routing::inventory;

impl Refresher {
    /// Queries every provider for its models. If a query fails, the last known list is kept.
    pub async fn discover(&self) {
        let snapshot = self.gateway.snapshot();
        let own = snapshot.routes.instances.values();
        // Those of tenants; what they inherit is among those of the default tenant.
        let of_tenants = snapshot.tenant_views.values().flat_map(|view| view.routes.instances.values());
        let instances: Vec<_> = own.chain(of_tenants.filter(|instance| instance.tenant.is_some())).collect();
        let mut changed = self.inventory.forget_moved(instances.iter().map(|instance| Arc::clone(instance)));
        for instance in instances.into_iter().filter(|instance| inventory::is_discoverable(instance)) {
            let now = self.gateway.clock.now();
            changed |= self.inventory.discover(instance, &self.gateway.egress, now).await;
        }
        if changed && let Err(error) = self.reroute().await {
            tracing::warn!(%error, "route compilation failed");
        }
    }

    /// Queries one provider of a tenant for its models now.
    pub async fn discover_one(&self, tenant: Option<&str>, name: &str) {
        let snapshot = self.gateway.snapshot().seen_by(tenant);
        let Some(instance) = snapshot.routes.instances.get(name).cloned() else { return };
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
        let tenants = self.tenant_documents(None).await?;
        let (routes, errors) = self.routes(&tenants, None, None).await?;
        let mut snapshot = (*self.gateway.snapshot()).clone();
        snapshot.routes = routes;
        snapshot.document_errors.replace_kinds(RouteSections::KINDS, errors);
        snapshot.tenant_views = self.tenant_views(&snapshot, &tenants, &AffectedTenants::All, None).await?;
        self.publish(snapshot);
        Ok(())
    }
}
