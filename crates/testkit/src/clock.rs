//! Clocks for tests: a manual one, and the system clock.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use domain::clock::{Clock, Timestamp};

/// A clock that only moves on request. Share it as `Arc<ManualClock>`.
#[derive(Debug, Default)]
pub struct ManualClock {
    wall_micros: AtomicI64,
    tick_nanos: AtomicU64,
}

impl ManualClock {
    pub fn new(now: Timestamp) -> Self {
        Self { wall_micros: AtomicI64::new(now.micros()), tick_nanos: AtomicU64::new(0) }
    }

    /// Sets wall time only, as an operator or a time server would.
    pub fn set(&self, now: Timestamp) {
        self.wall_micros.store(now.micros(), Ordering::SeqCst);
    }

    /// Advances wall and monotonic time together.
    pub fn advance(&self, by: Duration) {
        self.wall_micros.fetch_add(by.as_micros() as i64, Ordering::SeqCst);
        self.tick_nanos.fetch_add(by.as_nanos() as u64, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.wall_micros.load(Ordering::SeqCst))
    }

    fn tick(&self) -> Duration {
        Duration::from_nanos(self.tick_nanos.load(Ordering::SeqCst))
    }
}

/// The system clock.
#[derive(Debug)]
pub struct SystemClock {
    start: Instant,
}

impl SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is one of the clocks that are given")]
    pub fn new() -> Self {
        Self { start: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is one of the clocks that are given")]
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(since.as_micros() as i64)
    }

    fn tick(&self) -> Duration {
        self.start.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_moves_only_on_request() {
        let clock = ManualClock::new(Timestamp::from_seconds(100));
        assert_eq!((clock.now(), clock.tick()), (Timestamp::from_seconds(100), Duration::ZERO));
        clock.advance(Duration::from_millis(1500));
        assert_eq!(
            (clock.now(), clock.tick()),
            (Timestamp::from_millis(101_500), Duration::from_millis(1500))
        );
        clock.set(Timestamp::from_seconds(5));
        assert_eq!((clock.now(), clock.tick()), (Timestamp::from_seconds(5), Duration::from_millis(1500)));
    }

    #[test]
    fn the_system_clock_runs_forward() {
        let clock = SystemClock::new();
        let before = clock.tick();
        assert!(clock.tick() >= before);
        assert!(clock.now() > Timestamp::from_seconds(1_700_000_000));
    }
}
