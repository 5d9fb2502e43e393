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
use super::live_replicas::{LiveReplicas, share};
use super::shared::{Decision, SharedLimits};
use super::token_estimates::TokenEstimates;
use super::{Account, Permit, Refusal, RequestShare};

const SHARDS: usize = 64;

type Shard = RwLock<HashMap<Arc<str>, Arc<Mutex<Counts>>, foldhash::fast::RandomState>>;

/// The counts of all keys, in shards.
pub struct Limiter {
    shards: [Shard; SHARDS],
    hasher: foldhash::fast::RandomState,
    /// The second in which a shard was last swept.
    swept: AtomicU64,
    estimates: Arc<TokenEstimates>,
    live_replicas: LiveReplicas,
    /// `None` without Redis.
    shared: Option<Arc<SharedLimits>>,
}

impl Default for Limiter {
    fn default() -> Self {
        let shards = std::array::from_fn(|_| Shard::default());
        Self {
            shards,
            hasher: foldhash::fast::RandomState::default(),
            swept: AtomicU64::new(0),
            estimates: Arc::default(),
            live_replicas: LiveReplicas::default(),
            shared: None,
        }
    }
}

impl Limiter {
    /// A limiter of one of several replicas, which share limits through Redis if it is given.
    pub fn new(live_replicas: LiveReplicas, shared: Option<SharedLimits>) -> Self {
        Self { live_replicas, shared: shared.map(Arc::new), ..Self::default() }
    }

    /// The number of replicas, whose shares this process enforces its own one of.
    pub fn live_replicas(&self) -> &LiveReplicas {
        &self.live_replicas
    }

    /// The limits in Redis; `None` without it.
    pub fn shared(&self) -> Option<&Arc<SharedLimits>> {
        self.shared.as_ref()
    }

    /// Lets Redis decide from the first call on, if it answers. Otherwise this process begins with its share of the limits.
    pub async fn begin_sharing(&self, clock: &dyn Clock) {
        if let Some(shared) = &self.shared {
            let _ = shared.rejoin(self, clock).await;
        }
    }

    /// Shares limits through Redis until the process ends.
    pub async fn keep_sharing(&self, clock: &dyn Clock) {
        if let Some(shared) = &self.shared {
            shared.keep_sharing(self, clock).await;
        }
    }

    /// Counts a request, or returns the limit with the longest wait.
    pub fn admit(&self, key: &Arc<KeyFacts>, clock: &Arc<dyn Clock>) -> Result<Permit, LimitStatus> {
        let now = clock.tick();
        self.sweep(now);
        let counts = self.find_or_create(&key.id);
        let account = self.account_of(key, counts);
        let at = account.counts.lock().admit_request(&account.enforced(), now)?;
        Ok(Permit::new(account, Some(RequestShare { at, granted: None }), clock.clone()))
    }

    /// Counts a request against the limits that replicas share, if Redis decides, or against those of this process.
    pub async fn admit_shared(
        &self,
        shared: &SharedLimits,
        key: &Arc<KeyFacts>,
        clock: &Arc<dyn Clock>,
    ) -> Result<Permit, Refusal> {
        let now = clock.tick();
        self.sweep(now);
        let account = self.account_of(key, self.find_or_create(&key.id));
        let (segment, is_shared) = shared.segment(now);
        if is_shared {
            let (decision, pending) = shared.decide_request(key, &account.counts, segment, now);
            let verdict = match decision {
                Decision::Made(verdict) => Some(verdict),
                Decision::Asked(receiver) => shared.verdict(receiver, &**clock).await,
            };
            if let Some(verdict) = verdict {
                let granted = verdict?;
                let at = {
                    let mut counts = account.counts.lock();
                    counts.begin_segment(segment);
                    counts.record_request(&key.rate_limits, now)
                };
                drop(pending);
                let request = RequestShare { at, granted: Some(granted) };
                return Ok(Permit::new(account, Some(request), clock.clone()));
            }
        }
        if shared.fails_closed {
            return Err(Refusal::NotShared);
        }
        shared.decided_locally();
        let now = clock.tick();
        let (segment, _) = shared.segment(now);
        let at = {
            let mut counts = account.counts.lock();
            counts.begin_segment(segment);
            counts.admit_request_locally(&account.local_share(shared, now), now)?
        };
        Ok(Permit::new(account, Some(RequestShare { at, granted: None }), clock.clone()))
    }

    /// Calls a function with the counts of every key.
    pub fn each(&self, mut visit: impl FnMut(&Arc<str>, &mut Counts)) {
        for shard in &self.shards {
            for (key, counts) in shard.read().iter() {
                visit(key, &mut counts.lock());
            }
        }
    }

    /// A permit that counts no request.
    pub fn join(&self, key: &Arc<KeyFacts>, clock: &Arc<dyn Clock>) -> Permit {
        Permit::new(self.account_of(key, self.find_or_create(&key.id)), None, clock.clone())
    }

    /// The status of each limit for the next call. Nothing is counted.
    pub fn look(&self, key: &KeyFacts, now: Duration) -> Vec<LimitStatus> {
        let counts = self.find(&key.id).unwrap_or_default();
        let mut counts = counts.lock();
        let is_shared = self.shared.as_ref().is_some_and(|shared| shared.is_shared());
        if let Some(state) = counts.shared.as_ref().filter(|_| is_shared) {
            return state.statuses(&key.rate_limits, 0, now).collect();
        }
        let limits = share(&key.rate_limits, self.live_replicas.get());
        counts.advance(&limits, now);
        counts.statuses(&limits).collect()
    }

    /// The counters of a key; nothing is counted.
    pub fn account(&self, key: &Arc<KeyFacts>) -> Account {
        self.account_of(key, self.find(&key.id).unwrap_or_default())
    }

    fn account_of(&self, key: &Arc<KeyFacts>, counts: Arc<Mutex<Counts>>) -> Account {
        Account {
            key: key.clone(),
            counts,
            estimates: self.estimates.clone(),
            live_replicas: self.live_replicas.clone(),
            shared: self.shared.clone(),
        }
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
