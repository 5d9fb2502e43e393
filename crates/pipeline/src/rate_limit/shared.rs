//! Rate limits that replicas share through Redis. A call of a key with leased units is decided here; others wait for Redis,
//! which decides them in batches. While Redis does not answer, each replica enforces its share of a limit, and reports what
//! it has counted when Redis is back.

mod decide;
mod exchange;
mod local_admissions;
mod operation;
mod queue;
mod shared_key;
mod synchronise;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use domain::clock::Clock;
use domain::ids::Entropy;
use parking_lot::{Mutex, RwLock};
use redis_client::Redis;
use tokio::sync::oneshot;

use super::counts::{Counts, LimitStatus};
use queue::Queue;

pub use decide::{Decision, GrantedRequest, GrantedTokens};
pub use local_admissions::RecentOutage;
pub use shared_key::SharedKey;

/// The time for which the last known usage bounds this process when it counts by itself: Redis may only be slow, and decide
/// for other replicas.
const LAST_KNOWN_USAGE_TTL: Duration = Duration::from_secs(2);

/// The id of a key and its counts.
type ListedKey = (Arc<str>, Arc<Mutex<Counts>>);

/// The part of Redis in the rate limits of this process.
pub struct SharedLimits {
    redis: Redis,
    /// The id of this process in Redis, and the candidate for an epoch that it begins.
    replica: String,
    entropy: Arc<dyn Entropy>,
    /// Whether calls are refused while Redis does not answer.
    pub fails_closed: bool,
    queue: Queue,
    sharing: RwLock<Sharing>,
    /// Keys with leases or places, which are given back when they are not used.
    listed: Mutex<Vec<ListedKey>>,
    pub decisions: DecisionCounts,
}

/// The number of decisions since the start, by where they were made.
#[derive(Default)]
pub struct DecisionCounts {
    pub leased: AtomicU64,
    pub redis: AtomicU64,
    pub local: AtomicU64,
}

impl DecisionCounts {
    fn add(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

struct Sharing {
    /// Whether Redis decides. Otherwise this process counts by itself.
    is_shared: bool,
    /// Ends with each change of `is_shared`; leases of an earlier segment are void.
    segment: u64,
    /// The epoch of the counts in Redis: another one begins when they are lost. 0 if it is not known.
    epoch: i64,
    /// Since when this process counts by itself after Redis has decided.
    local_since: Option<Duration>,
    /// What was counted since this time is not in Redis.
    unreported_since: Duration,
    /// Whether Redis has nothing of what was counted before the epoch.
    is_new_epoch: bool,
}

impl SharedLimits {
    pub fn new(redis: Redis, entropy: Arc<dyn Entropy>, fails_closed: bool) -> Self {
        let mut id = [0; 8];
        entropy.fill(&mut id);
        Self {
            redis,
            replica: id.iter().map(|byte| format!("{byte:02x}")).collect(),
            entropy,
            fails_closed,
            queue: Queue::default(),
            sharing: RwLock::new(Sharing {
                is_shared: false,
                segment: 1,
                epoch: 0,
                local_since: None,
                unreported_since: Duration::ZERO,
                is_new_epoch: true,
            }),
            listed: Mutex::default(),
            decisions: DecisionCounts::default(),
        }
    }

    pub fn redis(&self) -> &Redis {
        &self.redis
    }

    /// Whether Redis decides at present.
    pub fn is_shared(&self) -> bool {
        self.redis.is_up() && self.sharing.read().is_shared
    }

    /// The present segment, and whether Redis decides in it.
    pub fn segment(&self, now: Duration) -> (u64, bool) {
        let (segment, is_shared) = {
            let sharing = self.sharing.read();
            (sharing.segment, sharing.is_shared)
        };
        match is_shared && !self.redis.is_up() {
            true => (self.count_locally(now), false),
            false => (segment, is_shared),
        }
    }

    /// Lets this process count by itself from now on. Returns the new segment.
    fn count_locally(&self, now: Duration) -> u64 {
        let mut sharing = self.sharing.write();
        if sharing.is_shared {
            sharing.is_shared = false;
            sharing.segment += 1;
            sharing.unreported_since = now;
            sharing.local_since = Some(now);
            tracing::warn!("rate limits are not shared while Redis is not available");
        }
        sharing.segment
    }

    /// The outage in which the last known usage bounds this process; `None` if it does not.
    pub fn recent_outage(&self, now: Duration) -> Option<RecentOutage> {
        let since = self.sharing.read().local_since?;
        let left = LAST_KNOWN_USAGE_TTL.checked_sub(now.saturating_sub(since))?;
        (!left.is_zero()).then_some(RecentOutage { since, left })
    }

    /// The verdict of Redis; `None` if there is none in time. The exchange with Redis ends at its time limit, and with it all
    /// waiting; the longer limit here is for one that does not begin.
    pub async fn verdict<T>(
        &self,
        receiver: oneshot::Receiver<Result<T, LimitStatus>>,
        clock: &dyn Clock,
    ) -> Option<Result<T, LimitStatus>> {
        let Some(verdict) = redis_client::within(2 * self.redis.timeout(), receiver).await else {
            self.count_locally(clock.tick());
            return None;
        };
        let verdict = verdict.ok()?;
        DecisionCounts::add(&self.decisions.redis);
        Some(verdict)
    }

    /// Counts a decision that was made without Redis.
    pub fn decided_locally(&self) {
        DecisionCounts::add(&self.decisions.local);
    }
}
