//! The calls that each member of a pool served in the last hour, counted without a lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Buckets of the last hour.
const BUCKETS: usize = 12;
/// Seconds of a bucket.
const LENGTH: u64 = 300;

/// The calls of a pool's members. The members are fixed; a snapshot with others takes over the counts of those that
/// remain.
#[derive(Debug, Default)]
pub struct MemberCalls(Vec<(Arc<str>, Arc<HourCount>)>);

/// A count over the last hour. Each bucket holds the number of its interval and its count, so that one exchange counts
/// a call or starts the bucket anew.
#[derive(Debug, Default)]
struct HourCount([AtomicU64; BUCKETS]);

impl MemberCalls {
    /// The counts of these members, with those that are known from before.
    pub fn of(members: &[String], before: Option<&Self>) -> Self {
        let known = |name: &String| {
            let mut counts = before.iter().flat_map(|before| before.0.iter());
            counts.find(|(known, _)| **known == **name).map(|(_, count)| count.clone())
        };
        Self(members.iter().map(|name| (name.as_str().into(), known(name).unwrap_or_default())).collect())
    }

    /// Counts a call that this instance served, if it is a member.
    pub fn count(&self, instance: &str, now: Duration) {
        if let Some(count) = self.find(instance) {
            count.add(now);
        }
    }

    /// The calls that a member served in the last hour.
    pub fn last_hour(&self, member: &str, now: Duration) -> u64 {
        self.find(member).map_or(0, |count| count.sum(now))
    }

    fn find(&self, member: &str) -> Option<&HourCount> {
        self.0.iter().find(|(name, _)| **name == *member).map(|(_, count)| &**count)
    }
}

impl HourCount {
    fn add(&self, now: Duration) {
        let interval = interval(now);
        let bucket = &self.0[interval as usize % BUCKETS];
        // Relaxed: the value is complete in itself, and no other memory depends on it. The update always succeeds.
        _ = bucket.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |value| {
            let count = if of_value(value).0 == interval { of_value(value).1 } else { 0 };
            Some(u64::from(interval) << 32 | u64::from(count.saturating_add(1)))
        });
    }

    fn sum(&self, now: Duration) -> u64 {
        let current = interval(now);
        let counts = self.0.iter().map(|bucket| of_value(bucket.load(Ordering::Relaxed)));
        let recent = counts
            .filter(|(number, _)| current.checked_sub(*number).is_some_and(|age| (age as usize) < BUCKETS));
        recent.map(|(_, count)| u64::from(count)).sum()
    }
}

/// The number of the interval and the count of a bucket's value.
fn of_value(value: u64) -> (u32, u32) {
    ((value >> 32) as u32, value as u32)
}

fn interval(now: Duration) -> u32 {
    u32::try_from(now.as_secs() / LENGTH).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_counts_for_an_hour_and_across_snapshots() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let at = Duration::from_secs;
        let first = MemberCalls::of(&names(&["a", "b"]), None);
        (0..3).for_each(|_| first.count("a", at(10)));
        first.count("b", at(4000));
        first.count("c", at(10));
        assert_eq!((first.last_hour("a", at(20)), first.last_hour("c", at(20))), (3, 0));
        let second = MemberCalls::of(&names(&["c", "b", "a"]), Some(&first));
        assert_eq!((second.last_hour("a", at(3599)), second.last_hour("a", at(3600))), (3, 0));
        first.count("b", at(4100));
        assert_eq!(second.last_hour("b", at(4100)), 2, "calls in flight count for the new snapshot");
        second.count("a", at(3600));
        assert_eq!(second.last_hour("a", at(3600)), 1, "the bucket is used again");
    }
}
