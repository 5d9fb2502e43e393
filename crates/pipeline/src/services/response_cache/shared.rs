//! The response cache in Redis, behind that of each process. Replicas find each other's answers there, and follow each
//! other's purges.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use domain::resources::auth_key::digest_hex;
use parking_lot::Mutex;
use redis_client::{Redis, Unavailable};
use serde::{Deserialize, Serialize};
use store::KeptAnswer;
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use super::stored_answer::StoredFacts;
use super::{CacheKey, CachedAnswer, PurgeFilter};
use crate::services::recorded_answer::RecordedAnswer;

const ENTRIES: &str = "gatehouse:cache:";
/// The number of purges, and the filters of the last ones.
const PURGES: &str = "gatehouse:cache-purges";
const PURGE_FILTERS: &str = "gatehouse:cache-purge-filters";
const KEPT_FILTERS: u32 = 1_000;
/// Larger answers stay in the process.
const LARGEST_ANSWER: usize = 1 << 20;
/// Answers that are written at once. Others are not written.
const WRITES: usize = 64;

const FACTS: &str = "facts";
const BODY: &str = "body";

/// The entries in Redis.
pub struct SharedCache {
    redis: Redis,
    tasks: TaskTracker,
    writes: Arc<Semaphore>,
    /// The number of the last purge that was applied here; `None` before the first look.
    purges: Mutex<Option<u64>>,
    hits: AtomicU64,
}

/// The facts of an entry, and its owner.
#[derive(Serialize, Deserialize)]
struct EntryFacts {
    facts: StoredFacts,
    head: String,
    tenant: Option<String>,
    user_path: String,
    model: String,
}

impl SharedCache {
    pub fn new(redis: Redis, tasks: TaskTracker) -> Self {
        let writes = Arc::new(Semaphore::new(WRITES));
        Self { redis, tasks, writes, purges: Mutex::new(None), hits: AtomicU64::new(0) }
    }

    /// Answers that were found since the start.
    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    /// The answer for a key, if Redis has it and answers in time.
    pub async fn find(&self, key: &CacheKey, now: Duration) -> Option<CachedAnswer> {
        let (fields, left) = self.redis.fields_with_lifetime(&entry_key(key), &[FACTS, BODY]).await.ok()?;
        let [Some(facts), Some(body)] = <[Option<Vec<u8>>; 2]>::try_from(fields).ok()? else { return None };
        let EntryFacts { facts, head, tenant, user_path, .. } = serde_json::from_slice(&facts).ok()?;
        let answer = RecordedAnswer::from_stored(KeptAnswer { head, body: Bytes::from(body) })?;
        self.hits.fetch_add(1, Ordering::Relaxed);
        Some(facts.cached(answer, tenant, user_path, now + left))
    }

    /// Writes an answer in the background, unless there was a purge that this process does not know.
    pub fn store(&self, key: &CacheKey, cached: &CachedAnswer, now: Duration) {
        let Some(lifetime) = cached.expires_at.checked_sub(now).filter(|left| !left.is_zero()) else {
            return;
        };
        let Some(purges) = *self.purges.lock() else { return };
        if !self.redis.is_up() || cached.answer.size() > LARGEST_ANSWER {
            return;
        }
        let Ok(write) = self.writes.clone().try_acquire_owned() else { return };
        let Some(KeptAnswer { head, body }) = cached.answer.clone().into_stored() else { return };
        let facts = EntryFacts {
            facts: StoredFacts::of(cached),
            head,
            tenant: cached.tenant.clone(),
            user_path: cached.user_path.clone(),
            model: cached.answer.target().model.to_string(),
        };
        let Ok(facts) = serde_json::to_vec(&facts) else { return };
        let (redis, key) = (self.redis.clone(), entry_key(key));
        self.tasks.spawn(async move {
            let fields: [(&str, &[u8]); 2] = [(FACTS, &facts), (BODY, &body)];
            let _ = redis.put_guarded(&key, &fields, lifetime, (PURGES, purges)).await;
            drop(write);
        });
    }

    /// Removes entries from Redis, and tells the other replicas; returns how many.
    pub async fn purge(&self, filter: &PurgeFilter) -> Result<u64, Unavailable> {
        let text = serde_json::to_string(filter).unwrap_or_default();
        // First the number, so that no answer from before the purge is written after it.
        self.redis.append_numbered(PURGES, PURGE_FILTERS, &text, KEPT_FILTERS).await?;
        let (mut purged, mut cursor) = (0, 0);
        loop {
            let (next, keys) = self.redis.scan(ENTRIES, cursor).await?;
            let facts = self.redis.field_of_each(&keys, FACTS).await?;
            let is_purged = |facts: Option<Vec<u8>>| match facts.map(|facts| serde_json::from_slice(&facts)) {
                Some(Ok(EntryFacts { tenant, user_path, model, .. })) => {
                    filter.covers(tenant.as_deref(), &user_path, &model)
                }
                // It cannot be read, so that nobody misses it.
                Some(Err(_)) => true,
                None => false,
            };
            let mut found: Vec<String> = Vec::new();
            found.extend(
                keys.into_iter().zip(facts).filter_map(|(key, facts)| is_purged(facts).then_some(key)),
            );
            purged += self.redis.delete(&found).await?;
            if next == 0 {
                return Ok(purged);
            }
            cursor = next;
        }
    }

    /// The purges of all replicas since the last look. `None` stands for one whose filter is not kept any more.
    pub async fn new_purges(&self) -> Result<Vec<Option<PurgeFilter>>, Unavailable> {
        let known = *self.purges.lock();
        let (number, filters) = self.redis.numbered_after(PURGES, PURGE_FILTERS, known.unwrap_or(0)).await?;
        *self.purges.lock() = Some(number);
        let missed = |known: u64| {
            let expected = usize::try_from(number.saturating_sub(known)).unwrap_or(usize::MAX);
            let mut purges: Vec<_> =
                filters.iter().map(|(_, text)| serde_json::from_str(text).ok()).collect();
            if purges.len() < expected {
                purges.push(None);
            }
            purges
        };
        // There was nothing to purge before the first look.
        Ok(known.map(missed).unwrap_or_default())
    }
}

fn entry_key(key: &CacheKey) -> String {
    format!("{ENTRIES}{}", digest_hex(key))
}
