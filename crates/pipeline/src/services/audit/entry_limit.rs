//! Limits how many audit entries callers without a valid key can cause: they cost the caller nothing.

use std::time::Duration;

use parking_lot::Mutex;

const PER_SECOND: f64 = 20.0;
const BURST: f64 = 200.0;

/// A token bucket shared by all callers without a valid key.
pub struct EntryLimit(Mutex<Bucket>);

struct Bucket {
    left: f64,
    filled_at: Duration,
}

impl Default for EntryLimit {
    fn default() -> Self {
        Self(Mutex::new(Bucket { left: BURST, filled_at: Duration::ZERO }))
    }
}

impl EntryLimit {
    /// Takes a token and returns whether one more entry may be kept, at this time of the monotonic clock.
    pub fn admits(&self, now: Duration) -> bool {
        let mut bucket = self.0.lock();
        let elapsed = now.saturating_sub(bucket.filled_at).as_secs_f64();
        bucket.left = (bucket.left + elapsed * PER_SECOND).min(BURST);
        bucket.filled_at = bucket.filled_at.max(now);
        let admits = bucket.left >= 1.0;
        if admits {
            bucket.left -= 1.0;
        }
        admits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_and_then_a_steady_rate_is_admitted() {
        let limit = EntryLimit::default();
        let admitted =
            |at: u64, calls: usize| (0..calls).filter(|_| limit.admits(Duration::from_secs(at))).count();
        assert_eq!(admitted(1_000, 5_000), 200);
        assert_eq!(admitted(1_001, 5_000), 20);
        assert_eq!(admitted(900, 5_000), 0);
        assert_eq!(admitted(2_000, 5_000), 200);
    }
}
