//! The tasks that run beside the calls: discovery, deliveries, deletion of what has expired.

use std::sync::Arc;
use std::time::Duration;

use domain::capability::Capability;
use domain::clock::Timestamp;
use pipeline::budgets;
use pipeline::gateway::{Gateway, background, webhook_events};
use pipeline::refresh::Refresher;
use store::Store;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::assemble::NEVER;
use crate::settings::Settings;

const FOLLOW_INTERVAL: Duration = Duration::from_millis(500);
const HOURLY: Duration = Duration::from_secs(3600);
/// The time between two looks whether a receiver of webhooks is configured.
const RECEIVER_POLL: Duration = Duration::from_secs(2);
/// The most expired rows that are deleted in one step.
const BATCH: i64 = 1000;

#[expect(
    clippy::disallowed_methods,
    reason = "what runs beside the calls is kept by its handle and aborted at the stop"
)]
pub fn spawn(task: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    tokio::spawn(task)
}

/// The settings of background tasks, which a reload can change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackgroundSettings {
    pub model_refresh_interval: Duration,
    /// Days that usage rows are kept; 0 keeps them forever.
    pub usage_days: u32,
    /// Days that audit entries are kept; 0 keeps them forever.
    pub audit_days: u32,
}

impl BackgroundSettings {
    pub fn of(settings: &Settings) -> Self {
        let interval = settings.models.refresh_interval;
        Self {
            model_refresh_interval: if interval.is_zero() { NEVER } else { interval },
            usage_days: settings.usage.retention_days,
            audit_days: settings.logging.retention_days,
        }
    }
}

type Changing = watch::Receiver<BackgroundSettings>;

/// Starts the background tasks.
pub fn start_background(
    settings: &Changing,
    gateway: &Arc<Gateway>,
    refresher: &Arc<Refresher>,
    store: &Store,
) -> Vec<JoinHandle<()>> {
    let mut tasks = vec![
        spawn(keep_discovering(refresher.clone(), settings.clone())),
        spawn(background::keep_retrying_receipts(gateway.clone())),
        spawn(keep_sweeping(gateway.clone())),
        spawn(keep_expiring(gateway.clone(), store.clone())),
        spawn(background::keep_writing_key_uses(gateway.clone(), store.clone())),
        spawn(refresher.clone().keep_following(FOLLOW_INTERVAL)),
        spawn(refresher.clone().keep_fetching_token_keys()),
        spawn(gateway.idempotency.clone().keep_renewing()),
        spawn(store.ledger().clone().keep_compacting(gateway.clock.clone())),
    ];
    if let Some(shared) = gateway.limiter.shared() {
        tasks.push(spawn(shared.redis().clone().keep_connected()));
        tasks.push(spawn(background::keep_sharing_limits(gateway.clone())));
        tasks.push(spawn(background::keep_following_purges(gateway.clone())));
    }
    if gateway.semantic_cache.is_some() {
        tasks.push(spawn(background::keep_semantic_cache(gateway.clone(), store.clone())));
    }
    let has_budgets = gateway.capabilities.has(Capability::AdvancedBudgets);
    let webhooks = refresher.webhooks();
    let delivering = webhooks.clone().keep_delivering();
    match has_budgets {
        true => tasks.push(spawn(delivering)),
        false => tasks.push(spawn(with_receiver(gateway.clone(), delivering))),
    }
    let storing = webhook_events::keep_storing_events(gateway.clone(), webhooks.clone());
    tasks.push(spawn(with_receiver(gateway.clone(), storing)));
    let following = webhook_events::keep_following_changes(gateway.clone(), store.clone(), webhooks.clone());
    tasks.push(spawn(with_receiver(gateway.clone(), following)));
    if has_budgets {
        tasks.push(spawn(budgets::keep_synchronising(
            gateway.budgets.clone(),
            gateway.clock.clone(),
            store.clone(),
        )));
        tasks.push(spawn(background::keep_sending_budget_alerts(gateway.clone(), webhooks)));
    }
    tasks.push(spawn(delete_expired_regularly(gateway.clone(), store.clone(), settings.clone())));
    tasks.push(spawn(keep_pruning(gateway.clone(), store.clone(), settings.clone())));
    tasks
}

/// Runs a task of webhooks once a receiver is configured.
async fn with_receiver(gateway: Arc<Gateway>, task: impl Future<Output = ()>) {
    while gateway.webhook_events.receiver().is_none() {
        tokio::time::sleep(RECEIVER_POLL).await;
    }
    task.await;
}

/// Waits for the time to pass, or for other settings.
async fn pause(time: Duration, settings: &mut Changing) {
    tokio::select! {
        () = tokio::time::sleep(time) => {}
        changed = settings.changed() => if changed.is_err() {
            // The process ends.
            std::future::pending::<()>().await;
        }
    }
}

/// Discovers models at the interval of the settings. A changed interval begins with a discovery.
async fn keep_discovering(refresher: Arc<Refresher>, mut settings: Changing) {
    loop {
        let interval = settings.borrow_and_update().model_refresh_interval;
        let same_interval = async {
            while settings.changed().await.is_ok() {
                if settings.borrow_and_update().model_refresh_interval != interval {
                    return;
                }
            }
            std::future::pending().await
        };
        tokio::select! {
            () = refresher.clone().keep_discovering(interval) => {}
            () = same_interval => {}
        }
    }
}

/// The time before which records are expired; `None` if they are kept forever.
fn expired_before(gateway: &Gateway, days: u32) -> Option<Timestamp> {
    let age = i64::from(days) * 24 * 3600 * 1_000_000;
    (days > 0).then(|| Timestamp(gateway.clock.now().micros() - age))
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
        let sessions = store.sessions();
        if let Err(error) = sessions.expire(gateway.clock.now(), BATCH).await {
            tracing::warn!(%error, "failed to delete expired sessions");
        }
        if let Err(error) = sessions.expire_revocations(gateway.clock.now(), BATCH).await {
            tracing::warn!(%error, "failed to delete revocations of expired tokens");
        }
    }
}

/// Deletes usage rows past their retention, in small batches, and the sums of the semantic cache of that time.
async fn delete_expired_regularly(gateway: Arc<Gateway>, store: Store, mut settings: Changing) {
    loop {
        let days = settings.borrow_and_update().usage_days;
        if let Some(before) = expired_before(&gateway, days) {
            match store.ledger().delete_before(before, 1000).await {
                Ok(0) => {}
                Ok(rows) => tracing::info!(rows, "expired usage rows deleted"),
                Err(error) => tracing::warn!(%error, "failed to delete expired usage rows"),
            }
            if let Err(error) = store.ledger().delete_semantic_checks_before(before).await {
                tracing::warn!(%error, "failed to delete expired sums of the semantic cache");
            }
        }
        pause(HOURLY, &mut settings).await;
    }
}

/// Deletes audit entries past their retention, in small batches, even if the audit log is disabled now.
async fn keep_pruning(gateway: Arc<Gateway>, store: Store, mut settings: Changing) {
    loop {
        let days = settings.borrow_and_update().audit_days;
        if let Some(before) = expired_before(&gateway, days) {
            match store.audit().delete_before(before, 200).await {
                Ok(0) => {}
                Ok(rows) => tracing::info!(rows, "expired audit entries deleted"),
                Err(error) => tracing::warn!(%error, "failed to delete expired audit entries"),
            }
        }
        pause(HOURLY, &mut settings).await;
    }
}
