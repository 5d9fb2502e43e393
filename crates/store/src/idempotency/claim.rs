//! A claimed key: held by one call until it is answered, and released when the call fails.

use std::time::Duration;

use domain::clock::Timestamp;

use super::rows::{self, Row};
use super::{Claimed, Idempotency, KeptAnswer, Outcome, Record, Repeatable};

/// A call in progress in this process.
pub struct Running {
    pub call: Repeatable,
    pub since: Duration,
    /// True if the claim is recorded in storage.
    pub leased: bool,
}

impl Running {
    pub fn answers(&self, call: &Repeatable) -> Claimed {
        if self.call.fingerprint == call.fingerprint { Claimed::Running } else { Claimed::Mismatch }
    }
}

/// True if the claim has expired, or belongs to an attempt of this process that failed.
pub fn is_free(row: &Row, released: Option<&str>, now: Timestamp) -> bool {
    row.expires_at <= now || (row.state == rows::RUNNING && released == Some(row.claim.as_str()))
}

/// The exclusive right to execute a call; released on drop.
pub struct Claim {
    keys: Idempotency,
    call: Option<Repeatable>,
}

impl Claim {
    /// `None` if another call in this process has the key.
    pub(super) fn take(keys: &Idempotency, call: &Repeatable) -> Option<Self> {
        let mut running = keys.0.running.lock();
        if running.contains_key(&call.id) {
            return None;
        }
        let since = keys.0.clock.tick();
        running.insert(call.id.clone(), Running { call: call.clone(), since, leased: false });
        Some(Self { keys: keys.clone(), call: Some(call.clone()) })
    }

    /// Records that the call was answered. Repeated calls get this response, or `NotKept` if it is `None`.
    pub fn keep(mut self, answer: Option<KeptAnswer>, ttl: Duration) {
        let outcome = answer.map_or(Outcome::NotKept, Outcome::Kept);
        self.end(outcome, ttl);
    }

    /// Drops the claim without an outcome, because the call was not executed.
    pub(super) fn give_up(mut self) {
        if let Some(call) = self.call.take() {
            self.keys.0.running.lock().remove(&call.id);
        }
    }

    fn end(&mut self, outcome: Outcome, ttl: Duration) {
        let Some(call) = self.call.take() else { return };
        let id = call.id.clone();
        let ttl = i64::try_from(ttl.as_micros()).unwrap_or(i64::MAX);
        let expires_at = Timestamp(self.keys.0.clock.now().micros().saturating_add(ttl));
        // In this order, so that the call is visible at every moment: queued first, then no longer running.
        self.keys.0.backlog.put(Record { call, outcome, expires_at });
        self.keys.0.running.lock().remove(&id);
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.end(Outcome::Released, super::lease::LEASE);
    }
}
