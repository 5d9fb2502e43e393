//! Counts recent outcomes in coarse time buckets.

use std::time::Duration;

use super::BreakerRules;

const BUCKETS: u64 = 10;

#[derive(Default)]
pub struct Window {
    buckets: [Bucket; BUCKETS as usize],
}

#[derive(Clone, Copy, Default)]
struct Bucket {
    slot: u64,
    good: u32,
    bad: u32,
}

impl Window {
    pub fn good(&mut self, now: Duration, length: Duration) {
        self.bucket(slot(now, length)).good += 1;
    }

    pub fn bad(&mut self, now: Duration, length: Duration) {
        self.bucket(slot(now, length)).bad += 1;
    }

    /// Retracts a success that was counted at that time, if it is still in the window.
    pub fn retract(&mut self, at: Duration, length: Duration) {
        let slot = slot(at, length);
        let bucket = &mut self.buckets[place(slot)];
        if bucket.slot == slot {
            bucket.good = bucket.good.saturating_sub(1);
        }
    }

    pub fn mostly_bad(&self, now: Duration, rules: &BreakerRules) -> bool {
        let current = slot(now, rules.window);
        let (mut good, mut bad) = (0u64, 0u64);
        for bucket in self.buckets.iter().filter(|bucket| bucket.slot + BUCKETS > current) {
            good += u64::from(bucket.good);
            bad += u64::from(bucket.bad);
        }
        good + bad >= u64::from(rules.window_least) && bad > good
    }

    fn bucket(&mut self, slot: u64) -> &mut Bucket {
        let bucket = &mut self.buckets[place(slot)];
        if bucket.slot != slot {
            *bucket = Bucket { slot, good: 0, bad: 0 };
        }
        bucket
    }
}

fn slot(at: Duration, length: Duration) -> u64 {
    let width = (length.as_millis() / u128::from(BUCKETS)).max(1);
    u64::try_from(at.as_millis() / width).unwrap_or(u64::MAX - BUCKETS)
}

fn place(slot: u64) -> usize {
    (slot % BUCKETS) as usize
}
