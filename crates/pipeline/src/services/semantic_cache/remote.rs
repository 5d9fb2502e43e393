//! Entries in another store that searches them: PostgreSQL with pgvector, or Qdrant. Calls wait for it for a bounded time, and
//! not at all after it has failed repeatedly.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use domain::clock::Timestamp;
use domain::resources::auth_key::digest_hex;
use store::{NearestEntry, SemanticEntries, SemanticRow, StoreError};

use super::decision::{self, Candidate, ComparedEntry};
use super::{
    CANDIDATES, Qdrant, RAISE, SemanticCache, SemanticEntry, SemanticMatch, SemanticOutcome, SemanticQuery,
    entry_id, stored_entry,
};
use crate::services::response_cache::{CacheKey, CachedAnswer, PurgeFilter};

/// Failures in a row after which the store is not asked for a while.
const MOST_FAILURES: u32 = 5;
const PAUSE: Duration = Duration::from_secs(10);
/// The time for work that no call waits for.
const BACKGROUND_LIMIT: Duration = Duration::from_secs(10);

/// The store.
pub enum RemoteEntries {
    Pgvector(SemanticEntries),
    Qdrant(Qdrant),
}

/// The reason why a store had no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreFailure {
    /// It did not answer in time.
    Timeout,
    /// It failed, or is not asked because it has failed repeatedly.
    Failed,
}

/// A store, with its bounds and its health.
pub struct RemoteStore {
    entries: RemoteEntries,
    max_entries: usize,
    timeout: Duration,
    failures: AtomicU32,
    /// Monotonic time until which the store is not asked, in milliseconds.
    paused_until: AtomicU64,
    /// The number of entries when it was last counted.
    count: AtomicU64,
}

impl ComparedEntry for NearestEntry {
    fn prompt(&self) -> &str {
        &self.prompt
    }

    fn min_score(&self) -> f32 {
        (self.min_score as f64 / 1e6) as f32
    }
}

impl RemoteStore {
    pub fn new(entries: RemoteEntries, max_entries: usize, timeout: Duration) -> Self {
        let (failures, paused_until, count) = (AtomicU32::new(0), AtomicU64::new(0), AtomicU64::new(0));
        Self { entries, max_entries, timeout, failures, paused_until, count }
    }

    pub fn len(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Runs an operation within a time, unless the store is paused, and records whether it succeeded.
    async fn run<T>(
        &self,
        limit: Duration,
        now: Duration,
        work: impl Future<Output = Result<T, String>>,
    ) -> Result<T, StoreFailure> {
        if now.as_millis() < u128::from(self.paused_until.load(Ordering::Relaxed)) {
            return Err(StoreFailure::Failed);
        }
        let (result, reason) = match tokio::time::timeout(limit, work).await {
            Ok(Ok(done)) => {
                self.failures.store(0, Ordering::Relaxed);
                return Ok(done);
            }
            Ok(Err(reason)) => (StoreFailure::Failed, reason),
            Err(_) => (StoreFailure::Timeout, format!("no answer within {} ms", limit.as_millis())),
        };
        if self.failures.fetch_add(1, Ordering::Relaxed) + 1 >= MOST_FAILURES {
            self.failures.store(0, Ordering::Relaxed);
            let until = u64::try_from((now + PAUSE).as_millis()).unwrap_or(u64::MAX);
            self.paused_until.store(until, Ordering::Relaxed);
            tracing::warn!(reason, pause = ?PAUSE, "store of the semantic cache failed repeatedly");
        } else {
            tracing::debug!(reason, "store of the semantic cache failed");
        }
        Err(result)
    }

    /// The most similar entries, without their answers.
    async fn nearest(
        &self,
        query: &SemanticQuery<'_>,
        embedder: &str,
        at: Timestamp,
    ) -> Result<Vec<NearestEntry>, String> {
        let partition = digest_hex(query.partition);
        match &self.entries {
            RemoteEntries::Pgvector(entries) => {
                let limit = CANDIDATES as i64;
                entries
                    .nearest(&partition, embedder, query.vector, limit)
                    .await
                    .map_err(|error| error.to_string())
            }
            RemoteEntries::Qdrant(qdrant) => {
                qdrant.nearest(&partition, embedder, query.vector, at, CANDIDATES).await
            }
        }
    }

    async fn find(&self, id: &str, dimensions: usize) -> Result<Option<SemanticRow>, String> {
        match &self.entries {
            RemoteEntries::Pgvector(entries) => entries.find(id).await.map_err(|error| error.to_string()),
            RemoteEntries::Qdrant(qdrant) => qdrant.find(id, dimensions).await,
        }
    }

    /// Searches the entries of a partition, decides between them, and reads the answer of the chosen one.
    async fn search<D: Future<Output = Option<SemanticMatch<NearestEntry>>>>(
        &self,
        query: &SemanticQuery<'_>,
        embedder: &str,
        (now, at): (Duration, Timestamp),
        decide: impl FnOnce(Vec<NearestEntry>) -> D,
    ) -> Result<SemanticMatch, String> {
        let found = self.nearest(query, embedder, at).await?;
        let SemanticMatch { score, word_overlap, outcome } =
            decide(found).await.ok_or("the process stops")?;
        let outcome = match outcome {
            SemanticOutcome::Hit(near) => {
                let row = self.find(&near.id, query.vector.len()).await?;
                let entry = row.and_then(|row| stored_entry::read(row, now, at));
                // Removed meanwhile, or not an entry of this partition.
                let entry = entry.filter(|entry| entry.partition == *query.partition);
                entry.map_or(SemanticOutcome::NoEntry, |entry| SemanticOutcome::Hit(Arc::new(entry)))
            }
            SemanticOutcome::NoEntry => SemanticOutcome::NoEntry,
            SemanticOutcome::BelowThreshold => SemanticOutcome::BelowThreshold,
            SemanticOutcome::PromptChanged => SemanticOutcome::PromptChanged,
        };
        Ok(SemanticMatch { score, word_overlap, outcome })
    }

    /// Adds or replaces an entry. PostgreSQL has it shortly after.
    async fn put(&self, row: SemanticRow, now: Duration) {
        match &self.entries {
            RemoteEntries::Pgvector(entries) => entries.put(row),
            RemoteEntries::Qdrant(qdrant) => _ = self.run(BACKGROUND_LIMIT, now, qdrant.put(&row)).await,
        }
    }

    /// Raises the lowest score of an entry, unless it is removed meanwhile.
    async fn raise(&self, entry: &SemanticEntry, min_score: i64, now: Duration) {
        let (id, dimensions) = (digest_hex(&entry.id), entry.vector.components.len());
        let raise = async {
            match &self.entries {
                RemoteEntries::Pgvector(entries) => {
                    entries.raise_min_score(&id, min_score).await.map_err(|error| error.to_string())
                }
                RemoteEntries::Qdrant(qdrant) => qdrant.raise_min_score(&id, dimensions, min_score).await,
            }
        };
        _ = self.run(BACKGROUND_LIMIT, now, raise).await;
    }

    async fn remove(&self, row: SemanticRow, now: Duration) {
        match &self.entries {
            RemoteEntries::Pgvector(entries) => entries.remove(row.id),
            RemoteEntries::Qdrant(qdrant) => {
                _ = self.run(BACKGROUND_LIMIT, now, qdrant.remove(&row.id, row.vector.len())).await;
            }
        }
    }

    /// Removes the entries that a filter names; returns how many.
    pub async fn purge(&self, filter: &PurgeFilter) -> Result<u64, StoreError> {
        let purge = filter.into();
        match &self.entries {
            RemoteEntries::Pgvector(entries) => entries.purge(&purge).await,
            RemoteEntries::Qdrant(qdrant) => {
                let purge = qdrant.purge(&purge);
                match tokio::time::timeout(BACKGROUND_LIMIT, purge).await {
                    Ok(purged) => purged.map_err(StoreError::Unavailable),
                    Err(_) => Err(StoreError::Unavailable("Qdrant did not answer in time".into())),
                }
            }
        }
    }

    /// Counts the entries and deletes surplus and expired ones.
    pub async fn maintain(&self, at: Timestamp) -> Result<(), String> {
        let counted = match &self.entries {
            RemoteEntries::Pgvector(entries) => {
                let most = i64::try_from(self.max_entries).unwrap_or(i64::MAX);
                let trimmed = entries.trim(most).await;
                trimmed.map_err(|error| error.to_string())?;
                entries.count().await.map_err(|error| error.to_string())?
            }
            // Its entries are bounded by their lifetime.
            RemoteEntries::Qdrant(qdrant) => qdrant.expire_and_count(at).await?,
        };
        self.count.store(counted, Ordering::Relaxed);
        Ok(())
    }
}

/// Decides between the most similar entries of another store.
pub fn decide_remote(query: &SemanticQuery<'_>, mut found: Vec<NearestEntry>) -> SemanticMatch<NearestEntry> {
    // The answer to the same text comes first, however similar others are.
    let same = digest_hex(&entry_id(query.partition, query.prompt));
    if let Some(position) = found.iter().position(|found| found.id == same) {
        found[..=position].rotate_right(1);
    }
    let candidates =
        found.into_iter().map(|entry| Candidate { score: (entry.score as f64 / 1e6) as f32, entry });
    decision::decide(query, candidates)
}

impl SemanticCache {
    /// Whether another store is searched.
    pub fn is_remote(&self) -> bool {
        self.remote.is_some()
    }

    /// Finds the answer to a similar request in another store; the times are the same on the two clocks. `decide` runs
    /// [`decide_remote`], which may take long, on a thread that serves no connection.
    pub async fn search_remote<D: Future<Output = Option<SemanticMatch<NearestEntry>>>>(
        &self,
        query: &SemanticQuery<'_>,
        times: (Duration, Timestamp),
        decide: impl FnOnce(Vec<NearestEntry>) -> D,
    ) -> Result<SemanticMatch, StoreFailure> {
        let remote = self.remote.as_ref().ok_or(StoreFailure::Failed)?;
        // The embedder has made the vector, so that its identity is known.
        let embedder = self.embedder.identity().map_err(|_| StoreFailure::Failed)?;
        remote.run(remote.timeout, times.0, remote.search(query, &embedder, times, decide)).await
    }

    /// Adds an answer to another store, unless entries were purged since this generation.
    pub async fn insert_remote(
        &self,
        partition: CacheKey,
        prompt: &str,
        vector: &[f32],
        cached: CachedAnswer,
        generation: u64,
        times: (Duration, Timestamp),
    ) {
        let entry = SemanticEntry::new(partition, prompt, vector, cached);
        let Some(entry) = entry.filter(|_| generation == self.generation()) else { return };
        let (Some(remote), Some(row)) = (&self.remote, self.row(&entry, times)) else { return };
        remote.put(row.clone(), times.0).await;
        if generation != self.generation() {
            remote.remove(row, times.0).await;
        }
    }

    /// Raises the lowest score of an entry of another store whose answer was wrong at this score.
    pub async fn raise_remote(&self, entry: &SemanticEntry, score: f64, now: Duration) {
        let min_score = (score as f32 + RAISE).max(entry.min_score);
        if let Some(remote) = &self.remote {
            remote.raise(entry, stored_entry::millionths(min_score), now).await;
        }
    }

    fn row(&self, entry: &SemanticEntry, (now, at): (Duration, Timestamp)) -> Option<SemanticRow> {
        stored_entry::row(entry, self.embedder.identity().ok()?, now, at)
    }

    /// Keeps the entries of another store, or those that processes share, within their bounds.
    pub async fn maintain_remote(&self, at: Timestamp) {
        let maintain = async {
            match (&self.remote, &self.storage) {
                (Some(remote), _) => remote.maintain(at).await,
                (None, Some(storage)) if storage.is_shared() => {
                    let most = i64::try_from(self.max_entries).unwrap_or(i64::MAX);
                    storage.trim(most).await.map(drop).map_err(|error| error.to_string())
                }
                _ => Ok(()),
            }
        };
        let maintained = tokio::time::timeout(BACKGROUND_LIMIT, maintain).await;
        if let Err(reason) = maintained.unwrap_or_else(|_| Err("no answer in time".to_owned())) {
            tracing::debug!(reason, "entries of the semantic cache could not be trimmed and counted");
        }
    }
}
