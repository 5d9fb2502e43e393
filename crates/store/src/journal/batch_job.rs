//! A batch of the drainer: a range of a segment that is read and booked in one transaction.

use std::fs::File;
use std::sync::Arc;

use tokio::sync::OwnedMutexGuard;

use super::parts::{self, Part};
use super::read::{self, Batch, Loss, Progress, Stretch};
use crate::database::{Value, Writer};
use crate::ledger::ledger_writer::Booked;
use crate::{Store, StoreError};

/// A range of a segment that is read and booked, with all that this needs.
pub(super) struct BatchJob {
    pub store: Store,
    pub stretch: Stretch,
    pub file: Arc<File>,
    /// The name of the journal.
    pub journal: String,
    pub is_live: bool,
    /// The id of the segment.
    pub segment: String,
    /// The drained position that is expected in the database.
    pub committed: Option<u64>,
    pub buffer: Vec<u8>,
}

/// The result of a batch.
pub(super) struct BatchResult {
    pub progress: Progress,
    /// `None` if there was nothing to book.
    pub booked: Option<Result<Outcome, StoreError>>,
    /// The buffer can be used again.
    pub buffer: Vec<u8>,
}

impl BatchJob {
    /// Reads and books the batch. `turn` is held until the transaction has ended, whether or not it is waited for.
    pub async fn run(
        mut self,
        writer: Writer,
        _turn: OwnedMutexGuard<()>,
    ) -> Result<BatchResult, StoreError> {
        let (file, stretch) = (Arc::clone(&self.file), self.stretch);
        let mut buffer = std::mem::take(&mut self.buffer);
        let load = move || (read::load(&file, stretch, &mut buffer), buffer);
        let (length, mut buffer) = writer.blocking(load).await?;
        let bytes = &buffer[..length.map_err(unreadable)?];
        let batch = read::parse(&self.file, stretch, bytes).map_err(unreadable)?;
        let has_any = !batch.bookings.is_empty() || !batch.entries.is_empty();
        let booked = if has_any { Some(self.commit(&writer, &batch).await) } else { None };
        let progress = batch.progress;
        // A large record has made it larger.
        buffer.truncate(read::CHUNK as usize);
        buffer.shrink_to(read::CHUNK as usize);
        Ok(BatchResult { progress, booked, buffer })
    }

    async fn commit(&self, writer: &Writer, batch: &Batch<'_>) -> Result<Outcome, StoreError> {
        let Self { store, journal, .. } = self;
        let advance =
            Advance { journal, segment: &self.segment, old: self.committed, new: batch.progress.until };
        let whole = Part { bookings: &batch.bookings, entries: &batch.entries };
        let outcome = match book(store, writer, whole, journal, Some(&advance)).await {
            Err(error) if parts::is_refusal(&error) => {
                let refused = Box::pin(parts::book(store, writer, whole, journal)).await?;
                let nothing = Part { bookings: &[], entries: &[] };
                let Progress { from, until, .. } = batch.progress;
                let loss = |reason| Loss { from, until, reason, tail: false };
                match book(store, writer, nothing, journal, Some(&advance)).await? {
                    Outcome::Committed if !refused.is_empty() => {
                        Outcome::Without(refused.into_iter().map(loss).collect())
                    }
                    outcome => outcome,
                }
            }
            outcome => outcome?,
        };
        if self.is_live && !matches!(outcome, Outcome::Elsewhere) {
            let ledger = store.ledger();
            ledger.turns.tell(&batch.bookings, &ledger.leases().take_booked(journal));
        }
        Ok(outcome)
    }
}

pub(super) enum Outcome {
    Committed,
    /// Committed, except for receipts that the database rejects.
    Without(Vec<Loss>),
    /// The position in the database differs from the expected one: nothing was written.
    Elsewhere,
}

/// Advances the drained position of a segment from an expected value to a new one.
pub(super) struct Advance<'a> {
    journal: &'a str,
    segment: &'a str,
    old: Option<u64>,
    new: u64,
}

/// Writes rows, sums, audit entries and the position in one transaction.
pub(super) async fn book(
    store: &Store,
    writer: &Writer,
    Part { bookings, entries }: Part<'_, '_>,
    chain: &str,
    advance: Option<&Advance<'_>>,
) -> Result<Outcome, StoreError> {
    for one_at_a_time in [false, true] {
        let attempt = writer.limited(async {
            let mut open = writer.begin().await?;
            // Compare-and-set of the position, in the same transaction as the rows: if another drainer has advanced it,
            // or an earlier commit succeeded without a confirmation, nothing is written.
            if let Some(advance) = advance {
                let (sql, values) = advance.statement();
                if open.execute(sql, &values).await? != 1 {
                    return Ok(Some(Outcome::Elsewhere));
                }
            }
            let Some(new) = store.ledger().writer.book(&mut open, bookings, one_at_a_time).await? else {
                return Ok(None);
            };
            if store.audit().appender.append(&mut open, chain, entries, one_at_a_time).await?
                == Booked::SomeKnown
            {
                return Ok(None);
            }
            let leases = store.ledger().leases();
            let under_leases = leases.book(&mut open, chain, &new).await?;
            open.commit().await?;
            leases.committed(chain, under_leases);
            Ok(Some(Outcome::Committed))
        });
        if let Some(outcome) = attempt.await? {
            return Ok(outcome);
        }
    }
    Err(StoreError::Failed("a batch of receipts was neither new nor known".into()))
}

impl Advance<'_> {
    fn statement(&self) -> (&'static str, Vec<Value<'_>>) {
        let new = self.new as i64;
        match self.old {
            Some(old) => (
                "UPDATE journal_positions SET drained = $1 WHERE segment = $2 AND drained = $3",
                vec![new.into(), self.segment.into(), (old as i64).into()],
            ),
            None => (
                "INSERT INTO journal_positions (segment, journal, drained) VALUES ($1, $2, $3) \
                 ON CONFLICT (segment) DO NOTHING",
                vec![self.segment.into(), self.journal.into(), new.into()],
            ),
        }
    }
}

pub(super) fn unreadable(error: std::io::Error) -> StoreError {
    StoreError::Unavailable(format!("the journal cannot be read: {error}"))
}
