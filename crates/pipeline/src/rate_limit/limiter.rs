//! The live counts of every limited key, by its id. They outlive snapshots, and are dropped when they are empty.

use std::collections::HashMap;
use std::hash::BuildHasher as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use domain::clock::Clock;
use domain::principal::KeyFacts;
use parking_lot::{Mutex, RwLock};

use super::counts::{Counts, LimitStatus};
use super::token_estimates::TokenEstimates;
use super::{Account, Permit};

const SHARDS: usize = 64;

type Shard = RwLock<HashMap<Arc<str>, Arc<Mutex<Counts>>, foldhash::fast::RandomState>>;

/// The counts of all keys, in shards.
pub struct Limiter {
    shards: [Shard; SHARDS],
    hasher: foldhash::fast::RandomState,
    /// The second in which a shard was last swept.
    swept: AtomicU64,
    estimates: Arc<TokenEstimates>,
}

impl Default for Limiter {
    fn default() -> Self {
        let shards = std::array::from_fn(|_| Shard::default());
        Self {
            shards,
            hasher: foldhash::fast::RandomState::default(),
            swept: AtomicU64::new(0),
            estimates: Arc::default(),
        }
    }
}

impl Limiter {
    /// Counts a request, or returns the limit with the longest wait.
    pub fn admit(&self, key: &Arc<KeyFacts>, clock: &Arc<dyn Clock>) -> Result<Permit, LimitStatus> {
        let now = clock.tick();
        self.sweep(now);
        let counts = self.find_or_create(&key.id);
        let requested_at = counts.lock().admit_request(&key.rate_limits, now)?;
        Ok(Permit::new(self.account_of(key, counts), Some(requested_at), clock.clone()))
    }

    /// A permit that counts no request.
    pub fn join(&self, key: &Arc<KeyFacts>, clock: &Arc<dyn Clock>) -> Permit {
        Permit::new(self.account_of(key, self.find_or_create(&key.id)), None, clock.clone())
    }

    /// The status of each limit for the next call. Nothing is counted.
    pub fn look(&self, key: &KeyFacts, now: Duration) -> Vec<LimitStatus> {
        let counts = self.find(&key.id).unwrap_or_default();
        let mut counts = counts.lock();
        counts.advance(&key.rate_limits, now);
        counts.statuses(&key.rate_limits).collect()
    }

    /// The counters of a key; nothing is counted.
    pub fn account(&self, key: &Arc<KeyFacts>) -> Account {
        self.account_of(key, self.find(&key.id).unwrap_or_default())
    }

    fn account_of(&self, key: &Arc<KeyFacts>, counts: Arc<Mutex<Counts>>) -> Account {
        Account { key: key.clone(), counts, estimates: self.estimates.clone() }
    }

    fn find_or_create(&self, key: &Arc<str>) -> Arc<Mutex<Counts>> {
        self.find(key).unwrap_or_else(|| self.shard(key).write().entry(key.clone()).or_default().clone())
    }

    fn find(&self, key: &str) -> Option<Arc<Mutex<Counts>>> {
        self.shard(key).read().get(key).cloned()
    }

    /// The number of keys with counts.
    pub fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.read().len()).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn shard(&self, key: &str) -> &Shard {
        &self.shards[self.hasher.hash_one(key) as usize % SHARDS]
    }

    /// Sweeps one shard per second, in the first call of that second, so that each is swept about once a minute.
    fn sweep(&self, now: Duration) {
        let second = now.as_secs();
        // The exchange elects one caller per second. Relaxed: the shards have their own locks.
        let last = self.swept.load(Ordering::Relaxed);
        if second <= last
            || self.swept.compare_exchange(last, second, Ordering::Relaxed, Ordering::Relaxed).is_err()
        {
            return;
        }
        // The shards of seconds without a call are swept as well.
        for turn in second - (second - last).min(SHARDS as u64) + 1..=second {
            let mut shard = self.shards[turn as usize % SHARDS].write();
            shard.retain(|_, counts| is_busy(counts, now));
            let needed = shard.len() * 2;
            shard.shrink_to(needed);
        }
    }
}

/// Whether counts are in use. They are handed out under the shard's lock only, which the caller holds for writing, so
/// that no new reference can appear meanwhile.
fn is_busy(counts: &Arc<Mutex<Counts>>, now: Duration) -> bool {
    if Arc::strong_count(counts) > 1 {
        return true;
    }
    !counts.lock().is_idle(now)
}
