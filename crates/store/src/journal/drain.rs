//! The drainer: moves receipts from the journal to the ledger, each exactly once, whatever crashes in between.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use domain::receipt::{Opening, Receipt};
use tokio::sync::watch;

use super::Journal;
use super::batch_job::{BatchJob, BatchResult, Outcome, unreadable};
use super::parts::{self, Part};
use super::read::MOST_RECEIPTS;
use super::segment;
use super::source::JournalSource;
use crate::audit::AuditEntry;
use crate::database::Writer;
use crate::ledger::booking::Booking;
use crate::{Store, StoreError};

/// Time that a receipt waits for others to be booked with; fewer transactions make each row cheaper.
const GATHER: Duration = Duration::from_millis(100);
/// Number of records, openings included, that are booked without further waiting.
const ENOUGH: u64 = 2 * MOST_RECEIPTS as u64;
/// Maximum pause while nothing is written.
const IDLE: Duration = Duration::from_secs(1);
const FIRST_RETRY: Duration = Duration::from_millis(100);
const LAST_RETRY: Duration = Duration::from_secs(5);
/// Time limit for the final drain of a stopping process; the next process books the rest.
const LAST_DRAIN: Duration = Duration::from_secs(10);
/// Interval at which directories of dead processes are looked for.
const ADOPTION: Duration = Duration::from_secs(10);

pub struct Drainer {
    journal: Journal,
    store: Store,
    sources: Vec<JournalSource>,
    looked_at: Option<Duration>,
    /// The read buffer.
    buffer: Vec<u8>,
}

enum Step {
    Read(usize),
    /// Nothing was read, but the state changed: there may be more to do.
    Moved,
    Idle,
    /// An adopted directory was removed.
    Over,
}

enum Pause {
    None,
    Gather,
    Retry(Duration),
}

impl Pause {
    /// Waits until the pause is over; `seen` is the number of records before the last attempt.
    async fn over(self, journal: &Journal, seen: u64) {
        match self {
            Self::None => {}
            Self::Retry(pause) => tokio::time::sleep(pause).await,
            Self::Gather => {
                if tokio::time::timeout(IDLE, journal.until_records(seen + 1)).await.is_ok() {
                    _ = tokio::time::timeout(GATHER, journal.until_records(seen + ENOUGH)).await;
                }
            }
        }
    }
}

impl Drainer {
    pub fn new(journal: Journal, store: Store) -> Self {
        let sources = JournalSource::live(&journal);
        Self { journal, store, sources, looked_at: None, buffer: Vec::new() }
    }

    /// Drains until stopped, then drains the rest as far as time allows.
    pub async fn run(mut self, mut stop: watch::Receiver<bool>) {
        let journal = self.journal.clone();
        let mut retry = FIRST_RETRY;
        while !*stop.borrow() {
            let seen = journal.records();
            let pause = match self.attempt().await {
                Ok(_) if self.is_behind() => Pause::None,
                Ok(_) => Pause::Gather,
                Err(_) => Pause::Retry(retry),
            };
            retry = if let Pause::Retry(_) = pause { (retry * 2).min(LAST_RETRY) } else { FIRST_RETRY };
            tokio::select! {
                // A stop cancels only the pause, never an attempt.
                () = pause.over(&journal, seen) => {}
                _ = stop.wait_for(|stop| *stop) => break,
            }
        }
        if tokio::time::timeout(LAST_DRAIN, self.drain_all()).await.is_err() {
            let lag = self.journal.lag();
            tracing::warn!(
                bytes = lag.bytes,
                records = lag.records,
                "stopping before the journal is drained"
            );
            return;
        }
        self.settle();
    }

    /// Records that everything in the journal of this process is booked, if it is, so that `Journal::retire` removes it.
    pub(super) fn settle(&self) {
        let records = self.journal.records();
        let settled = self.sources.iter().filter(|source| source.is_live()).all(JournalSource::is_settled);
        if settled && self.journal.lag().records == 0 {
            *self.journal.0.settled.lock() = Some(records);
        }
    }

    /// True if some source has so much data that waiting for more makes no sense.
    fn is_behind(&self) -> bool {
        self.sources.iter().any(JournalSource::is_behind)
    }

    /// Books up to one batch of each directory; returns the number of records.
    pub async fn drain_once(&mut self) -> Result<usize, StoreError> {
        self.adopt().await;
        loop {
            let (mut records, mut moved) = (0, false);
            let mut index = 0;
            while index < self.sources.len() {
                match step(&self.store, &mut self.sources[index], &mut self.buffer).await? {
                    Step::Read(count) => records += count,
                    // To the next segment: the same source again.
                    Step::Moved => {
                        moved = true;
                        continue;
                    }
                    Step::Idle => {}
                    Step::Over => {
                        self.sources.remove(index);
                        moved = true;
                        continue;
                    }
                }
                index += 1;
            }
            if records > 0 || !moved {
                return Ok(records);
            }
        }
    }

    /// Drains until nothing is left, and keeps retrying while storage is unavailable; apply a timeout.
    pub async fn drain_all(&mut self) {
        let mut retry = FIRST_RETRY;
        loop {
            match self.attempt().await {
                Ok(0) => return,
                Ok(_) => retry = FIRST_RETRY,
                Err(_) => {
                    tokio::time::sleep(retry).await;
                    retry = (retry * 2).min(LAST_RETRY);
                }
            }
        }
    }

    /// Like `drain_once`, and logs when storage becomes unavailable or available again.
    async fn attempt(&mut self) -> Result<usize, StoreError> {
        let result = self.drain_once().await;
        // Relaxed: a status flag that publishes no other data.
        let failing = self.journal.0.stuck.swap(result.is_err(), Ordering::Relaxed);
        match &result {
            Err(error) if !failing => {
                tracing::error!(%error, "booking receipts failed, keeping them in the journal")
            }
            Ok(_) if failing => tracing::info!("booking receipts recovered"),
            _ => {}
        }
        result
    }

    async fn adopt(&mut self) {
        let now = self.journal.0.clock.tick();
        if self.looked_at.is_some_and(|last| now.saturating_sub(last) < ADOPTION) {
            return;
        }
        self.looked_at = Some(now);
        let journal = self.journal.clone();
        match blocking(move || JournalSource::orphans(&journal)).await {
            Ok(orphans) => self.sources.extend(orphans),
            Err(error) => {
                tracing::error!(%error, "orphaned journal takeover failed")
            }
        }
    }
}

impl Journal {
    /// Removes the directory of this process if everything in it is booked: the last step of an orderly stop, after the
    /// drainer has ended.
    pub async fn retire(&self, store: &Store) {
        if !self.is_settled() {
            return;
        }
        // First: a directory that stays behind is closed by the next process, a lease without one never.
        if let Err(error) = store.ledger().leases().close(&self.0.name).await {
            tracing::warn!(%error, "closing the budget leases failed, the next process does it");
            return;
        }
        let journal = self.clone();
        match blocking(move || journal.remove_settled()).await {
            Ok(true) => {
                forget_journal(store, &self.0.name).await;
            }
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, "removing the drained journal directory failed"),
        }
    }
}

async fn step(store: &Store, source: &mut JournalSource, buffer: &mut Vec<u8>) -> Result<Step, StoreError> {
    for segment in source.sweep() {
        forget(store, "DELETE FROM journal_positions WHERE segment = $1", &segment).await;
    }
    if source.cursor.is_none() {
        return match source.next_segment() {
            Some(segment) => {
                let committed = position(store, &segment.id).await?;
                let opened = segment.clone();
                let file = blocking(move || segment::open(&opened)).await?;
                source.enter(segment, Arc::new(file), committed);
                Ok(Step::Moved)
            }
            None if source.is_live() => Ok(Step::Idle),
            None => finish(store, source).await,
        };
    }
    let (Some(stretch), Some(cursor)) = (source.stretch(), source.cursor.as_ref()) else {
        return Ok(if source.leave() { Step::Moved } else { Step::Idle });
    };
    let job = BatchJob {
        store: store.clone(),
        stretch,
        file: Arc::clone(&cursor.file),
        journal: source.name.clone(),
        is_live: source.is_live(),
        segment: cursor.segment.id.clone(),
        committed: cursor.committed,
        buffer: std::mem::take(buffer),
    };
    // Held until the transaction has ended, whether or not it is waited for: readers that add our own unbooked receipts to
    // the sums of the ledger must hear of this booking before they can read it there.
    let turn = store.ledger().turns.take().await;
    let done = store.database().on_writer(|writer| Box::pin(job.run(writer, turn))).await;
    let BatchResult { mut progress, booked, buffer: bytes } = match done {
        Ok(done) => done,
        Err(error) => {
            source.pace(false);
            return Err(error);
        }
    };
    *buffer = bytes;
    let records = progress.records as usize;
    let is_booked = booked.is_some();
    if let Some(outcome) = booked {
        let segment = cursor.segment.id.clone();
        source.pace(outcome.is_ok());
        match outcome? {
            Outcome::Committed => {}
            Outcome::Without(losses) => {
                source.put_aside();
                progress.losses.extend(losses);
            }
            Outcome::Elsewhere => {
                let committed = position(store, &segment).await?;
                source.correct(committed);
                return Ok(Step::Moved);
            }
        }
    }
    source.apply(progress, is_booked);
    Ok(if records > 0 { Step::Read(records) } else { Step::Moved })
}

/// Finishes the directory of a dead process that was read to its end: its open calls will never close.
async fn finish(store: &Store, source: &mut JournalSource) -> Result<Step, StoreError> {
    // Held until the directory is removed; a backup that runs needs it.
    let root = source.root();
    let Some(_guard) = blocking(move || segment::lock_removal(&root)).await? else { return Ok(Step::Idle) };
    let (followed, interrupted): (Vec<Opening>, Vec<Opening>) =
        source.unclosed().into_iter().partition(|opening| opening.follow.is_some());
    for opening in followed {
        source.hand_over(opening).map_err(|error| {
            StoreError::Unavailable(format!("a background response cannot be taken over: {error}"))
        })?;
    }
    let receipts: Vec<Receipt> = interrupted.into_iter().map(Receipt::interrupted).collect();
    let bookings = receipts.iter().filter_map(|receipt| Booking::of(receipt).transpose());
    let bookings = bookings.collect::<Result<Vec<_>, _>>()?;
    // No position guards these: they are deduplicated by id, so a crash before the directory is removed books nothing
    // twice.
    let entries = receipts.into_iter().filter(|receipt| receipt.audit.is_some());
    let entries: Vec<AuditEntry> = entries.collect();
    let chunks = bookings.chunks(source.most).map(|bookings| Part { bookings, entries: &[] });
    let chunks = chunks.chain(entries.chunks(source.most).map(|entries| Part { bookings: &[], entries }));
    let writer = Writer::Pool(store.database().clone());
    for part in chunks {
        let refused = Box::pin(parts::book(store, &writer, part, &source.name)).await;
        source.pace(refused.is_ok());
        if !refused?.is_empty() {
            source.spoil();
        }
    }
    if !bookings.is_empty() {
        tracing::warn!(calls = bookings.len(), journal = %source.name, "interrupted calls booked at their reservation");
    }
    // Before the directory is removed: without it nothing would ever close the leases.
    store.ledger().leases().close(&source.name).await?;
    source.dissolve().map_err(|error| {
        StoreError::Unavailable(format!("a journal that was booked cannot be removed: {error}"))
    })?;
    forget_journal(store, &source.name).await;
    Ok(Step::Over)
}

/// Deletes the positions of a removed directory, and the row of its process in the table of replicas.
async fn forget_journal(store: &Store, name: &str) {
    forget(store, "DELETE FROM journal_positions WHERE journal = $1", name).await;
    if let Err(error) = store.replicas().remove(name).await {
        tracing::debug!(%error, "deleting the row of an ended replica failed");
    }
}

/// Deletes positions of removed files; a row that stays behind does no harm.
async fn forget(store: &Store, sql: &'static str, name: &str) {
    if let Err(error) = store.database().execute(sql, &[name.into()]).await {
        tracing::debug!(%error, "deleting the position of a removed segment failed");
    }
}

async fn position(store: &Store, segment: &str) -> Result<Option<u64>, StoreError> {
    let rows = store
        .database()
        .fetch("SELECT drained FROM journal_positions WHERE segment = $1", &[segment.into()])
        .await?;
    Ok(rows.first().map(|row| row.get::<i64>(0)).transpose()?.map(|drained| drained.max(0) as u64))
}

/// Runs file reads and parsing on a blocking thread, off the async workers.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> Result<T, StoreError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(unreadable(error)),
        Err(error) => Err(StoreError::Failed(format!("reading the journal failed: {error}"))),
    }
}
