//! What other processes see of a call under way: a claim that lapses soon after its process does.

use std::time::Duration;

use domain::clock::Timestamp;

use super::{Idempotency, PATIENCE, Repeatable, limited, rows};

pub const LEASE: Duration = Duration::from_secs(30);
const RENEWAL: Duration = Duration::from_secs(10);
/// So many are renewed in one go.
const AT_ONCE: usize = 64;

impl Idempotency {
    /// False when somebody else has the key. Storage that says nothing does not stop the call.
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
                tracing::warn!(%error, "a repeatable call is known to this process only");
                true
            }
        }
    }

    /// Tells the others of the calls that take long, for as long as they take.
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
                tracing::warn!(%error, "repeatable calls under way could not be announced again");
                return;
            }
        }
    }

    fn lease_end(&self) -> Timestamp {
        Timestamp(self.0.clock.now().micros().saturating_add(LEASE.as_micros() as i64))
    }
}
