//! A clock that tests can shift: the wall time alone, or monotonic time as well.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use domain::clock::{Clock, Timestamp};
use testkit::SystemClock;

#[derive(Default)]
pub struct ShiftedClock {
    real: SystemClock,
    ahead_micros: AtomicI64,
    passed_micros: AtomicU64,
}

impl ShiftedClock {
    pub fn advance(&self, by: Duration) {
        self.ahead_micros.fetch_add(by.as_micros() as i64, Ordering::SeqCst);
    }

    /// Sets the wall clock back; monotonic time is unchanged.
    pub fn set_back(&self, by: Duration) {
        self.ahead_micros.fetch_sub(by.as_micros() as i64, Ordering::SeqCst);
    }

    /// Advances both the wall clock and monotonic time.
    pub fn pass(&self, time: Duration) {
        self.advance(time);
        self.passed_micros.fetch_add(time.as_micros() as u64, Ordering::SeqCst);
    }
}

impl Clock for ShiftedClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.real.now().micros() + self.ahead_micros.load(Ordering::SeqCst))
    }

    fn tick(&self) -> Duration {
        self.real.tick() + Duration::from_micros(self.passed_micros.load(Ordering::SeqCst))
    }
}

/// Waits until a condition holds, and returns the time that it took.
pub async fn eventually(clock: &ShiftedClock, condition: impl AsyncFn() -> bool) -> Duration {
    let started = clock.tick();
    while !condition().await {
        assert!(clock.tick() < started + Duration::from_secs(20), "it never came");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    clock.tick() - started
}
