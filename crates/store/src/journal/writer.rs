//! The writing half of the journal: the newest segment, its content, and the amount already booked.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use domain::clock::{Clock, Timestamp};
use domain::ids::{self, Entropy};

use super::segment::{self, HEADER, Segment};
use super::{JournalConfig, Lag};

/// The capacity limit that applies to a record. The last sixteenth is reserved for receipts of calls already in
/// progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    ForOpenings,
    ForReceipts,
    Always,
}

pub(super) struct Writer {
    directory: PathBuf,
    config: JournalConfig,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    file: Arc<File>,
    /// Oldest first; the last one is being written.
    segments: VecDeque<Segment>,
    /// A failed write could not be truncated: nothing more is written to this segment.
    must_rotate: bool,
    full: bool,
    written: Count,
    booked: Count,
    /// Byte offsets and the time at which writing continued there, at most one entry per second.
    marks: VecDeque<(u64, Timestamp)>,
    /// The number of records for which the drainer is waiting.
    awaited: Option<u64>,
}

pub(super) struct Appended {
    /// The file to sync, if fsync is enabled.
    pub file: Option<Arc<File>>,
    /// True if the drainer has to be notified.
    pub awaited: bool,
}

#[derive(Clone, Copy, Default)]
struct Count {
    bytes: u64,
    records: u64,
}

impl Writer {
    pub fn new(
        directory: PathBuf,
        config: JournalConfig,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> io::Result<Self> {
        let id = ids::unique(clock.now(), entropy.as_ref()).simple().to_string();
        let (file, first) = segment::create(&directory, 0, id, config.fsync)?;
        Ok(Self {
            directory,
            config,
            clock,
            entropy,
            file: Arc::new(file),
            segments: VecDeque::from([first]),
            must_rotate: false,
            full: false,
            written: Count::default(),
            booked: Count::default(),
            marks: VecDeque::new(),
            awaited: None,
        })
    }

    pub fn append(&mut self, frame: &[u8], room: Room, elsewhere: u64) -> io::Result<Appended> {
        self.check_room(frame.len() as u64, room, elsewhere)?;
        let length = self.segments.back().map_or(0, |segment| segment.length);
        let grown = length > HEADER && length + frame.len() as u64 > self.config.segment_bytes;
        if self.must_rotate {
            self.rotate()?;
        } else if grown && let Err(error) = self.rotate() {
            tracing::warn!(%error, "creating a journal segment failed, continuing with the old one");
        }
        self.write(frame)?;
        // Before the count is increased: a mark holds the offset at which its bytes start.
        self.mark();
        self.written.bytes += frame.len() as u64;
        self.written.records += 1;
        let awaited = self.awaited.take_if(|records| self.written.records >= *records).is_some();
        Ok(Appended { file: self.config.fsync.then(|| Arc::clone(&self.file)), awaited })
    }

    pub fn directory(&self) -> &std::path::Path {
        &self.directory
    }

    /// Total number of records written.
    pub fn records(&self) -> u64 {
        self.written.records
    }

    /// True if this many records are written; otherwise the append that reaches the number notifies the drainer.
    pub fn has(&mut self, records: u64) -> bool {
        self.awaited = Some(records).filter(|records| self.written.records < *records);
        self.awaited.is_none()
    }

    pub fn lag(&self) -> Lag {
        let bytes = self.written.bytes.saturating_sub(self.booked.bytes);
        Lag {
            bytes,
            records: self.written.records.saturating_sub(self.booked.records),
            oldest: self.marks.front().filter(|_| bytes > 0).map(|(_, at)| *at),
        }
    }

    pub fn drained(&mut self, bytes: u64, records: u64) {
        self.booked.bytes += bytes;
        self.booked.records += records;
        while self.marks.get(1).is_some_and(|(start, _)| *start <= self.booked.bytes) {
            self.marks.pop_front();
        }
        if self.booked.bytes >= self.written.bytes {
            self.marks.clear();
        }
    }

    pub fn segment_after(&self, sequence: Option<u64>) -> Option<Segment> {
        self.segments.iter().find(|segment| sequence.is_none_or(|last| segment.sequence > last)).cloned()
    }

    pub fn extent(&self, sequence: u64) -> (u64, bool) {
        let newest = self.segments.back().map(|segment| segment.sequence);
        let segment = self.segments.iter().find(|segment| segment.sequence == sequence);
        (segment.map_or(HEADER, |segment| segment.length), newest != Some(sequence))
    }

    pub fn forget(&mut self, sequence: u64) {
        self.segments.retain(|segment| segment.sequence != sequence);
    }

    fn check_room(&mut self, frame: u64, room: Room, elsewhere: u64) -> io::Result<()> {
        let most = match room {
            Room::ForOpenings => self.config.max_bytes - self.config.max_bytes / 16,
            Room::ForReceipts => self.config.max_bytes,
            Room::Always => return Ok(()),
        };
        let waiting = self.lag().bytes.saturating_add(elsewhere);
        let full = waiting.saturating_add(frame) > most;
        if full != self.full {
            self.full = full;
            if full {
                tracing::error!(waiting, most, "journal full");
            } else {
                tracing::info!(waiting, most, "journal no longer full");
            }
        }
        if full {
            return Err(io::Error::new(
                io::ErrorKind::QuotaExceeded,
                format!("the journal is full: {waiting} bytes wait for storage, {most} are allowed"),
            ));
        }
        Ok(())
    }

    fn write(&mut self, frame: &[u8]) -> io::Result<()> {
        let Some(segment) = self.segments.back_mut() else {
            return Err(io::Error::other("the journal has no segment"));
        };
        match (&*self.file).write_all(frame) {
            Ok(()) => {
                segment.length += frame.len() as u64;
                Ok(())
            }
            Err(error) => {
                // Part of the frame may be in the file: truncate it, or write nothing more to this segment.
                if let Err(stuck) = self.file.set_len(segment.length) {
                    tracing::error!(error = %stuck, "truncating a failed journal write failed, starting a new segment");
                    self.must_rotate = true;
                }
                Err(error)
            }
        }
    }

    fn rotate(&mut self) -> io::Result<()> {
        let sequence = self.segments.back().map_or(0, |segment| segment.sequence + 1);
        let id = ids::unique(self.clock.now(), self.entropy.as_ref()).simple().to_string();
        let (file, next) = segment::create(&self.directory, sequence, id, self.config.fsync)?;
        self.file = Arc::new(file);
        self.segments.push_back(next);
        self.must_rotate = false;
        Ok(())
    }

    fn mark(&mut self) {
        const APART: i64 = 1_000_000;
        let now = self.clock.now();
        if self.marks.back().is_none_or(|(_, last)| now.micros() - last.micros() >= APART) {
            self.marks.push_back((self.written.bytes, now));
        }
    }
}
