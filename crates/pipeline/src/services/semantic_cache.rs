//! The semantic cache: answers by the meaning of the last text of a request, in memory and in storage, or in a vector store.

mod checks;
mod decision;
mod qdrant;
mod remote;
mod remote_changes;
mod stored_entry;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use domain::clock::Timestamp;
use domain::resources::auth_key::digest_hex;
use moka::notification::RemovalCause;
use moka::policy::EvictionPolicy;
use parking_lot::{Mutex, RwLock};
use semantic_cache::index::{EntryId, IndexLimits, NewEntry, VectorIndex};
use semantic_cache::quantise::{Quantised, quantise};
use sha2::{Digest as _, Sha256};
use store::{SemanticCursor, SemanticEntries, StoreError};
use tokio::sync::Semaphore;

use super::embedder::Embedder;
use super::response_cache::{CacheKey, CachedAnswer, PurgeFilter};

use checks::Checks;
use decision::Candidate;
pub use decision::{SemanticMatch, SemanticOutcome, SemanticQuery};
pub use qdrant::{Qdrant, QdrantConfig};
use remote::{RemoteEntries, RemoteStore};
pub use remote::{StoreFailure, decide_remote};
pub use remote_changes::ChangePosition;

/// Entries that a search compares by their words, beginning with the most similar one.
const CANDIDATES: usize = 8;
/// The memory of an entry besides its texts and its vector.
const ENTRY_OVERHEAD: usize = 768;
/// Entries that are read from storage at once.
const PAGE: i64 = 200;
/// Most embeddings that are computed at the same time.
const MOST_SLOTS: usize = 4;
/// How far the lowest score of an entry is raised above the score at which it was wrong. Above 1, only the same text is a
/// hit.
const RAISE: f32 = 0.01;
/// Most hits that are asked again at the same time; further ones are not.
const MOST_RECHECKS: usize = 4;

/// Bounds of the cache.
#[derive(Clone, Copy, Debug)]
pub struct SemanticLimits {
    pub max_entries: usize,
    pub max_bytes: u64,
    /// The longest time that a call waits for another store.
    pub store_timeout: Duration,
}

/// The place where entries are kept.
pub enum EntryStorage {
    /// In memory alone: they end with the process.
    Memory,
    /// In memory, which is searched, and in storage.
    Embedded(SemanticEntries),
    /// In PostgreSQL, which is searched with pgvector.
    Pgvector(SemanticEntries),
    /// In Qdrant, which is searched.
    Qdrant(Qdrant),
}

/// An answer, and the text that it belongs to.
#[derive(Clone, Debug)]
pub struct SemanticEntry {
    pub id: EntryId,
    /// The hash of everything else in the request, of its target and of its callers.
    pub partition: CacheKey,
    pub prompt: String,
    vector: Quantised,
    /// The lowest score at which the answer may be served, after it was wrong.
    min_score: f32,
    pub cached: Arc<CachedAnswer>,
}

impl SemanticEntry {
    /// `None` if the vector cannot be compared.
    fn new(partition: CacheKey, prompt: &str, vector: &[f32], cached: CachedAnswer) -> Option<Self> {
        let (id, prompt) = (entry_id(&partition, prompt), prompt.to_owned());
        Some(Self {
            id,
            partition,
            prompt,
            vector: quantise(vector)?,
            min_score: 0.0,
            cached: Arc::new(cached),
        })
    }
}

/// The semantic cache. Searches and insertions take milliseconds, and run on threads that serve no connection.
pub struct SemanticCache {
    pub embedder: Embedder,
    /// Slots for computing embeddings.
    pub slots: Arc<Semaphore>,
    /// Slots for hits that are asked again.
    pub recheck_slots: Arc<Semaphore>,
    entries: moka::sync::Cache<EntryId, Arc<SemanticEntry>>,
    /// Locked after `entries`, and never while they are changed: their removal listener locks it.
    index: Arc<RwLock<VectorIndex>>,
    storage: Option<SemanticEntries>,
    max_entries: usize,
    /// Set if another store is searched; memory has no entries then.
    remote: Option<RemoteStore>,
    /// Number of purges.
    generation: AtomicU64,
    checks: Checks,
    /// The reason why the last embedding failed.
    failure: Mutex<Option<String>>,
}

impl SemanticCache {
    pub fn new(limits: SemanticLimits, embedder: Embedder, storage: EntryStorage) -> Self {
        let SemanticLimits { max_entries, max_bytes, store_timeout } = limits;
        let (storage, remote) = match storage {
            EntryStorage::Memory => (None, None),
            EntryStorage::Embedded(entries) => (Some(entries), None),
            EntryStorage::Pgvector(entries) => (None, Some(RemoteEntries::Pgvector(entries))),
            EntryStorage::Qdrant(qdrant) => (None, Some(RemoteEntries::Qdrant(qdrant))),
        };
        // The other bound is that of `entries`, whose evictions the index follows.
        let of_index = IndexLimits { max_entries: usize::MAX, max_bytes: usize::MAX };
        let index = Arc::new(RwLock::new(VectorIndex::new(of_index)));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            embedder,
            slots: Arc::new(Semaphore::new((cores / 2).clamp(1, MOST_SLOTS))),
            recheck_slots: Arc::new(Semaphore::new(MOST_RECHECKS)),
            remote: remote.map(|entries| RemoteStore::new(entries, max_entries, store_timeout)),
            entries: entries(max_entries, max_bytes, index.clone(), storage.clone()),
            index,
            storage,
            max_entries,
            generation: AtomicU64::new(0),
            checks: Checks::default(),
            failure: Mutex::default(),
        }
    }

    /// Finds the answer to a similar request.
    pub fn search(&self, query: &SemanticQuery<'_>, now: Duration) -> SemanticMatch {
        let mut found = self.index.read().search(query.partition, query.vector, CANDIDATES, now);
        // The answer to the same text comes first, however similar others are.
        let same = entry_id(query.partition, query.prompt);
        if let Some(position) = found.iter().position(|found| found.id == same) {
            found[..=position].rotate_right(1);
        }
        let candidates = found.into_iter().filter_map(|found| {
            let entry = self.entries.get(&found.id)?;
            let is_current = entry.partition == *query.partition && now < entry.cached.expires_at;
            is_current.then_some(Candidate { entry, score: found.score })
        });
        decision::decide(query, candidates)
    }

    /// The number of purges so far, for [`SemanticCache::insert`].
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Adds an answer, unless entries were purged since this generation. `now` and `at` are the same time on the two
    /// clocks.
    pub fn insert(
        &self,
        partition: CacheKey,
        prompt: &str,
        vector: &[f32],
        cached: CachedAnswer,
        generation: u64,
        (now, at): (Duration, Timestamp),
    ) {
        let entry = SemanticEntry::new(partition, prompt, vector, cached);
        let Some(entry) = entry.filter(|_| generation == self.generation()) else { return };
        let id = entry.id;
        // Before it is added: an entry that is too large is removed again.
        self.store(&entry, now, at);
        self.add(Arc::new(entry), now);
        self.remove_if_purged(&id, generation);
    }

    /// Removes an entry that was added while entries were purged: the purge may not have seen it.
    fn remove_if_purged(&self, id: &EntryId, generation: u64) {
        if generation == self.generation() {
            return;
        }
        self.entries.invalidate(id);
        self.index.write().remove(id);
        if let Some(storage) = &self.storage {
            storage.remove(digest_hex(id));
        }
    }

    fn add(&self, entry: Arc<SemanticEntry>, now: Duration) {
        let indexed = NewEntry {
            id: entry.id,
            partition: entry.partition,
            vector: entry.vector.clone(),
            expires_at: entry.cached.expires_at,
            min_score: entry.min_score,
        };
        let expired = {
            let mut index = self.index.write();
            index.insert(indexed);
            index.remove_expired(now)
        };
        expired.iter().for_each(|id| self.entries.invalidate(id));
        self.entries.insert(entry.id, entry);
    }

    /// Raises the lowest score of an entry whose answer was wrong at this score.
    pub fn raise_min_score(&self, entry: &SemanticEntry, score: f64, (now, at): (Duration, Timestamp)) {
        let min_score = (score as f32 + RAISE).max(entry.min_score);
        let generation = self.generation();
        let Some(current) = self.entries.get(&entry.id) else { return };
        let raised = Arc::new(SemanticEntry { min_score, ..(*current).clone() });
        self.index.write().raise_min_score(&entry.id, min_score);
        self.entries.insert(entry.id, raised.clone());
        self.store(&raised, now, at);
        self.remove_if_purged(&entry.id, generation);
    }

    fn store(&self, entry: &SemanticEntry, now: Duration, at: Timestamp) {
        let Some(storage) = &self.storage else { return };
        if let Ok(embedder) = self.embedder.identity()
            && let Some(row) = stored_entry::row(entry, embedder, now, at)
        {
            storage.put(row);
        }
    }

    /// Reads the stored entries of the embedder, as far as they fit; returns how many.
    pub async fn load(&self, embedder: &str, now: Duration, at: Timestamp) -> Result<usize, StoreError> {
        let Some(storage) = &self.storage else { return Ok(0) };
        let (mut after, mut loaded): (Option<SemanticCursor>, usize) = (None, 0);
        let generation = self.generation();
        loop {
            let page = storage.page(embedder, after.as_ref(), PAGE).await?;
            let Some(last) = page.last() else { return Ok(loaded) };
            after = Some(SemanticCursor::after(last));
            for entry in page.into_iter().filter_map(|row| stored_entry::read(row, now, at)) {
                // Calls have been answered meanwhile, and their answers are newer.
                if generation == self.generation() && !self.entries.contains_key(&entry.id) {
                    let id = entry.id;
                    self.add(Arc::new(entry), now);
                    self.remove_if_purged(&id, generation);
                    loaded += 1;
                }
            }
            self.entries.run_pending_tasks();
            if (self.entries.entry_count() as usize) < loaded {
                // The cache is full.
                return Ok(loaded);
            }
        }
    }

    /// Removes entries from memory; returns how many. [`SemanticCache::purge_stored`] removes the stored ones.
    pub fn purge(&self, filter: &PurgeFilter) -> u64 {
        self.generation.fetch_add(1, Ordering::AcqRel);
        let entries = self.entries.iter().filter(|(_, entry)| filter.matches(&entry.cached));
        let found: Vec<EntryId> = entries.map(|(id, _)| *id).collect();
        for id in &found {
            self.entries.invalidate(id);
            self.index.write().remove(id);
        }
        found.len() as u64
    }

    /// Removes entries from storage. Returns the number of those that were not in memory, as far as it is known.
    pub async fn purge_stored(&self, filter: &PurgeFilter) -> Result<u64, StoreError> {
        if let Some(remote) = &self.remote {
            return remote.purge(filter).await;
        }
        let Some(storage) = &self.storage else { return Ok(0) };
        storage.purge(&filter.into()).await?;
        Ok(0)
    }

    /// The number of entries, after pending removals; in another store, when it was last asked.
    pub fn len(&self) -> u64 {
        if let Some(remote) = &self.remote {
            return remote.len();
        }
        self.entries.run_pending_tasks();
        self.entries.entry_count()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn checks(&self) -> &Checks {
        &self.checks
    }

    /// Records whether the last embedding failed, and why.
    pub fn record_embedding(&self, failure: Option<String>) {
        *self.failure.lock() = failure;
    }

    /// The reason why the last embedding failed.
    pub fn failure(&self) -> Option<String> {
        self.failure.lock().clone()
    }
}

/// The entries, bounded by their number and their bytes: the least recently used ones are removed first, also from the
/// index, and from storage unless other processes use it: they may have room for them.
fn entries(
    max_entries: usize,
    max_bytes: u64,
    index: Arc<RwLock<VectorIndex>>,
    storage: Option<SemanticEntries>,
) -> moka::sync::Cache<EntryId, Arc<SemanticEntry>> {
    // An entry weighs at least its share of the bytes, so that the bound on bytes is one on entries, too.
    let least = max_bytes / (max_entries.max(1) as u64);
    let weight = move |_: &EntryId, entry: &Arc<SemanticEntry>| {
        let vector = 2 * entry.vector.components.len();
        let bytes = entry.cached.answer.size() + entry.prompt.len() + vector + ENTRY_OVERHEAD;
        u32::try_from((bytes as u64).max(least)).unwrap_or(u32::MAX)
    };
    let removed = move |id: Arc<EntryId>, _: Arc<SemanticEntry>, cause: RemovalCause| {
        if cause == RemovalCause::Size {
            index.write().remove(&id);
            if let Some(storage) = storage.as_ref().filter(|storage| !storage.is_shared()) {
                storage.remove(digest_hex(&id));
            }
        }
    };
    moka::sync::Cache::builder()
        .max_capacity(max_bytes)
        .weigher(weight)
        .eviction_policy(EvictionPolicy::lru())
        .eviction_listener(removed)
        .build()
}

fn entry_id(partition: &CacheKey, prompt: &str) -> EntryId {
    Sha256::new().chain_update(partition).chain_update(prompt).finalize().into()
}

/// The cosine of two vectors; 0 if they cannot be compared.
pub fn cosine(one: &[f32], other: &[f32]) -> f64 {
    match (quantise(one), quantise(other)) {
        (Some(one), Some(other)) => f64::from(one.cosine(&other)),
        _ => 0.0,
    }
}
