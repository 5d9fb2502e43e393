//! Background tasks of the gateway that keep its services up to date. Each runs until the process ends.

use std::sync::Arc;
use std::time::Duration;

use store::Store;

use super::Gateway;
use crate::budgets::alerts;
use crate::services::webhooks::Webhooks;

const KEY_USES_INTERVAL: Duration = Duration::from_secs(30);
const RETRY: Duration = Duration::from_secs(1);

/// Stores the uses of keys that leave no receipt.
pub async fn keep_writing_key_uses(gateway: Arc<Gateway>, store: Store) {
    loop {
        tokio::time::sleep(KEY_USES_INTERVAL).await;
        gateway.key_uses.write(&store).await;
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
