//! Background tasks of a replica: heartbeats in the table of replicas, and the connection that receives notices of
//! changes. Both end at once on SQLite.

use std::sync::Arc;
use std::time::Duration;

use domain::clock::Timestamp;
use store::{ChangedData, Replica, Store};

use super::Gateway;
use crate::services::change_signals::ListenerState;

/// A replica counts as live for five seconds after a heartbeat, so that it may miss several.
const HEARTBEAT: Duration = Duration::from_secs(1);
const FORGET_INTERVAL: Duration = Duration::from_secs(3600);
const RECONNECT: Duration = Duration::from_secs(1);

/// The facts about this process that other replicas are told.
#[derive(Clone, Debug, Default)]
pub struct ReplicaIdentity {
    /// The name of the machine or container.
    pub host: String,
    pub pid: u32,
    pub version: &'static str,
    pub started_at: Timestamp,
}

/// The row of this process in the table of replicas.
pub fn own_row(gateway: &Gateway, draining: bool) -> Replica {
    let ReplicaIdentity { host, pid, version, started_at } = gateway.replica.clone();
    let version = version.to_owned();
    let journal = gateway.journal.name().to_owned();
    Replica { journal, host, pid, version, started_at, draining, lag: gateway.journal.lag() }
}

/// Registers this process and counts the live replicas, at once and at every heartbeat.
pub async fn keep_registered(gateway: Arc<Gateway>, store: Store, is_draining: impl Fn() -> bool) {
    let replicas = store.replicas();
    if !replicas.is_shared() {
        return;
    }
    let mut forget_at = gateway.clock.tick();
    loop {
        // While storage is unavailable, the last count is kept.
        match replicas.beat(&own_row(&gateway, is_draining())).await {
            Ok(live) => {
                gateway.limiter.live_replicas().set(live);
                gateway.budgets.set_live_replicas(live);
            }
            Err(error) => tracing::debug!(%error, "heartbeat of this replica failed"),
        }
        if gateway.clock.tick() >= forget_at {
            forget_at = gateway.clock.tick() + FORGET_INTERVAL;
            match replicas.forget_vanished().await {
                Ok(0) => {}
                Ok(count) => tracing::info!(count, "rows of vanished replicas deleted"),
                Err(error) => tracing::debug!(%error, "deleting vanished replicas failed"),
            }
        }
        tokio::time::sleep(HEARTBEAT).await;
    }
}

/// Receives notices of changes and wakes their followers. A lost connection is replaced; until then, the followers find
/// changes by polling.
pub async fn keep_listening(gateway: Arc<Gateway>, store: Store) {
    let signals = &gateway.change_signals;
    let mut failing = false;
    loop {
        match store.listen_for_changes().await {
            Ok(None) => return,
            Ok(Some(mut listener)) => {
                signals.set_listener(ListenerState::Up);
                if std::mem::take(&mut failing) {
                    tracing::info!("connection for change notices restored");
                }
                // Changes that were made while there was no connection.
                ChangedData::ALL.into_iter().for_each(|data| signals.wake(data));
                loop {
                    match listener.next().await {
                        Ok(ChangedData::BudgetLeases) => gateway.budgets.lease_notified(gateway.clock.tick()),
                        Ok(ChangedData::Replicas) => gateway.budgets.notices_arrive(gateway.clock.tick()),
                        Ok(data) => signals.wake(data),
                        Err(error) => {
                            tracing::warn!(%error, "connection for change notices lost; polling");
                            break;
                        }
                    }
                }
            }
            Err(error) if !failing => tracing::warn!(%error, "no connection for change notices; polling"),
            Err(_) => {}
        }
        failing = true;
        signals.set_listener(ListenerState::Down);
        gateway.budgets.lease_notifications_lost();
        tokio::time::sleep(RECONNECT).await;
    }
}
