//! The tasks that run beside the calls: discovery, deliveries, deletion of what has expired.

use std::sync::Arc;
use std::time::Duration;

use domain::capability::Capability;
use pipeline::budgets;
use pipeline::gateway::{Gateway, background, webhook_events};
use pipeline::refresh::Refresher;
use store::Store;
use tokio::task::JoinHandle;

use super::assemble::NEVER;
use crate::settings::Settings;

const FOLLOW_INTERVAL: Duration = Duration::from_millis(500);
const HOURLY: Duration = Duration::from_secs(3600);

#[expect(
    clippy::disallowed_methods,
    reason = "what runs beside the calls is kept by its handle and aborted at the stop"
)]
pub fn spawn(task: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    tokio::spawn(task)
}

/// Starts the tasks that the settings ask for.
pub fn start_background(
    settings: &Settings,
    gateway: &Arc<Gateway>,
    refresher: &Arc<Refresher>,
    store: &Store,
) -> Vec<JoinHandle<()>> {
    let interval = settings.models.refresh_interval;
    let interval = if interval.is_zero() { NEVER } else { interval };
    let mut tasks = vec![
        spawn(refresher.clone().keep_discovering(interval)),
        spawn(background::keep_retrying_receipts(gateway.clone())),
        spawn(keep_sweeping(gateway.clone())),
        spawn(keep_expiring(gateway.clone(), store.clone())),
        spawn(background::keep_writing_key_uses(gateway.clone(), store.clone())),
        spawn(refresher.clone().keep_following(FOLLOW_INTERVAL)),
        spawn(refresher.clone().keep_fetching_token_keys()),
        spawn(gateway.idempotency.clone().keep_renewing()),
        spawn(store.ledger().clone().keep_compacting(gateway.clock.clone())),
    ];
    if gateway.semantic_cache.is_some() {
        tasks.push(spawn(background::keep_semantic_cache(gateway.clone(), store.clone())));
    }
    let has_budgets = gateway.capabilities.has(Capability::AdvancedBudgets);
    let has_receiver = gateway.webhook_events.receiver().is_some();
    let webhooks = refresher.webhooks();
    if has_budgets || has_receiver {
        tasks.push(spawn(webhooks.clone().keep_delivering()));
    }
    if has_receiver {
        tasks.push(spawn(webhook_events::keep_storing_events(gateway.clone(), webhooks.clone())));
        tasks.push(spawn(webhook_events::keep_following_changes(
            gateway.clone(),
            store.clone(),
            webhooks.clone(),
        )));
    }
    if has_budgets {
        tasks.push(spawn(budgets::keep_synchronising(
            gateway.budgets.clone(),
            gateway.clock.clone(),
            store.clone(),
        )));
        tasks.push(spawn(background::keep_sending_budget_alerts(gateway.clone(), webhooks)));
    }
    if settings.usage.retention_days > 0 {
        tasks.push(spawn(delete_expired_regularly(
            gateway.clone(),
            store.clone(),
            settings.usage.retention_days,
        )));
    }
    if settings.logging.retention_days > 0 {
        tasks.push(spawn(keep_pruning(gateway.clone(), store.clone(), settings.logging.retention_days)));
    }
    tasks
}

/// Closes idle connections to providers.
async fn keep_sweeping(gateway: Arc<Gateway>) {
    loop {
        tokio::time::sleep(Duration::from_secs(30)).await;
        gateway.egress.sweep();
    }
}

/// Deletes expired responses, idempotent answers, entries of the semantic cache and sessions.
async fn keep_expiring(gateway: Arc<Gateway>, store: Store) {
    loop {
        tokio::time::sleep(HOURLY).await;
        match gateway.responses.expire(gateway.clock.now()).await {
            Ok(0) => {}
            Ok(count) => tracing::info!(count, "expired responses deleted"),
            Err(error) => tracing::warn!(%error, "failed to delete expired responses"),
        }
        match gateway.idempotency.expire(gateway.clock.now()).await {
            Ok(0) => {}
            Ok(count) => tracing::info!(count, "expired idempotent answers deleted"),
            Err(error) => tracing::warn!(%error, "failed to delete expired idempotent answers"),
        }
        match store.semantic_entries().expire(gateway.clock.now()).await {
            Ok(0) => {}
            Ok(count) => tracing::info!(count, "expired entries of the semantic cache deleted"),
            Err(error) => tracing::warn!(%error, "failed to delete expired entries of the semantic cache"),
        }
        if let Err(error) = store.sessions().expire(gateway.clock.now()).await {
            tracing::warn!(%error, "failed to delete expired sessions");
        }
    }
}

/// Deletes usage rows past their retention, in small batches, and the sums of the semantic cache of that time.
async fn delete_expired_regularly(gateway: Arc<Gateway>, store: Store, days: u32) {
    loop {
        let age = i64::from(days) * 24 * 3600 * 1_000_000;
        let before = domain::clock::Timestamp(gateway.clock.now().micros() - age);
        match store.ledger().delete_before(before, 1000).await {
            Ok(0) => {}
            Ok(rows) => tracing::info!(rows, "expired usage rows deleted"),
            Err(error) => tracing::warn!(%error, "failed to delete expired usage rows"),
        }
        if let Err(error) = store.ledger().delete_semantic_checks_before(before).await {
            tracing::warn!(%error, "failed to delete expired sums of the semantic cache");
        }
        tokio::time::sleep(HOURLY).await;
    }
}

/// Deletes audit entries past their retention, in small batches, even if the audit log is disabled now.
async fn keep_pruning(gateway: Arc<Gateway>, store: Store, days: u32) {
    loop {
        let age = i64::from(days) * 24 * 3600 * 1_000_000;
        let before = domain::clock::Timestamp(gateway.clock.now().micros() - age);
        match store.audit().delete_before(before, 200).await {
            Ok(0) => {}
            Ok(rows) => tracing::info!(rows, "expired audit entries deleted"),
            Err(error) => tracing::warn!(%error, "failed to delete expired audit entries"),
        }
        tokio::time::sleep(HOURLY).await;
    }
}
