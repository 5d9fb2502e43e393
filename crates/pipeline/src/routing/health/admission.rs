//! An admitted call: in flight until it is dropped, and holder of the probe until it reports.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use super::breaker::RetractedSuccess;
use super::{Health, Transition};

const NO_OUTCOME: u8 = 0;
const SUCCESS: u8 = 1;
const FAILURE: u8 = 2;

/// Reports at most one outcome: the first success, or the first failure. A failure after a success, from a stream that
/// broke off, retracts the success. Dropping it without a report only returns the probe.
pub struct Admission {
    health: Arc<Health>,
    /// The breaker's era at admission. The breaker ignores outcomes from earlier eras.
    era: u64,
    probe: bool,
    // Only accessed under the lock of the health, so relaxed ordering is enough.
    outcome: AtomicU8,
    praised_at: AtomicU64,
    praise_broke: AtomicU32,
}

impl Admission {
    pub(super) fn new(health: Arc<Health>, era: u64, probe: bool) -> Self {
        health.in_flight.fetch_add(1, Ordering::Relaxed);
        Self {
            health,
            era,
            probe,
            outcome: AtomicU8::new(NO_OUTCOME),
            praised_at: AtomicU64::new(0),
            praise_broke: AtomicU32::new(0),
        }
    }

    /// Reports a success. `first_byte` is the time from sending to the first byte, or content.
    pub fn succeeded(&self, now: Duration, first_byte: Duration) -> Option<Transition> {
        let mut state = self.health.state.lock();
        if self.outcome.load(Ordering::Relaxed) != NO_OUTCOME {
            return None;
        }
        self.outcome.store(SUCCESS, Ordering::Relaxed);
        state.figures.succeeded(now, first_byte, &self.health.published);
        state.minutes.succeeded(now, first_byte);
        let rules = state.rules;
        if self.probe {
            state.breaker.return_probe();
        }
        if self.era != state.breaker.era() {
            return None;
        }
        let (ended_failures, transition) = state.breaker.succeeded(now, &rules);
        self.praised_at.store(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
        self.praise_broke.store(ended_failures, Ordering::Relaxed);
        if transition.is_some() {
            self.health.post(&state);
        }
        transition
    }

    /// Records the time of a call that was cancelled because another target had answered: no outcome, but a lower bound
    /// of the latency.
    pub fn took_longer_than(&self, now: Duration, time: Duration) {
        self.health.state.lock().figures.took(now, time, &self.health.published);
    }

    /// Reports that the provider rejected the gateway's credential or refused it the model. That lowers the target's
    /// rank and shows in its error rate. The breaker does not count it, because it is not an outage and may concern one
    /// request only.
    pub fn rejected(&self, now: Duration, reason: &str) {
        let mut state = self.health.state.lock();
        if self.outcome.load(Ordering::Relaxed) != NO_OUTCOME {
            return;
        }
        self.outcome.store(FAILURE, Ordering::Relaxed);
        state.figures.failed(now, &self.health.published);
        state.minutes.ended(now, true);
        state.last_error = Some(String::from(reason));
        if self.probe {
            state.breaker.return_probe();
        }
    }

    /// Reports that the provider declined the request, which says nothing about its health. `is_limit` if it declined it
    /// for its rate limit; then it shows as an error in the series of the status page.
    pub fn declined(&self, now: Duration, is_limit: bool) {
        self.health.state.lock().minutes.ended(now, is_limit);
    }

    /// Reports a failure; `reason` is the error code.
    pub fn failed(&self, now: Duration, reason: &str) -> Option<Transition> {
        let mut state = self.health.state.lock();
        let before = self.outcome.load(Ordering::Relaxed);
        if before == FAILURE {
            return None;
        }
        self.outcome.store(FAILURE, Ordering::Relaxed);
        state.figures.failed(now, &self.health.published);
        match before {
            SUCCESS => state.minutes.broke_off(now),
            _ => state.minutes.ended(now, true),
        }
        state.last_error = Some(String::from(reason));
        let rules = state.rules;
        if self.probe && before == NO_OUTCOME {
            state.breaker.return_probe();
        }
        if self.era != state.breaker.era() {
            return None;
        }
        let praise = (before == SUCCESS).then(|| RetractedSuccess {
            at: Duration::from_nanos(self.praised_at.load(Ordering::Relaxed)),
            ended_failures: self.praise_broke.load(Ordering::Relaxed),
        });
        let transition = state.breaker.failed(now, praise, &rules);
        if transition.is_some() {
            self.health.post(&state);
        }
        transition
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        self.health.in_flight.fetch_sub(1, Ordering::Relaxed);
        if self.probe && *self.outcome.get_mut() == NO_OUTCOME {
            self.health.state.lock().breaker.return_probe();
        }
    }
}
