//! The response cache: answers in memory, by the hash of the call that they belong to, and the calls that are being
//! answered. Behind it, replicas can share answers in Redis.

mod in_flight;
mod shared;
pub mod stored_answer;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use domain::money::Nanos;
use domain::usage::Usage;
use domain::user_path::UserPath;
use in_flight::InFlight;
use moka::policy::EvictionPolicy;
use redis_client::Unavailable;
use serde::{Deserialize, Serialize};
use store::SemanticPurge;

use super::recorded_answer::RecordedAnswer;

pub use in_flight::{Claim, Leader, PendingAnswer};
pub use shared::SharedCache;

/// The hash of everything that decides the answer to a call, its caller included.
pub type CacheKey = [u8; 32];

/// The memory of an entry besides its answer: the key, the links of the cache, the fields of [`CachedAnswer`].
const ENTRY_OVERHEAD: usize = 512;

/// An answer that calls with the same key are given.
#[derive(Clone, Debug, PartialEq)]
pub struct CachedAnswer {
    pub answer: RecordedAnswer,
    /// Whether the body is an event stream.
    pub is_stream: bool,
    /// Whether a stream has the usage event that its client asked for.
    pub includes_usage: bool,
    /// The id of the response, if it was stored for later calls.
    pub response_id: Option<String>,
    /// The usage that the provider reported for the first call, and its cost if that is known.
    pub usage: Option<Usage>,
    pub cost: Option<Nanos>,
    /// The tenant of the caller that added the entry.
    pub tenant: Option<String>,
    /// The user path of that caller.
    pub user_path: String,
    /// Monotonic time at which the answer is no longer used.
    pub expires_at: Duration,
}

/// The layer of the cache that an answer comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheLayer {
    /// The answer to an identical call.
    Exact,
    /// The answer to a similar call.
    Semantic,
}

impl CacheLayer {
    /// The name in receipts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Semantic => "semantic",
        }
    }
}

/// A cached answer in the form that a call asks for.
pub struct ReplayedAnswer {
    pub cached: Arc<CachedAnswer>,
    pub layer: CacheLayer,
    pub body: Bytes,
    pub streams: bool,
}

/// The entries to purge. Without a condition, all.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PurgeFilter {
    /// Entries of one tenant.
    pub tenant: Option<String>,
    /// Entries of this user path and those below it.
    pub user_path: Option<UserPath>,
    /// Entries of one model, by its name at the provider.
    pub model: Option<String>,
}

impl PurgeFilter {
    /// Whether an answer is purged.
    pub fn matches(&self, answer: &CachedAnswer) -> bool {
        self.covers(answer.tenant.as_deref(), &answer.user_path, &answer.answer.target().model)
    }

    /// Whether answers of this owner and model are purged.
    pub fn covers(&self, tenant: Option<&str>, user_path: &str, model: &str) -> bool {
        let path = || UserPath::parse(user_path).ok();
        let on_path = |parent: &UserPath| path().is_some_and(|path| parent.covers(&path));
        (self.tenant.is_none() || self.tenant.as_deref() == tenant)
            && self.user_path.as_ref().is_none_or(on_path)
            && self.model.as_deref().is_none_or(|purged| purged == model)
    }
}

impl From<&PurgeFilter> for SemanticPurge {
    fn from(filter: &PurgeFilter) -> Self {
        Self {
            tenant_id: filter.tenant.clone(),
            user_path: filter.user_path.as_ref().map(|path| path.as_str().to_owned()),
            model: filter.model.clone(),
        }
    }
}

/// The entry of a key.
#[derive(Clone, Debug)]
pub enum Entry {
    Fresh(Arc<CachedAnswer>),
    Expired,
    Absent,
}

/// Answers in memory, bounded by their bytes: the least recently used ones are removed first.
pub struct ResponseCache {
    entries: moka::sync::Cache<CacheKey, Arc<CachedAnswer>>,
    in_flight: InFlight,
    /// Number of purges.
    generation: AtomicU64,
    /// The answers of all replicas; `None` without Redis.
    shared: Option<SharedCache>,
}

impl ResponseCache {
    pub fn new(max_bytes: u64, shared: Option<SharedCache>) -> Self {
        let weight = |_: &CacheKey, answer: &Arc<CachedAnswer>| {
            u32::try_from(answer.answer.size() + ENTRY_OVERHEAD).unwrap_or(u32::MAX)
        };
        // The lifetime is checked on reading, by the gateway's own clock.
        let entries = moka::sync::Cache::builder()
            .max_capacity(max_bytes)
            .weigher(weight)
            .eviction_policy(EvictionPolicy::lru())
            .build();
        Self { entries, in_flight: InFlight::default(), generation: AtomicU64::new(0), shared }
    }

    /// The answers of all replicas; `None` without Redis.
    pub fn shared(&self) -> Option<&SharedCache> {
        self.shared.as_ref()
    }

    /// The entry of a key at this monotonic time.
    pub fn find(&self, key: &CacheKey, now: Duration) -> Entry {
        match self.entries.get(key) {
            Some(answer) if now < answer.expires_at => Entry::Fresh(answer),
            Some(_) => Entry::Expired,
            None => Entry::Absent,
        }
    }

    /// The answer for a key, or the right to produce it, or the call that produces it now.
    pub fn claim(self: &Arc<Self>, key: CacheKey, now: Duration) -> Claim {
        match self.find(&key, now) {
            Entry::Fresh(answer) => Claim::Found(answer),
            Entry::Expired | Entry::Absent => self.in_flight.claim(key, self, || self.find(&key, now)),
        }
    }

    /// The number of purges so far, for [`ResponseCache::insert`].
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Adds an answer, unless entries were purged since this generation. Returns whether it was added.
    pub fn insert(&self, key: CacheKey, answer: Arc<CachedAnswer>, generation: u64) -> bool {
        let is_current = generation == self.generation();
        if is_current {
            self.entries.insert(key, answer);
        }
        is_current
    }

    /// Adds an answer here and for the other replicas, unless entries were purged since this generation.
    pub fn insert_for_all(&self, key: CacheKey, answer: Arc<CachedAnswer>, generation: u64, now: Duration) {
        if self.insert(key, answer.clone(), generation)
            && let Some(shared) = &self.shared
        {
            shared.store(&key, &answer, now);
        }
    }

    /// The answer that another replica has added.
    pub async fn find_shared(&self, key: &CacheKey, now: Duration) -> Option<Arc<CachedAnswer>> {
        match &self.shared {
            Some(shared) => shared.find(key, now).await.map(Arc::new),
            None => None,
        }
    }

    /// Removes entries; returns how many.
    pub fn purge(&self, filter: &PurgeFilter) -> u64 {
        self.generation.fetch_add(1, Ordering::AcqRel);
        let found: Vec<CacheKey> =
            self.entries.iter().filter(|(_, answer)| filter.matches(answer)).map(|(key, _)| *key).collect();
        found.iter().for_each(|key| self.entries.invalidate(key));
        found.len() as u64
    }

    /// Removes entries here and in Redis, and lets the other replicas remove theirs; returns how many there were.
    pub async fn purge_for_all(&self, filter: &PurgeFilter) -> Result<u64, Unavailable> {
        let here = self.purge(filter);
        match &self.shared {
            // Most of those here are there as well.
            Some(shared) => shared.purge(filter).await.map(|there| there.max(here)),
            None => Ok(here),
        }
    }

    /// Removes the entries that other replicas have purged.
    pub async fn follow_purges(&self) {
        let Some(shared) = &self.shared else { return };
        for filter in shared.new_purges().await.unwrap_or_default() {
            self.purge(&filter.unwrap_or_default());
        }
    }

    /// The number of entries and their bytes, after pending removals.
    pub fn size(&self) -> (u64, u64) {
        self.entries.run_pending_tasks();
        (self.entries.entry_count(), self.entries.weighted_size())
    }
}
