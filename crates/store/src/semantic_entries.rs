//! Entries of the semantic cache, kept over restarts: written shortly after they are made, and read in pages.

mod rows;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use domain::clock::{Clock, Timestamp};
use tokio::sync::watch;

use crate::StoreError;
use crate::database::{Database, Value, sql};
use crate::idempotency::KeptAnswer;
use crate::ledger::{Conditions, UsageFilter};
use crate::write_behind::{Aged, BatchSink, Queued, WriteBehindQueue};

/// Rows deleted per statement, so that other writers can proceed in between.
const DELETED_AT_ONCE: i64 = 200;

/// An entry. The formats of `facts` and of the answer's head are defined by the caller.
#[derive(Clone, Debug, PartialEq)]
pub struct SemanticRow {
    /// A digest of the partition and the prompt.
    pub id: String,
    pub partition: String,
    /// The embedder of the vector; vectors of different ones cannot be compared.
    pub embedder: String,
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
        rows::write(&self.database, batch).await
    }
}

impl SemanticEntries {
    pub(crate) fn new(database: Database, clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Inner { database, clock, backlog: WriteBehindQueue::default() }))
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

    /// Removes the entries of a user path and those below it, and of a model; without a condition, all.
    pub async fn purge(&self, user_path: Option<&str>, model: Option<&str>) -> Result<u64, StoreError> {
        // Entries that wait to be written would be stored after the deletion.
        while self.0.backlog.save(&*self.0).await? > 0 {}
        let filter = UsageFilter {
            user_path: user_path.map(str::to_owned),
            model: model.map(str::to_owned),
            ..UsageFilter::between(Timestamp(0), Timestamp(0))
        };
        let conditions = Conditions::new(&filter);
        let (mut text, mut values) = ("DELETE FROM semantic_entries WHERE 1 = 1".to_owned(), Vec::new());
        conditions.append(&mut text, &mut values);
        self.0.database.execute(sql(text), &values).await
    }

    /// Deletes the entries that have expired by `now`, in batches; returns their number.
    pub async fn expire(&self, now: Timestamp) -> Result<u64, StoreError> {
        const EXPIRED: &str = "DELETE FROM semantic_entries WHERE expires_at <= $1 AND id IN \
             (SELECT id FROM semantic_entries WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)";
        let mut deleted = 0;
        loop {
            let values: [Value<'_>; 2] = [now.micros().into(), DELETED_AT_ONCE.into()];
            let count = self.0.database.execute(EXPIRED, &values).await?;
            deleted += count;
            if count < DELETED_AT_ONCE as u64 {
                return Ok(deleted);
            }
        }
    }
}
