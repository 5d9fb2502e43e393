//! Background tasks of the gateway that keep its services up to date. Each runs until the process ends.

use std::sync::Arc;
use std::time::Duration;

use store::Store;

use super::Gateway;
use crate::budgets::alerts;
use crate::services::webhooks::Webhooks;

const KEY_USES_INTERVAL: Duration = Duration::from_secs(30);
const SEMANTIC_INTERVAL: Duration = Duration::from_secs(5);
const RETRY: Duration = Duration::from_secs(1);

/// Stores the uses of keys that leave no receipt.
pub async fn keep_writing_key_uses(gateway: Arc<Gateway>, store: Store) {
    loop {
        tokio::time::sleep(KEY_USES_INTERVAL).await;
        gateway.key_uses.write(&store).await;
    }
}

/// Reads the stored entries of the semantic cache, and then writes the counts of its comparisons. The entries need the
/// identity of the embedder, so that a local one is loaded here, and not by the first call.
pub async fn keep_semantic_cache(gateway: Arc<Gateway>, store: Store) {
    load_semantic_cache(&gateway).await;
    loop {
        tokio::time::sleep(SEMANTIC_INTERVAL).await;
        write_semantic_checks(&gateway, &store).await;
    }
}

/// Reads the stored entries of the semantic cache.
pub async fn load_semantic_cache(gateway: &Arc<Gateway>) {
    let Some(cache) = gateway.semantic_cache.clone() else { return };
    let loading = cache.clone();
    let identity = gateway.tasks.spawn_blocking(move || loading.embedder.identity()).await;
    let embedder = match identity {
        Ok(Ok(embedder)) => embedder,
        Ok(Err(reason)) => {
            // What is missing altogether was reported at the start.
            if cache.embedder.requirement().is_none() {
                tracing::warn!(reason, "embedder of the semantic cache failed");
                cache.record_embedding(Some(reason));
            }
            return;
        }
        Err(_) => return,
    };
    match cache.load(&embedder, gateway.clock.tick(), gateway.clock.now()).await {
        Ok(0) => {}
        Ok(entries) => tracing::info!(entries, embedder, "entries of the semantic cache loaded"),
        Err(error) => tracing::warn!(%error, "entries of the semantic cache could not be loaded"),
    }
}

/// Writes the counts of the comparisons of the semantic cache.
pub async fn write_semantic_checks(gateway: &Gateway, store: &Store) {
    let Some(cache) = &gateway.semantic_cache else { return };
    if let Err(error) = cache.checks().write(store.ledger()).await {
        tracing::warn!(%error, "counts of the semantic cache could not be stored; retrying");
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
