//! A journal directory being drained, our own or that of a dead process: the read position and the calls still open.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use domain::receipt::Opening;
use foldhash::HashMap;

use super::Journal;
use super::read::{CHUNK, Loss, MOST_RECEIPTS, Opened, Progress, Stretch};
use super::segment::{self, HEADER, Segment};
use super::shard::ShardId;
use crate::journal_record::OpeningRecord;

/// Number of finished segments of a shard that are kept for open calls. Beyond it, the openings of these calls are
/// repeated in the newest segment. Not for every segment: with many long streams each repetition would fill the next.
const MAX_RETIRED: usize = if cfg!(test) { 1 } else { 8 };

/// A shard of this process, or the directory of a dead process, that is being read.
pub(super) struct JournalSource {
    pub name: String,
    journal: Journal,
    state: SourceState,
    pub cursor: Option<Cursor>,
    /// The last segment that was read to its end.
    last: Option<u64>,
    /// Segments read to their end and kept because calls that opened there are still open; true if damaged.
    retired: Vec<(Segment, bool)>,
    open: HashMap<Box<str>, OpenCall>,
    /// Current batch size: reduced when storage cannot take more in time.
    pub most: usize,
}

enum SourceState {
    /// A shard of this process.
    Live(ShardId),
    /// The lock is held until the directory is removed.
    Adopted { path: PathBuf, segments: Vec<Segment>, _lock: File },
}

pub(super) struct Cursor {
    pub segment: Segment,
    pub file: Arc<File>,
    pub offset: u64,
    /// The drained position in the database; `None` while it has no row for this segment.
    pub committed: Option<u64>,
    booked_until: u64,
    /// Counted as drained up to this offset.
    counted: u64,
    damaged: bool,
}

struct OpenCall {
    opening: OpeningRecord,
    /// The segment that must be kept while this call is open.
    home: u64,
    /// True if the opening was repeated in the newest segment and the repetition was not read yet.
    carried: bool,
    /// True if the close was read before the repeated opening.
    closed: bool,
}

impl JournalSource {
    /// The shards of this process.
    pub fn live(journal: &Journal) -> Vec<Self> {
        let source = |shard| Self::new(journal.0.name.clone(), journal.clone(), SourceState::Live(shard));
        journal.shard_ids().map(source).collect()
    }

    /// Takes over the directories of dead processes.
    pub fn orphans(journal: &Journal) -> io::Result<Vec<Self>> {
        let mut sources = Vec::new();
        for (name, path, lock) in segment::orphans(&journal.0.config.directory, &journal.0.name)? {
            let segments = segment::list(&path).and_then(|segments| {
                segments.into_iter().map(Segment::trimmed).collect::<io::Result<Vec<_>>>()
            });
            let segments = match segments {
                Ok(segments) => segments,
                Err(error) => {
                    tracing::error!(%error, journal = %name, "orphaned journal cannot be read, trying again later");
                    continue;
                }
            };
            let bytes = segments.iter().map(|segment| segment.length).sum();
            journal.0.capacity.add(bytes);
            tracing::info!(journal = %name, bytes, "taking over orphaned journal");
            let state = SourceState::Adopted { path, segments, _lock: lock };
            sources.push(Self::new(name, journal.clone(), state));
        }
        Ok(sources)
    }

    fn new(name: String, journal: Journal, state: SourceState) -> Self {
        Self {
            name,
            journal,
            state,
            cursor: None,
            last: None,
            retired: Vec::new(),
            open: HashMap::default(),
            most: MOST_RECEIPTS,
        }
    }

    /// The directory of all journals.
    pub fn root(&self) -> PathBuf {
        self.journal.0.config.directory.clone()
    }

    pub fn is_live(&self) -> bool {
        matches!(self.state, SourceState::Live(_))
    }

    /// True if everything is booked, no call is open and no damaged segment has to be kept.
    pub fn is_settled(&self) -> bool {
        let cursor_is_done =
            self.cursor.as_ref().is_none_or(|cursor| !cursor.damaged && self.stretch().is_none());
        cursor_is_done && self.open.is_empty() && self.retired.is_empty()
    }

    pub fn next_segment(&self) -> Option<Segment> {
        match &self.state {
            SourceState::Live(shard) => self.journal.shard(*shard).lock().segment_after(self.last),
            SourceState::Adopted { segments, .. } => {
                segments.iter().find(|segment| self.last.is_none_or(|last| segment.sequence > last)).cloned()
            }
        }
    }

    /// Starts reading a segment, given its drained position in the database.
    pub fn enter(&mut self, segment: Segment, file: Arc<File>, committed: Option<u64>) {
        let booked_until = committed.unwrap_or(HEADER);
        self.cursor = Some(Cursor {
            segment,
            file,
            offset: HEADER,
            committed,
            booked_until,
            counted: HEADER,
            damaged: false,
        });
    }

    /// True if a whole chunk waits, or any data that cannot grow into one: that of a dead process, or a finished segment.
    pub fn is_behind(&self) -> bool {
        let SourceState::Live(shard) = self.state else { return self.stretch().is_some() };
        let sequence = self.cursor.as_ref().map(|cursor| cursor.segment.sequence).or(self.last);
        let shard = self.journal.shard(shard).lock();
        // With a reduced batch size, do not wait for more.
        let enough = if self.most == MOST_RECEIPTS { CHUNK } else { 1 };
        shard.waiting_bytes() >= enough
            || shard.segment_after(sequence).is_some() && shard.waiting_bytes() > 0
    }

    /// The range that can be read now; `None` at the end.
    pub fn stretch(&self) -> Option<Stretch> {
        let cursor = self.cursor.as_ref()?;
        let (end, _) = self.extent(cursor);
        let stretch =
            Stretch { from: cursor.offset, end, booked_until: cursor.booked_until, most: self.most };
        (stretch.from < stretch.end).then_some(stretch)
    }

    /// Leaves a segment that was read to its end and will not grow.
    pub fn leave(&mut self) -> bool {
        // Both values from one call: between two calls the segment could have grown and been followed by another.
        let over = self.cursor.as_ref().is_some_and(|cursor| {
            let (end, finished) = self.extent(cursor);
            finished && cursor.offset >= end
        });
        if over && let Some(cursor) = self.cursor.take() {
            self.last = Some(cursor.segment.sequence);
            self.retired.push((cursor.segment, cursor.damaged));
        }
        over
    }

    fn extent(&self, cursor: &Cursor) -> (u64, bool) {
        match self.state {
            SourceState::Live(shard) => self.journal.shard(shard).lock().extent(cursor.segment.sequence),
            SourceState::Adopted { .. } => (cursor.segment.length, true),
        }
    }

    /// Adopts the position of the database, forward or back, when it differs from the expected one.
    pub fn correct(&mut self, committed: Option<u64>) {
        if let Some(cursor) = &mut self.cursor {
            cursor.committed = committed;
            cursor.booked_until = committed.unwrap_or(HEADER);
            cursor.offset = cursor.offset.min(cursor.booked_until);
        }
    }

    /// Applies a batch that is committed or had nothing to commit: records its opened and closed calls and advances
    /// behind it.
    pub fn apply(&mut self, batch: Progress, committed: bool) {
        let Some(cursor) = &mut self.cursor else { return };
        let home = cursor.segment.sequence;
        cursor.offset = batch.until;
        if committed {
            cursor.committed = Some(batch.until);
        }
        for loss in &batch.losses {
            cursor.damaged |=
                report(&self.journal, &cursor.segment, loss, !matches!(self.state, SourceState::Live(_)));
        }
        if batch.until > cursor.counted {
            let bytes = batch.until - batch.from.max(cursor.counted);
            let records = if batch.from >= cursor.counted { batch.records } else { 0 };
            cursor.counted = batch.until;
            match self.state {
                SourceState::Live(shard) => self.journal.drained(shard, bytes, records),
                SourceState::Adopted { .. } => self.journal.0.capacity.release(bytes),
            }
        }
        // A repeated opening comes before the close, which no other record would follow.
        let (carried, opened): (Vec<Opened>, Vec<Opened>) =
            batch.opened.into_iter().partition(|opened| opened.is_carried);
        carried.into_iter().for_each(|opened| self.carry_over(opened, home));
        if !self.open.is_empty() {
            batch.closed.iter().for_each(|id| self.close(id));
        }
        for Opened { id, opening, .. } in opened {
            // The repeated opening of an earlier attempt may still be ahead.
            let carried = self.open.get(&id).is_some_and(|call| call.carried);
            self.open.insert(id, OpenCall { opening, home, carried, closed: false });
        }
    }

    /// Applies an opening that was repeated.
    fn carry_over(&mut self, Opened { id, opening, .. }: Opened, home: u64) {
        match self.open.get_mut(&id) {
            Some(call) if call.closed => _ = self.open.remove(&id),
            // The call was opened again after the opening that is repeated here: that one is newer.
            Some(call) if call.opening != opening => call.carried = false,
            _ => _ = self.open.insert(id, OpenCall { opening, home, carried: false, closed: false }),
        }
    }

    fn close(&mut self, id: &str) {
        match self.open.get_mut(id) {
            Some(call) if call.carried => call.closed = true,
            Some(_) => _ = self.open.remove(id),
            // Most calls open and close in one batch.
            None => {}
        }
    }

    /// Adapts the batch size: doubles it after a success, halves it after a failure.
    pub fn pace(&mut self, taken: bool) {
        const FEWEST: usize = 8;
        self.most = if taken { self.most * 2 } else { self.most / 2 }.clamp(FEWEST, MOST_RECEIPTS);
    }

    /// Marks the segments of a dead process as damaged, because the database rejected part of them.
    pub fn spoil(&mut self) {
        self.journal.0.damaged.fetch_add(1, Ordering::Relaxed);
        self.retired.iter_mut().for_each(|(_, damaged)| *damaged = true);
    }

    /// Sets the current segment aside for inspection, because the database rejected part of it. The link in `damaged`
    /// outlives its removal from the journal.
    pub fn put_aside(&self) {
        let Some(cursor) = &self.cursor else { return };
        if let Err(error) = segment::put_aside(&self.journal.0.config.directory, &cursor.segment) {
            tracing::error!(%error, segment = %cursor.segment.path.display(), "setting a journal segment aside failed");
        }
    }

    /// Removes the finished segments that no call needs; returns their ids. If many are needed, the openings of their
    /// calls are repeated in the newest segment first.
    pub fn sweep(&mut self) -> Vec<String> {
        let SourceState::Live(shard) = self.state else { return Vec::new() };
        if self.retired.is_empty() {
            return Vec::new();
        }
        let root = &self.journal.0.config.directory;
        // Held until the segments are removed, so that a backup that starts now finds all of them or none.
        let _guard = match segment::lock_removal(root) {
            Ok(Some(guard)) => guard,
            Ok(None) => return Vec::new(),
            Err(error) => {
                tracing::warn!(%error, "locking the journal for the removal of segments failed");
                return Vec::new();
            }
        };
        if self.retired.len() > MAX_RETIRED {
            self.carry_openings(shard);
        }
        let mut removed = Vec::new();
        self.retired.retain(|(segment, damaged)| {
            if self.open.values().any(|call| call.home == segment.sequence) {
                return true;
            }
            match self.journal.forget(shard, segment, *damaged) {
                Ok(()) => {
                    removed.push(segment.id.clone());
                    false
                }
                Err(error) => {
                    tracing::warn!(%error, segment = %segment.path.display(), "removing a drained journal segment failed");
                    true
                }
            }
        });
        removed
    }

    /// Repeats the openings of open calls from finished segments in the newest segment.
    fn carry_openings(&mut self, shard: ShardId) {
        let retired: Vec<u64> = self.retired.iter().map(|(segment, _)| segment.sequence).collect();
        for call in self.open.values_mut().filter(|call| retired.contains(&call.home) && !call.carried) {
            match self.journal.carry(shard, &call.opening) {
                Ok(()) => call.carried = true,
                Err(error) => {
                    tracing::debug!(%error, "carrying an open call to the newest segment failed");
                    break;
                }
            }
        }
        if let Err(error) = self.journal.sync(shard) {
            tracing::error!(%error, "syncing the journal failed");
        }
    }

    /// The calls of a dead process that were never closed.
    pub fn unclosed(&self) -> Vec<Opening> {
        let mut openings = Vec::with_capacity(self.open.len());
        for call in self.open.values() {
            match call.opening.decode() {
                Ok(opening) => openings.push(opening),
                Err(error) => {
                    tracing::error!(%error, journal = %self.name, "unreadable opening record, call not booked");
                    self.journal.0.damaged.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        openings.sort_by(|a, b| a.id.cmp(&b.id));
        openings
    }

    /// Moves a call with a running background response into the journal of this process.
    pub fn hand_over(&self, opening: Opening) -> io::Result<()> {
        self.journal.follow(opening)
    }

    /// Removes the directory of a dead process after everything in it is booked.
    pub fn dissolve(&mut self) -> io::Result<()> {
        let SourceState::Adopted { path, .. } = &self.state else { return Ok(()) };
        while let Some((segment, damaged)) = self.retired.last() {
            segment::remove(&self.journal.0.config.directory, segment, *damaged)?;
            self.journal.0.capacity.release(HEADER.min(segment.length));
            self.retired.pop();
        }
        match std::fs::remove_dir_all(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// Reports unreadable data; true if it is damage. The truncated tail left by a crash was never acknowledged and is not
/// damage.
fn report(journal: &Journal, segment: &Segment, loss: &Loss, crashed: bool) -> bool {
    let (from, bytes, reason) = (loss.from, loss.until - loss.from, &loss.reason);
    if loss.tail && crashed {
        tracing::warn!(segment = %segment.path.display(), from, bytes, "truncated record at the end of the journal");
        return false;
    }
    tracing::error!(segment = %segment.path.display(), from, bytes, %reason, "unreadable journal records");
    journal.0.damaged.fetch_add(1, Ordering::Relaxed);
    true
}
