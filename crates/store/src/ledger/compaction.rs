//! Compaction: moves the sums of waiting deltas into the rollup tables.
//!
//! Receipts are booked with one delta per transaction (`delta`), because adding every sum to seven tables costs several
//! times as much as the rows themselves when there are many keys and paths. Compaction merges deltas, so that there are
//! few to read for a report, and adds those of a quarter hour to the tables when it is over: each sum of a quarter hour
//! is usually written once. Reports read both, in one snapshot, so it does not matter when compaction runs, nor whether
//! it is interrupted: every pass is one transaction.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use domain::clock::{Clock, Timestamp};
use tokio::sync::Notify;

use super::Ledger;
use super::delta::{self, Delta};
use super::ledger_writer::LedgerWriter;
use super::rollup;
use crate::StoreError;
use crate::database::{DatabaseFuture, Value, Writer, Writing};

/// Number of waiting deltas at which they are merged.
pub(crate) const MANY: u64 = 128;
/// Maximum time until quarter hours that are over are noticed.
const INTERVAL: Duration = Duration::from_secs(30);
/// Seconds after the end of a quarter hour at which its sums are added to the tables; most of its calls have ended.
const GRACE: i64 = 60;
/// Deltas per merge; bounds its memory.
const MERGED: i64 = MANY as i64;
/// Sums per merged delta. Each is added to the tables in one transaction, during which other writers wait.
const CHUNK: usize = 500;
/// Maximum number of sums that wait for the end of their quarter hour; bounds the time that reports take.
const MOST_WAITING: i64 = 20_000;
/// Maximum number of merges in a row.
const MERGES: usize = 64;
/// Key of the advisory lock of the process that compacts; an arbitrary number that is not used elsewhere.
const COMPACTING: i64 = 0x6761_7465_726f_6c6c;

/// Number of deltas that this process has written since its last compaction.
#[derive(Default)]
pub(super) struct WaitingDeltas {
    count: AtomicU64,
    grown: Notify,
}

impl WaitingDeltas {
    pub fn add_one(&self) {
        // Relaxed: a count that publishes no other data; the notification has its own ordering.
        if self.count.fetch_add(1, Ordering::Relaxed) + 1 >= MANY {
            self.grown.notify_one();
        }
    }

    /// Waits until many deltas have been written. A notification is stored if none waits for it, so none is missed.
    async fn until_many(&self) {
        while self.count.load(Ordering::Relaxed) < MANY {
            self.grown.notified().await;
        }
    }
}

/// The deltas that wait.
struct Waiting {
    deltas: i64,
    sums: i64,
    /// The earliest of their last buckets.
    oldest: i64,
}

enum Pass {
    /// Deltas were processed, and another pass may find more.
    More,
    /// Nothing is left to do.
    Done,
    /// Another process compacts.
    Elsewhere,
}

impl Ledger {
    /// Compacts regularly, and earlier when many deltas wait.
    pub async fn keep_compacting(self, clock: Arc<dyn Clock>) {
        let mut failing = false;
        loop {
            let backlog = self.writer.backlog();
            if failing {
                tokio::time::sleep(INTERVAL).await;
            } else {
                _ = tokio::time::timeout(INTERVAL, backlog.until_many()).await;
            }
            backlog.count.store(0, Ordering::Relaxed);
            let outcome = self.compact(clock.now()).await;
            match &outcome {
                Err(error) if !failing => tracing::warn!(%error, "compaction of usage sums failed"),
                Ok(()) if failing => tracing::info!("compaction of usage sums recovered"),
                _ => {}
            }
            failing = outcome.is_err();
        }
    }

    /// Merges deltas if there are many, and adds those of quarter hours that are over to the rollup tables.
    pub async fn compact(&self, now: Timestamp) -> Result<(), StoreError> {
        self.compact_before(rollup::quarter(Timestamp::from_seconds(now.seconds() - GRACE))).await
    }

    /// Adds all waiting deltas to the rollup tables: the last step of an orderly stop.
    pub async fn compact_all(&self) -> Result<(), StoreError> {
        self.compact_before(i64::MAX).await
    }

    /// `open` is the first bucket that is not over.
    async fn compact_before(&self, open: i64) -> Result<(), StoreError> {
        let waiting = self.waiting().await?;
        if waiting.deltas < MANY as i64 && waiting.oldest >= open {
            return Ok(());
        }
        let mut merged = Ok(());
        if waiting.deltas > 1 {
            for _ in 0..MERGES {
                match self.merge().await {
                    Ok(Pass::More) => {}
                    Ok(Pass::Done) => break,
                    Ok(Pass::Elsewhere) => return Ok(()),
                    // The deltas are added to the tables all the same, so that they do not grow without bound.
                    Err(error) => {
                        merged = Err(error);
                        break;
                    }
                }
            }
        }
        let open = if self.waiting().await?.sums > MOST_WAITING { i64::MAX } else { open };
        while let Pass::More = self.add_to_tables(open).await? {}
        merged
    }

    async fn waiting(&self) -> Result<Waiting, StoreError> {
        const WAITING: &str = "SELECT COUNT(*), CAST(COALESCE(SUM(entries), 0) AS BIGINT), \
             COALESCE(MIN(newest), 9223372036854775807) FROM rollup_deltas";
        let rows = self.database.fetch(WAITING, &[]).await?;
        let row = rows.first().ok_or(StoreError::NotFound)?;
        Ok(Waiting { deltas: row.get(0)?, sums: row.get(1)?, oldest: row.get(2)? })
    }

    /// Replaces the oldest deltas by their sum.
    async fn merge(&self) -> Result<Pass, StoreError> {
        self.database.on_writer(|writer| Box::pin(async move { writer.limited(merge(&writer)).await })).await
    }

    /// Adds the sums of one delta whose buckets are all before `open` to the rollup tables.
    async fn add_to_tables(&self, open: i64) -> Result<Pass, StoreError> {
        let ledger_writer = self.writer.clone();
        let add = move |writer: Writer| -> DatabaseFuture<'static, Pass> {
            Box::pin(async move { writer.limited(add_to_tables(&writer, &ledger_writer, open)).await })
        };
        self.database.on_writer(add).await
    }
}

async fn merge(writer: &Writer) -> Result<Pass, StoreError> {
    const OLDEST: &str = "DELETE FROM rollup_deltas WHERE id IN \
         (SELECT id FROM rollup_deltas ORDER BY id LIMIT $1) RETURNING sums";
    let mut open = writer.begin().await?;
    if !lock(&mut open).await? {
        return Ok(Pass::Elsewhere);
    }
    let taken = take(&mut open, OLDEST, MERGED).await?;
    let count = taken.len();
    let merging = move || delta::add_up(&taken).map(|total| Delta::chunks(&total, CHUNK));
    let merged = writer.blocking(merging).await??;
    for delta in &merged {
        insert(&mut open, delta).await?;
    }
    open.commit().await?;
    // Sums of so many keys do not get fewer by merging.
    let helped = merged.len() * 2 <= count;
    Ok(if helped && count as i64 == MERGED { Pass::More } else { Pass::Done })
}

async fn add_to_tables(writer: &Writer, ledger_writer: &LedgerWriter, open: i64) -> Result<Pass, StoreError> {
    const NEXT: &str = "DELETE FROM rollup_deltas WHERE id IN \
         (SELECT id FROM rollup_deltas WHERE newest < $1 ORDER BY id LIMIT 1) RETURNING sums";
    let mut transaction = writer.begin().await?;
    if !lock(&mut transaction).await? {
        return Ok(Pass::Elsewhere);
    }
    let taken = take(&mut transaction, NEXT, open).await?;
    let total = delta::add_up(&taken)?;
    ledger_writer.add_to_rollups(&mut transaction, total.sums()).await?;
    ledger_writer.note_uses(&mut transaction, &total.uses).await?;
    transaction.commit().await?;
    Ok(if taken.is_empty() { Pass::Done } else { Pass::More })
}

/// Inserts a delta in the caller's transaction.
pub(super) async fn insert(open: &mut Writing, delta: &Delta) -> Result<(), StoreError> {
    const INSERT: &str = "INSERT INTO rollup_deltas (oldest, newest, entries, sums) VALUES ($1, $2, $3, $4)";
    let Delta { oldest, newest, entries, bytes } = delta;
    let values = [Value::from(*oldest), (*newest).into(), (*entries).into(), bytes.as_slice().into()];
    open.execute(INSERT, &values).await.map(|_| ())
}

/// True if no other process compacts; on SQLite there is only one. Two at once would add up correctly, but wait for each
/// other's rows.
async fn lock(open: &mut Writing) -> Result<bool, StoreError> {
    const TRY: &str = "SELECT CAST(CASE WHEN pg_try_advisory_xact_lock($1) THEN 1 ELSE 0 END AS BIGINT)";
    if !open.is_postgres() {
        return Ok(true);
    }
    let rows = open.fetch(TRY, &[COMPACTING.into()]).await?;
    Ok(rows.first().ok_or(StoreError::NotFound)?.get::<i64>(0)? == 1)
}

/// Deletes deltas and returns them. Whoever deletes a row adds it, so each is added once.
async fn take(open: &mut Writing, delete: &'static str, bound: i64) -> Result<Vec<Vec<u8>>, StoreError> {
    open.fetch(delete, &[bound.into()]).await?.iter().map(|row| row.get(0)).collect()
}

#[cfg(test)]
mod tests;
