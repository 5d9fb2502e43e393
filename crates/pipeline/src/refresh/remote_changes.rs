//! Changes of other processes: applied at a notice, and found by polling in case that notices are lost.

use std::sync::Arc;
use std::time::Duration;

use store::StoreError;

use super::Refresher;

impl Refresher {
    /// Applies the changes of other processes, at the latest after `interval`. A file database is queried only if its
    /// files may have changed, which keeps an idle process cheap.
    pub async fn keep_following(self: Arc<Self>, interval: Duration) {
        let signals = &self.gateway.change_signals;
        let mut seen = None;
        loop {
            let trigger = signals.configuration(interval).await;
            let stamp = self.store.stamp();
            if stamp.is_some_and(|stamp| stamp.is_still(seen.as_ref(), self.gateway.clock.now())) {
                continue;
            }
            match self.follow().await {
                Ok(found) => {
                    seen = stamp;
                    if found {
                        signals.record_found(trigger);
                    }
                }
                Err(error) => tracing::debug!(%error, "configuration revision check failed"),
            }
        }
    }

    /// Applies changes of documents, sessions and revoked tokens; returns whether there were any.
    async fn follow(&self) -> Result<bool, StoreError> {
        let mut found = false;
        if self.store.sessions().newest_change().await? != self.gateway.snapshot().identities.sessions.seq {
            self.refresh_sessions().await?;
            found = true;
        }
        if self.store.documents().revision().await? <= self.gateway.snapshot().revision {
            return Ok(found);
        }
        self.refresh().await.inspect_err(|error| {
            tracing::warn!(%error, "configuration refresh failed");
        })?;
        Ok(true)
    }
}
