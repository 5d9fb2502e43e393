//! Leases of calls in progress, visible to other processes; they expire shortly after their process ends.

use std::time::Duration;

use domain::clock::Timestamp;

use super::{Idempotency, PATIENCE, Repeatable, limited, rows};

pub const LEASE: Duration = Duration::from_secs(30);
const RENEWAL: Duration = Duration::from_secs(10);
/// Number of leases renewed per transaction.
const AT_ONCE: usize = 64;

impl Idempotency {
    /// Records the claim in storage; false if another process has the key. If storage fails, the call proceeds.
    pub(super) async fn lease(&self, call: &Repeatable, released: Option<&str>) -> bool {
        let inner = &self.0;
        let claiming = rows::claim(&inner.database, call, released, inner.clock.now(), self.lease_end());
        match limited(PATIENCE, claiming).await {
            Ok(true) => {
                if let Some(running) = inner.running.lock().get_mut(&call.id) {
                    running.leased = true;
                }
                true
            }
            Ok(false) => false,
            Err(error) => {
                tracing::warn!(%error, "idempotency lease failed, key held by this process only");
                true
            }
        }
    }

    /// Renews the leases of long calls periodically.
    pub async fn keep_renewing(self) {
        loop {
            tokio::time::sleep(RENEWAL).await;
            self.renew().await;
        }
    }

    pub(super) async fn renew(&self) {
        let now = self.0.clock.tick();
        let long: Vec<Repeatable> = {
            let running = self.0.running.lock();
            let long = running
                .values()
                .filter(|running| running.leased && now.saturating_sub(running.since) >= RENEWAL);
            long.map(|running| running.call.clone()).collect()
        };
        for calls in long.chunks(AT_ONCE) {
            if let Err(error) = rows::renew(&self.0.database, calls, self.lease_end()).await {
                tracing::warn!(%error, "renewing idempotency leases failed");
                return;
            }
        }
    }

    fn lease_end(&self) -> Timestamp {
        Timestamp(self.0.clock.now().micros().saturating_add(LEASE.as_micros() as i64))
    }
}
