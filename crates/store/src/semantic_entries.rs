//! Entries of the semantic cache, kept over restarts: written shortly after they are made, and read in pages. The processes on
//! a database follow the changes of each other, or search it by vectors.

mod changes;
mod rows;
#[cfg(test)]
mod tests;
mod vectors;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use domain::clock::{Clock, Timestamp};
use domain::ids::{self, Entropy};
use tokio::sync::watch;

use crate::StoreError;
use crate::database::{Database, sql};
use crate::expiry::{ExpiringTable, LARGE_ROWS, SMALL_ROWS};
use crate::idempotency::KeptAnswer;
use crate::ledger::{Conditions, UsageFilter};
use crate::write_behind::{Aged, BatchSink, Queued, WriteBehindQueue};

pub use changes::{SemanticChange, SemanticChanges, SemanticPurge};
pub use vectors::NearestEntry;
use vectors::Vectors;

/// The time that removals are kept for processes that follow. One that could not read for longer has to begin anew.
pub const KEPT_REMOVALS: Duration = Duration::from_secs(24 * 3600);
pub(crate) const EXPIRING: ExpiringTable =
    ExpiringTable { name: "semantic_entries", time: "expires_at", key: "id" };
pub(crate) const EXPIRING_REMOVALS: ExpiringTable =
    ExpiringTable { name: "semantic_removals", time: "at", key: "seq" };

/// An entry. The formats of `facts` and of the answer's head are defined by the caller.
#[derive(Clone, Debug, PartialEq)]
pub struct SemanticRow {
    /// A digest of the partition and the prompt.
    pub id: String,
    pub partition: String,
    /// The embedder of the vector; vectors of different ones cannot be compared.
    pub embedder: String,
    /// The tenant of the caller that added the entry; empty without one.
    pub tenant_id: String,
    pub user_path: String,
    /// The model that answered, by its name at the provider.
    pub model: String,
    /// The lowest score at which the entry may be served, in millionths.
    pub min_score: i64,
    pub expires_at: Timestamp,
    pub vector: Vec<u8>,
    pub facts: String,
    pub prompt: String,
    pub answer: KeptAnswer,
}

/// The place after a page of entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SemanticCursor {
    expires_at: Timestamp,
    id: String,
}

impl SemanticCursor {
    /// The place after a row.
    pub fn after(row: &SemanticRow) -> Self {
        Self { expires_at: row.expires_at, id: row.id.clone() }
    }
}

/// The stored entries; clones share their state.
#[derive(Clone)]
pub struct SemanticEntries(Arc<Inner>);

struct Inner {
    database: Database,
    clock: Arc<dyn Clock>,
    backlog: WriteBehindQueue<Record>,
    /// Tells the changes of this process from those of others.
    origin: String,
    /// Set if the database is searched by vectors.
    vectors: OnceLock<Vectors>,
}

/// A change of one entry.
#[derive(Clone, Debug)]
struct Record {
    id: String,
    /// `None` if the entry is removed.
    row: Option<SemanticRow>,
}

impl Queued for Record {
    const NAME: &'static str = "entries of the semantic cache";

    fn id(&self) -> &str {
        &self.id
    }

    fn weight(&self) -> usize {
        self.row.as_ref().map_or(0, |row| row.prompt.len() + row.vector.len() + row.answer.body.len())
    }

    fn without_texts(&self) -> Self {
        Self { id: self.id.clone(), row: None }
    }

    fn gives_way_to(&self, _: &Self) -> bool {
        true
    }
}

impl BatchSink<Record> for Inner {
    async fn write(&self, batch: &[Aged<Record>]) -> Result<(), StoreError> {
        let recorded = (self.clock.now(), &*self.origin);
        rows::write(&self.database, self.vectors.get(), recorded, batch).await
    }
}

impl SemanticEntries {
    pub(crate) fn new(database: Database, clock: Arc<dyn Clock>, entropy: &dyn Entropy) -> Self {
        let origin = ids::unique(clock.now(), entropy).simple().to_string();
        let (backlog, vectors) = (WriteBehindQueue::default(), OnceLock::new());
        Self(Arc::new(Inner { database, clock, backlog, origin, vectors }))
    }

    /// Prepares the database for searches by vectors; fails if it has no pgvector. Entries that were written before are not
    /// found.
    pub async fn open_vectors(&self) -> Result<(), StoreError> {
        let vectors = Vectors::open(&self.0.database).await?;
        let _ = self.0.vectors.set(vectors);
        Ok(())
    }

    /// The entries of a partition and an embedder whose vectors are nearest, best first.
    pub async fn nearest(
        &self,
        partition: &str,
        embedder: &str,
        vector: &[f32],
        limit: i64,
    ) -> Result<Vec<NearestEntry>, StoreError> {
        let Some(vectors) = self.0.vectors.get() else { return Ok(Vec::new()) };
        let now = self.0.clock.now();
        vectors.nearest(&self.0.database, (partition, embedder), vector, now, limit).await
    }

    /// The entry with an id.
    pub async fn find(&self, id: &str) -> Result<Option<SemanticRow>, StoreError> {
        rows::find(&self.0.database, id).await
    }

    /// Whether other processes can write entries.
    pub fn is_shared(&self) -> bool {
        self.0.database.is_postgres()
    }

    /// The position of the last change.
    pub async fn position(&self) -> Result<i64, StoreError> {
        changes::position(&self.0.database).await
    }

    /// The changes that other processes have made after a position, at most `limit` entries and as many removals.
    pub async fn changes(
        &self,
        embedder: &str,
        after: i64,
        limit: i64,
    ) -> Result<SemanticChanges, StoreError> {
        changes::after(&self.0.database, embedder, &self.0.origin, after, limit).await
    }

    /// The number of entries, the expired ones included.
    pub async fn count(&self) -> Result<u64, StoreError> {
        let rows = self.0.database.fetch("SELECT COUNT(*) FROM semantic_entries", &[]).await?;
        let count: i64 = rows.first().ok_or(StoreError::NotFound)?.get(0)?;
        Ok(count.unsigned_abs())
    }

    /// Sets the lowest score of an entry, unless it does not exist or has a higher one. Other processes are not told.
    pub async fn raise_min_score(&self, id: &str, min_score: i64) -> Result<(), StoreError> {
        const RAISE: &str = "UPDATE semantic_entries SET min_score = $2 WHERE id = $1 AND min_score < $2";
        self.0.database.execute(RAISE, &[id.into(), min_score.into()]).await.map(drop)
    }

    /// Deletes the entries that expire first, as far as there are more than `most`, in batches; returns how many.
    pub async fn trim(&self, most: i64) -> Result<u64, StoreError> {
        const SURPLUS: &str = "DELETE FROM semantic_entries WHERE id IN \
             (SELECT id FROM semantic_entries ORDER BY expires_at DESC, id LIMIT $2 OFFSET $1)";
        let mut deleted = 0;
        loop {
            let count = self.0.database.execute(SURPLUS, &[most.into(), LARGE_ROWS.into()]).await?;
            deleted += count;
            if count < LARGE_ROWS as u64 {
                return Ok(deleted);
            }
        }
    }

    /// Writes changes to storage until stopped, then the remaining ones.
    pub async fn run(self, stop: watch::Receiver<bool>) {
        self.0.backlog.run(&*self.0, stop).await;
    }

    /// Stores an entry, or replaces the one with its id.
    pub fn put(&self, row: SemanticRow) {
        self.0.backlog.put(Record { id: row.id.clone(), row: Some(row) });
    }

    /// Removes an entry.
    pub fn remove(&self, id: String) {
        self.0.backlog.put(Record { id, row: None });
    }

    /// The entries of an embedder that have not expired, those that last longest first.
    pub async fn page(
        &self,
        embedder: &str,
        after: Option<&SemanticCursor>,
        limit: i64,
    ) -> Result<Vec<SemanticRow>, StoreError> {
        rows::page(&self.0.database, embedder, self.0.clock.now(), after, limit).await
    }

    /// Removes entries; returns how many.
    pub async fn purge(&self, purge: &SemanticPurge) -> Result<u64, StoreError> {
        // Entries that wait to be written would be stored after the deletion.
        while self.0.backlog.save(&*self.0).await? > 0 {}
        let filter = UsageFilter {
            tenant_id: purge.tenant_id.clone(),
            user_path: purge.user_path.clone(),
            model: purge.model.clone(),
            ..UsageFilter::between(Timestamp(0), Timestamp(0))
        };
        let conditions = Conditions::new(&filter);
        let (mut text, mut values) = ("DELETE FROM semantic_entries WHERE 1 = 1".to_owned(), Vec::new());
        conditions.append(&mut text, &mut values);
        let purged = SemanticChange::Purged(purge.clone());
        let recorded = (self.0.clock.now(), &*self.0.origin);
        let database = &self.0.database;
        database
            .limited(async {
                let mut open = database.begin().await?;
                let seq = changes::take_numbers(&mut open, 1).await?;
                let count = open.execute(sql(text), &values).await?;
                changes::record_removal(&mut open, seq, recorded, &purged).await?;
                open.commit().await?;
                Ok(count)
            })
            .await
    }

    /// Deletes the entries that have expired by `now`, in batches, and old removals; returns the number of entries.
    pub async fn expire(&self, now: Timestamp) -> Result<u64, StoreError> {
        let kept = i64::try_from(KEPT_REMOVALS.as_micros()).unwrap_or(i64::MAX);
        let old = Timestamp(now.micros() - kept);
        EXPIRING_REMOVALS.delete_before(&self.0.database, old, SMALL_ROWS).await?;
        EXPIRING.delete_expired(&self.0.database, now, LARGE_ROWS).await
    }
}
