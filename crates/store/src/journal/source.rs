//! A directory being drained, our own or a dead process's: where we are in it and which calls are still open.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use domain::receipt::Opening;

use super::Journal;
use super::read::{Batch, Event, Loss, MOST_RECEIPTS, Stretch};
use super::segment::{self, HEADER, Segment};

pub(super) struct Source {
    pub name: String,
    journal: Journal,
    place: Place,
    pub cursor: Option<Cursor>,
    /// The last segment that was read to its end.
    last: Option<u64>,
    /// Read to the end, and kept because calls that opened there go on.
    retired: Vec<(Segment, bool)>,
    open: HashMap<String, OpenCall>,
    /// What stretches are read into.
    pub room: Vec<u8>,
    /// How many receipts are offered to storage at once: fewer where it could not take more in time.
    pub most: usize,
}

enum Place {
    Live,
    /// The lock is held until the directory is gone.
    Adopted {
        path: PathBuf,
        segments: Vec<Segment>,
        _lock: File,
    },
}

pub(super) struct Cursor {
    pub segment: Segment,
    pub file: Arc<File>,
    pub offset: u64,
    /// What the database holds as drained; None while it has no row for this segment.
    pub committed: Option<u64>,
    booked_until: u64,
    /// Reported as drained up to here.
    counted: u64,
    damaged: bool,
}

struct OpenCall {
    opening: Box<[u8]>,
    /// The segment that must stay while this call is open.
    home: u64,
    /// Its opening was repeated at the end of the journal, and we have not come to it yet.
    carried: bool,
    /// Its close came before the repeated opening.
    closed: bool,
}

impl Source {
    pub fn live(journal: Journal) -> Self {
        Self::new(journal.0.name.clone(), journal, Place::Live)
    }

    /// Takes over the directories of processes that are gone.
    pub fn orphans(journal: &Journal) -> io::Result<Vec<Self>> {
        let mut sources = Vec::new();
        for (name, path, lock) in segment::orphans(&journal.0.config.directory, &journal.0.name)? {
            let segments = segment::list(&path)?;
            let bytes = segments.iter().map(|segment| segment.length).sum();
            journal.0.adopted.fetch_add(bytes, Ordering::Relaxed);
            tracing::info!(journal = %name, bytes, "taking over the journal of a process that is gone");
            let place = Place::Adopted { path, segments, _lock: lock };
            sources.push(Self::new(name, journal.clone(), place));
        }
        Ok(sources)
    }

    fn new(name: String, journal: Journal, place: Place) -> Self {
        Self {
            name,
            journal,
            place,
            cursor: None,
            last: None,
            retired: Vec::new(),
            open: HashMap::new(),
            room: Vec::new(),
            most: MOST_RECEIPTS,
        }
    }

    pub fn is_live(&self) -> bool {
        matches!(self.place, Place::Live)
    }

    /// Whether everything is booked, no call is open and nothing damaged has to be kept.
    pub fn is_settled(&self) -> bool {
        let cursor_is_done =
            self.cursor.as_ref().is_none_or(|cursor| !cursor.damaged && self.stretch().is_none());
        cursor_is_done && self.open.is_empty() && self.retired.is_empty()
    }

    pub fn next_segment(&self) -> Option<Segment> {
        match &self.place {
            Place::Live => self.journal.segment_after(self.last),
            Place::Adopted { segments, .. } => {
                segments.iter().find(|segment| self.last.is_none_or(|last| segment.sequence > last)).cloned()
            }
        }
    }

    /// Begins a segment, given what the database says is drained of it.
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

    /// What can be read now; None at the end.
    pub fn stretch(&self) -> Option<Stretch> {
        let cursor = self.cursor.as_ref()?;
        let (end, _) = self.extent(cursor);
        let stretch =
            Stretch { from: cursor.offset, end, booked_until: cursor.booked_until, most: self.most };
        (stretch.from < stretch.end).then_some(stretch)
    }

    /// Leaves a segment that was read to its end and will not grow.
    pub fn leave(&mut self) -> bool {
        // Asked again in one go: between two questions the segment could have grown and been followed by another.
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
        match self.place {
            Place::Live => self.journal.extent(cursor.segment.sequence),
            Place::Adopted { .. } => (cursor.segment.length, true),
        }
    }

    /// The database has another position than we thought: follow it, forward or back.
    pub fn correct(&mut self, committed: Option<u64>) {
        if let Some(cursor) = &mut self.cursor {
            cursor.committed = committed;
            cursor.booked_until = committed.unwrap_or(HEADER);
            cursor.offset = cursor.offset.min(cursor.booked_until);
        }
    }

    /// The batch is in the database, or had nothing for it: remember what it said about calls and go on behind it.
    pub fn apply(&mut self, batch: Batch, committed: bool) {
        let Some(cursor) = &mut self.cursor else { return };
        let home = cursor.segment.sequence;
        cursor.offset = batch.until;
        if committed {
            cursor.committed = Some(batch.until);
        }
        for loss in &batch.losses {
            cursor.damaged |=
                report(&self.journal, &cursor.segment, loss, !matches!(self.place, Place::Live));
        }
        if batch.until > cursor.counted {
            let bytes = batch.until - batch.from.max(cursor.counted);
            let records = if batch.from >= cursor.counted { batch.records } else { 0 };
            cursor.counted = batch.until;
            match self.place {
                Place::Live => self.journal.drained(bytes, records),
                Place::Adopted { .. } => release(&self.journal, bytes),
            }
        }
        for event in batch.events {
            self.follow(event, home);
        }
    }

    fn follow(&mut self, event: Event, home: u64) {
        match event {
            Event::Opened { id, opening } => {
                // The repeated opening of an earlier attempt may still be ahead of us.
                let carried = self.open.get(&id).is_some_and(|call| call.carried);
                self.open.insert(id, OpenCall { opening, home, carried, closed: false });
            }
            Event::Carried { id, opening } => {
                if !self.open.get(&id).is_some_and(|call| call.closed) {
                    self.open.insert(id, OpenCall { opening, home, carried: false, closed: false });
                } else {
                    self.open.remove(&id);
                }
            }
            Event::Closed { id } => match self.open.get_mut(&id) {
                Some(call) if call.carried => call.closed = true,
                _ => _ = self.open.remove(&id),
            },
        }
    }

    /// Storage took what it was offered, or did not.
    pub fn pace(&mut self, taken: bool) {
        const FEWEST: usize = 8;
        self.most = if taken { self.most * 2 } else { self.most / 2 }.clamp(FEWEST, MOST_RECEIPTS);
    }

    /// Something of a dead process's journal was refused: what is left of it is put aside.
    pub fn spoil(&mut self) {
        self.journal.0.damaged.fetch_add(1, Ordering::Relaxed);
        self.retired.iter_mut().for_each(|(_, damaged)| *damaged = true);
    }

    /// Part of this segment was refused: it stays for a person to look at, whoever removes it from here.
    pub fn put_aside(&self) {
        let Some(cursor) = &self.cursor else { return };
        if let Err(error) = segment::put_aside(&self.journal.0.config.directory, &cursor.segment) {
            tracing::error!(%error, segment = %cursor.segment.path.display(), "a journal segment cannot be put aside yet");
        }
    }

    /// Moves calls that go on out of segments that were read, and removes those that no call needs; returns their ids.
    pub fn sweep(&mut self) -> Vec<String> {
        if !self.is_live() || self.retired.is_empty() {
            return Vec::new();
        }
        for (segment, _) in &self.retired {
            for call in self.open.values_mut().filter(|call| call.home == segment.sequence && !call.carried) {
                match self.journal.carry(&call.opening) {
                    Ok(()) => call.carried = true,
                    Err(error) => {
                        tracing::debug!(%error, "an open call stays in its old segment for now");
                        break;
                    }
                }
            }
        }
        let mut removed = Vec::new();
        self.retired.retain(|(segment, damaged)| {
            if self.open.values().any(|call| call.home == segment.sequence) {
                return true;
            }
            match self.journal.forget(segment, *damaged) {
                Ok(()) => {
                    removed.push(segment.id.clone());
                    false
                }
                Err(error) => {
                    tracing::warn!(%error, segment = %segment.path.display(), "a drained journal segment cannot be removed");
                    true
                }
            }
        });
        removed
    }

    /// The calls of a dead process that never closed.
    pub fn unclosed(&self) -> Vec<Opening> {
        let mut openings = Vec::with_capacity(self.open.len());
        for call in self.open.values() {
            match serde_json::from_slice::<Opening>(&call.opening) {
                Ok(opening) => openings.push(opening),
                Err(error) => {
                    tracing::error!(%error, journal = %self.name, "an open call cannot be read and is not booked");
                    self.journal.0.damaged.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        openings.sort_by(|a, b| a.id.cmp(&b.id));
        openings
    }

    /// Moves a call whose background response goes on into the journal of this process.
    pub fn hand_over(&self, opening: Opening) -> io::Result<()> {
        self.journal.follow(opening)
    }

    /// Everything of a dead process is booked: its directory goes.
    pub fn dissolve(&mut self) -> io::Result<()> {
        let Place::Adopted { path, .. } = &self.place else { return Ok(()) };
        for (segment, damaged) in self.retired.drain(..) {
            segment::remove(&self.journal.0.config.directory, &segment, damaged)?;
            release(&self.journal, HEADER.min(segment.length));
        }
        match std::fs::remove_dir_all(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

fn release(journal: &Journal, bytes: u64) {
    _ = journal
        .0
        .adopted
        .try_update(Ordering::Relaxed, Ordering::Relaxed, |rest| Some(rest.saturating_sub(bytes)));
}

/// Nothing is lost silently. A tail that a crash cut off was never acknowledged; anything else is damage.
fn report(journal: &Journal, segment: &Segment, loss: &Loss, crashed: bool) -> bool {
    let (from, bytes, reason) = (loss.from, loss.until - loss.from, &loss.reason);
    if loss.tail && crashed {
        tracing::warn!(segment = %segment.path.display(), from, bytes, "the journal ends in a record that was cut off");
        return false;
    }
    tracing::error!(segment = %segment.path.display(), from, bytes, %reason, "part of the journal cannot be read");
    journal.0.damaged.fetch_add(1, Ordering::Relaxed);
    true
}
