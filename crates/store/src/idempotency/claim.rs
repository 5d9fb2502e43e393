//! A key in use: held by one call until it is answered, given back when that comes to nothing.

use std::time::Duration;

use domain::clock::Timestamp;

use super::rows::{self, Row};
use super::{Claimed, Idempotency, KeptAnswer, Outcome, Record, Repeatable};

/// A call of this process that is under way.
pub struct Running {
    pub call: Repeatable,
    pub since: Duration,
    /// Storage knows of it.
    pub leased: bool,
}

impl Running {
    pub fn answers(&self, call: &Repeatable) -> Claimed {
        if self.call.fingerprint == call.fingerprint { Claimed::Running } else { Claimed::Mismatch }
    }
}

/// Nobody has it any more, or only a try of ours that came to nothing.
pub fn is_free(row: &Row, released: Option<&str>, now: Timestamp) -> bool {
    row.expires_at <= now || (row.state == rows::RUNNING && released == Some(row.claim.as_str()))
}

/// The right to do a call. Dropped, the key is free again.
pub struct Claim {
    keys: Idempotency,
    call: Option<Repeatable>,
}

impl Claim {
    /// None when somebody else in this process has it.
    pub(super) fn take(keys: &Idempotency, call: &Repeatable) -> Option<Self> {
        let mut running = keys.0.running.lock();
        if running.contains_key(&call.id) {
            return None;
        }
        let since = keys.0.clock.tick();
        running.insert(call.id.clone(), Running { call: call.clone(), since, leased: false });
        Some(Self { keys: keys.clone(), call: Some(call.clone()) })
    }

    /// The call was answered: whoever repeats it gets this, or hears that it was too much to keep.
    pub fn keep(mut self, answer: Option<KeptAnswer>, ttl: Duration) {
        let outcome = answer.map_or(Outcome::NotKept, Outcome::Kept);
        self.end(outcome, ttl);
    }

    /// Nothing was done in its name.
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
        // In this order: at no moment does the call look as if it had never been.
        self.keys.0.backlog.put(Record { call, outcome, expires_at });
        self.keys.0.running.lock().remove(&id);
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.end(Outcome::Released, super::lease::LEASE);
    }
}
