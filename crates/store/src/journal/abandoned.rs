//! Drains a journal directory whose processes have all ended: that of a replica that vanished.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use domain::clock::Clock;
use domain::ids::Entropy;
use domain::receipt::Receipt;

use super::drain::Drainer;
use super::{Journal, JournalConfig, ShardId, segment};
use crate::{Store, StoreError};

/// Space for background responses, which are closed in a journal of this process.
const SEGMENT_BYTES: usize = 64 << 10;
/// Attempts without progress before storage counts as down.
const MOST_FAILURES: u32 = 5;
const RETRY: Duration = Duration::from_millis(500);

/// Counts of a drained directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DrainCounts {
    /// Directories of ended processes.
    pub journals: usize,
    pub bytes: u64,
    /// Records that were read, openings of calls included.
    pub records: usize,
    /// Background responses that still ran at a provider, booked at their reservation.
    pub background_responses: usize,
    /// Places that could not be read or booked; their files are kept in `damaged`.
    pub damaged: u64,
}

/// The reason why a directory was not drained.
#[derive(Debug)]
pub enum DrainError {
    /// It has neither directories of processes nor a place for them.
    NotAJournal(PathBuf),
    /// A running process holds the lock of this directory.
    InUse(PathBuf),
    Unreadable(PathBuf, io::Error),
    Storage(StoreError),
    /// The directories that are left, for example because a backup holds them.
    Left(Vec<PathBuf>),
}

impl fmt::Display for DrainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAJournal(path) => write!(
                f,
                "{} is not a journal directory: it has no directories of processes. Name the directory `journal` in the \
                 data directory of the replica.",
                path.display()
            ),
            Self::InUse(path) => write!(
                f,
                "{} belongs to a running process, which drains it itself. Stop that process first.",
                path.display()
            ),
            Self::Unreadable(path, error) => write!(f, "{} cannot be read: {error}", path.display()),
            Self::Storage(error) => write!(
                f,
                "Receipts cannot be booked: {error}. Those that were booked stay booked; run the command again to book the rest."
            ),
            Self::Left(paths) => {
                let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
                write!(f, "Not drained: {}. Run the command again.", names.join(", "))
            }
        }
    }
}

impl std::error::Error for DrainError {}

/// Books everything in a journal directory, each receipt exactly once, and removes it. `path` is that directory or the data
/// directory that contains it. Refuses while a process uses it.
pub async fn drain_abandoned(
    path: &Path,
    store: &Store,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    progress: impl FnMut(&DrainCounts),
) -> Result<DrainCounts, DrainError> {
    let (root, journals) = find(path)?;
    let unreadable = |error| DrainError::Unreadable(root.clone(), error);
    let mut counts = DrainCounts { journals: journals.len(), ..DrainCounts::default() };
    if journals.is_empty() {
        return Ok(counts);
    }
    for journal in &journals {
        counts.bytes += content_bytes(journal).map_err(unreadable)?;
    }
    let config = JournalConfig {
        directory: root.clone(),
        workers: 0,
        segment_bytes: SEGMENT_BYTES,
        max_bytes: u64::MAX,
        fsync: true,
    };
    let journal = Journal::open(config, clock, entropy).map_err(unreadable)?;
    let mut drainer = Drainer::new(journal.clone(), store.clone());
    drain(&mut drainer, &mut counts, progress).await.map_err(DrainError::Storage)?;
    for opening in journal.take_followed() {
        counts.background_responses += 1;
        journal.close_call(&Receipt::interrupted(opening), ShardId::SHARED).map_err(unreadable)?;
    }
    drain(&mut drainer, &mut counts, |_| {}).await.map_err(DrainError::Storage)?;
    drainer.settle();
    journal.retire(store).await;
    counts.damaged = journal.damaged();
    let left = segment::directories(&root).map_err(unreadable)?;
    match left.is_empty() {
        true => Ok(counts),
        false => Err(DrainError::Left(left.into_iter().map(|(_, path)| path).collect())),
    }
}

/// The size of the records in a directory.
fn content_bytes(journal: &Path) -> io::Result<u64> {
    let segments = segment::list(journal)?.into_iter().map(segment::Segment::trimmed);
    segments.map(|segment| Ok(segment?.length)).sum()
}

/// The directory of all journals, and those of the processes in it, none of which runs.
fn find(path: &Path) -> Result<(PathBuf, Vec<PathBuf>), DrainError> {
    let inside = path.join("journal");
    let root = if inside.is_dir() { inside } else { path.to_owned() };
    let unreadable = |error| DrainError::Unreadable(root.clone(), error);
    // Fails if the directory does not exist, which `directories` would accept.
    std::fs::read_dir(&root).map_err(unreadable)?;
    let has_segments = !segment::list(&root).map_err(unreadable)?.is_empty();
    let directories = segment::directories(&root).map_err(unreadable)?;
    let mut journals = Vec::with_capacity(directories.len());
    for (_, journal) in directories {
        if !segment::has_lock(&journal) {
            return Err(DrainError::NotAJournal(root));
        }
        if segment::is_in_use(&journal).map_err(unreadable)? {
            return Err(DrainError::InUse(journal));
        }
        journals.push(journal);
    }
    if has_segments || (journals.is_empty() && !segment::is_root(&root)) {
        return Err(DrainError::NotAJournal(root));
    }
    Ok((root, journals))
}

/// Drains until nothing is left, or storage fails repeatedly.
async fn drain(
    drainer: &mut Drainer,
    counts: &mut DrainCounts,
    mut progress: impl FnMut(&DrainCounts),
) -> Result<(), StoreError> {
    let mut failures = 0;
    loop {
        match drainer.drain_once().await {
            Ok(0) => return Ok(()),
            Ok(records) => {
                failures = 0;
                counts.records += records;
                progress(counts);
            }
            Err(error) => {
                failures += 1;
                if failures >= MOST_FAILURES {
                    return Err(error);
                }
                tracing::warn!(%error, "booking receipts failed, trying again");
                tokio::time::sleep(RETRY).await;
            }
        }
    }
}
