//! The machine's clock, whose wall time a test can put forward.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use domain::clock::{Clock, Timestamp};
use testkit::SystemClock;

#[derive(Default)]
pub struct ShiftedClock {
    real: SystemClock,
    ahead_micros: AtomicI64,
}

impl ShiftedClock {
    pub fn advance(&self, by: Duration) {
        self.ahead_micros.fetch_add(by.as_micros() as i64, Ordering::SeqCst);
    }
}

impl Clock for ShiftedClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.real.now().micros() + self.ahead_micros.load(Ordering::SeqCst))
    }

    fn tick(&self) -> Duration {
        self.real.tick()
    }
}
