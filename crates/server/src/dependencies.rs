//! The state of everything that the gateway depends on, for `/ready` and the runtime status.

pub mod providers;

use std::sync::Arc;
use std::time::Duration;

use pipeline::routing::routes::Routes;
use pipeline::snapshot::Snapshot;

use crate::App;

pub const OK: &str = "ok";
pub const DEGRADED: &str = "degraded";
pub const DOWN: &str = "down";
pub const DRAINING: &str = "draining";

/// The state of each dependency: ok, degraded or down.
pub struct Dependencies {
    pub storage: &'static str,
    pub journal: &'static str,
    /// Degraded while a stored document does not compile.
    pub configuration: &'static str,
    pub providers: &'static str,
    /// Degraded while budgets that replicas share cannot be leased.
    pub budget_leases: &'static str,
    /// Redis; degraded while each of several replicas enforces its share of rate limits, without Redis or while it is not
    /// available.
    pub shared_store: &'static str,
}

impl Dependencies {
    pub async fn check(app: &Arc<App>, snapshot: &Snapshot) -> Self {
        let ping = tokio::time::timeout(app.config.probe_timeout, app.refresher.store().ping()).await;
        let space = disk_space(app).await;
        // A database may be readable and not writable: locked, full, or read-only.
        let storage = match ping {
            Ok(Ok(())) if app.gateway.journal.is_stuck() || !space.database => DEGRADED,
            Ok(Ok(())) => OK,
            _ => DOWN,
        };
        let journal = if app.gateway.pending_receipts.is_empty() && space.journal { OK } else { DEGRADED };
        let configuration = if snapshot.document_errors.is_empty() { OK } else { DEGRADED };
        let leases = app.gateway.budgets.lease_summary(app.gateway.clock.tick());
        let budget_leases = if leases.is_some_and(|leases| leases.is_failing) { DEGRADED } else { OK };
        let limiter = &app.gateway.limiter;
        let is_exact = match limiter.shared() {
            Some(shared) => shared.is_shared(),
            None => limiter.live_replicas().get() == 1,
        };
        let shared_store = if is_exact { OK } else { DEGRADED };
        let providers = providers_state(app, &snapshot.routes);
        Self { storage, journal, configuration, providers, budget_leases, shared_store }
    }

    /// The state of the gateway: ok, degraded, draining, or down if no provider is available and one is required.
    pub fn status(&self, app: &App) -> &'static str {
        let all = [
            self.storage,
            self.journal,
            self.configuration,
            self.providers,
            self.budget_leases,
            self.shared_store,
        ];
        match app.is_draining() {
            true => DRAINING,
            false if app.config.ready_needs_provider && self.providers == DOWN => DOWN,
            false if all.iter().all(|state| *state == OK) => OK,
            false => DEGRADED,
        }
    }
}

/// The state of all providers: down when none can be called, because of open circuit breakers or cooldowns, or because
/// there is none.
fn providers_state(app: &App, routes: &Routes) -> &'static str {
    let states: Vec<&str> =
        routes.instances.values().filter_map(|instance| providers::readiness(app, instance)).collect();
    if states.iter().all(|state| *state == DOWN) {
        DOWN
    } else if states.iter().all(|state| *state == OK) {
        OK
    } else {
        DEGRADED
    }
}

/// Whether the disks of database and journal accept writes.
#[derive(Clone, Copy)]
pub struct DiskSpace {
    database: bool,
    journal: bool,
}

/// Minimum time between two disk probes: `/ready` is public.
const PROBE_INTERVAL: Duration = Duration::from_secs(2);

/// Returns the latest probe result, renewed when it is old. A disk that does not respond in time counts as full.
async fn disk_space(app: &Arc<App>) -> DiskSpace {
    let now = app.gateway.clock.tick();
    // The lock is held across the probe, so that concurrent requests wait for one result instead of starting more
    // probes.
    let mut last = app.disk_space.lock().await;
    if let Some((at, space)) = *last
        && now.saturating_sub(at) < PROBE_INTERVAL
    {
        return space;
    }
    let (store, journal) = (app.refresher.store().clone(), app.gateway.journal.clone());
    let probe = app
        .gateway
        .tasks
        .spawn_blocking(move || DiskSpace { database: store.has_room(), journal: journal.has_room() });
    let space = match tokio::time::timeout(app.config.probe_timeout, probe).await {
        Ok(Ok(space)) => space,
        _ => DiskSpace { database: false, journal: false },
    };
    *last = Some((now, space));
    space
}
