//! Background tasks of the gateway that keep its services up to date. Each runs until the process ends.

use std::sync::Arc;
use std::time::Duration;

use store::{Store, StoreError};

use super::Gateway;
use crate::budgets::alerts;
use crate::services::change_signals::ChangeTrigger;
use crate::services::semantic_cache::{ChangePosition, SemanticCache};
use crate::services::webhooks::Webhooks;

const KEY_USES_INTERVAL: Duration = Duration::from_secs(30);
const SEMANTIC_INTERVAL: Duration = Duration::from_secs(2);
/// The pause after changes that were announced.
const SEMANTIC_PAUSE: Duration = Duration::from_millis(100);
/// Intervals between two counts of the entries in another store.
const MAINTAIN_EVERY: u32 = 30;
/// Steps in which the changes of other processes are read at once.
const MOST_STEPS: usize = 20;
/// Purges of other replicas take effect within this time.
const PURGE_INTERVAL: Duration = Duration::from_millis(500);
const RETRY: Duration = Duration::from_secs(1);
const LOAD_RETRY: Duration = Duration::from_secs(30);

/// Stores the uses of keys that leave no receipt.
pub async fn keep_writing_key_uses(gateway: Arc<Gateway>, store: Store) {
    loop {
        tokio::time::sleep(KEY_USES_INTERVAL).await;
        gateway.key_uses.write(&store).await;
    }
}

/// Reads the stored entries of the semantic cache, and then follows the changes of other processes and writes the counts of
/// its comparisons. The entries need the identity of the embedder, so that a local one is loaded here, and not by the first
/// call.
pub async fn keep_semantic_cache(gateway: Arc<Gateway>, store: Store) {
    let mut position = load_semantic_cache(&gateway).await;
    for tick in (0..MAINTAIN_EVERY).cycle() {
        if let (0, Some(cache)) = (tick, &gateway.semantic_cache) {
            cache.maintain_remote(gateway.clock.now()).await;
        }
        follow_until(&gateway, &mut position, gateway.clock.tick() + SEMANTIC_INTERVAL).await;
        write_semantic_checks(&gateway, &store).await;
        if let Some(position) = &mut position {
            follow_semantic_cache(&gateway, position).await;
        }
    }
}

/// Applies the changes of other processes to the semantic cache when they are announced, until a time.
async fn follow_until(gateway: &Gateway, position: &mut Option<ChangePosition>, end: Duration) {
    loop {
        let left = end.saturating_sub(gateway.clock.tick());
        if gateway.change_signals.semantic_cache(left).await == ChangeTrigger::Poll {
            return;
        }
        if let Some(position) = position {
            follow_semantic_cache(gateway, position).await;
        }
        // Many entries may be written in a short time.
        tokio::time::sleep(SEMANTIC_PAUSE.min(end.saturating_sub(gateway.clock.tick()))).await;
    }
}

/// Reads the stored entries of the semantic cache. Returns the position from which the changes of other processes are
/// followed, if there can be any.
pub async fn load_semantic_cache(gateway: &Arc<Gateway>) -> Option<ChangePosition> {
    let cache = gateway.semantic_cache.clone()?;
    let loading = cache.clone();
    let identity = gateway.tasks.spawn_blocking(move || loading.embedder.identity()).await;
    let embedder = match identity.ok()? {
        Ok(embedder) => embedder,
        Err(reason) => {
            // What is missing altogether was reported at the start.
            if cache.embedder.requirement().is_none() {
                tracing::warn!(reason, "embedder of the semantic cache failed");
                cache.record_embedding(Some(reason));
            }
            return None;
        }
    };
    loop {
        match load_entries(gateway, &cache, &embedder).await {
            Ok(position) => return position,
            Err(error) => {
                tracing::warn!(%error, "entries of the semantic cache could not be loaded; retrying")
            }
        }
        tokio::time::sleep(LOAD_RETRY).await;
    }
}

async fn load_entries(
    gateway: &Gateway,
    cache: &SemanticCache,
    embedder: &str,
) -> Result<Option<ChangePosition>, StoreError> {
    // Before the entries are read, so that no change is missed.
    let position = cache.change_position(embedder, gateway.clock.tick()).await?;
    let entries = cache.load(embedder, gateway.clock.tick(), gateway.clock.now()).await?;
    if entries > 0 {
        tracing::info!(entries, embedder, "entries of the semantic cache loaded");
    }
    Ok(position)
}

/// Applies the changes of other processes to the semantic cache.
pub async fn follow_semantic_cache(gateway: &Gateway, position: &mut ChangePosition) {
    let Some(cache) = &gateway.semantic_cache else { return };
    for _ in 0..MOST_STEPS {
        match cache.apply_changes(position, (gateway.clock.tick(), gateway.clock.now())).await {
            Ok(true) => tokio::task::yield_now().await,
            Ok(false) => return,
            Err(error) => {
                tracing::warn!(%error, "changes of the semantic cache could not be read; retrying");
                return;
            }
        }
    }
}

/// Writes the counts of the comparisons of the semantic cache.
pub async fn write_semantic_checks(gateway: &Gateway, store: &Store) {
    let Some(cache) = &gateway.semantic_cache else { return };
    if let Err(error) = cache.checks().write(store.ledger()).await {
        tracing::warn!(%error, "counts of the semantic cache could not be stored; retrying");
    }
}

/// Shares rate limits through Redis.
pub async fn keep_sharing_limits(gateway: Arc<Gateway>) {
    gateway.limiter.keep_sharing(&*gateway.clock).await;
}

/// Removes the cached answers that other replicas have purged.
pub async fn keep_following_purges(gateway: Arc<Gateway>) {
    loop {
        if let Some(cache) = &gateway.response_cache {
            cache.follow_purges().await;
        }
        tokio::time::sleep(PURGE_INTERVAL).await;
    }
}

/// Writes the receipts that the journal could not take before.
pub async fn keep_retrying_receipts(gateway: Arc<Gateway>) {
    loop {
        tokio::time::sleep(RETRY).await;
        gateway.pending_receipts.retry(&gateway.journal);
    }
}

/// Reports the budget thresholds that are crossed.
pub async fn keep_sending_budget_alerts(gateway: Arc<Gateway>, webhooks: Webhooks) {
    loop {
        gateway.budgets.threshold_crossed().await;
        while let Err(error) =
            alerts::send(&gateway.budgets, &*gateway.clock, &gateway.console, &webhooks).await
        {
            tracing::debug!(%error, "budget alert could not be stored; retrying");
            tokio::time::sleep(RETRY).await;
        }
    }
}
