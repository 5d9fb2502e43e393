//! One shard of the journal: the segment that a thread appends to, the segments before it, and the amount already
//! booked.

use std::cell::Cell;
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::sync::Arc;

use domain::clock::Timestamp;
use memory_map::MappedFile;

use super::segment::{HEADER, Segment};

/// The shard of a journal that a call is recorded in. A call is closed where it was opened, so that readers see its
/// records in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShardId(u16);

impl ShardId {
    /// The shard of all threads that have none of their own.
    pub const SHARED: Self = Self(0);

    /// The shard of a worker thread.
    pub fn of_worker(number: usize) -> Self {
        Self(u16::try_from(number + 1).unwrap_or_default())
    }

    /// The shard of the current thread.
    pub fn of_this_thread() -> Self {
        // A call may end while its thread is being torn down, when thread locals are already destroyed.
        OF_THIS_THREAD.try_with(Cell::get).unwrap_or_default()
    }

    /// Makes this the shard of the current thread.
    pub fn assign_to_this_thread(self) {
        OF_THIS_THREAD.set(self);
    }

    pub(super) fn index(self) -> usize {
        usize::from(self.0)
    }
}

thread_local! {
    static OF_THIS_THREAD: Cell<ShardId> = const { Cell::new(ShardId::SHARED) };
}

/// The state of a shard, behind the shard's lock. Only rotation makes system calls; appending copies memory.
///
/// Aligned to two cache lines, so that workers do not invalidate each other's shards.
#[derive(Default)]
#[repr(align(128))]
pub(super) struct Shard {
    /// Oldest first; the last one is being written.
    segments: VecDeque<Segment>,
    /// The file of the last segment; missing until the first record.
    file: Option<MappedFile>,
    written: Count,
    booked: Count,
    /// Byte offsets and the time at which writing continued there, at most one entry per second.
    marks: VecDeque<(u64, Timestamp)>,
}

#[derive(Clone, Copy, Default)]
struct Count {
    bytes: u64,
    records: u64,
}

impl Shard {
    /// Appends a frame. `create` makes a segment with space for at least this many bytes.
    pub fn append(
        &mut self,
        frame: &[u8],
        now: Timestamp,
        create: impl FnOnce(usize) -> io::Result<(MappedFile, Segment)>,
    ) -> io::Result<()> {
        if !self.write(frame) {
            let (file, segment) = create(frame.len())?;
            self.file = Some(file);
            self.segments.push_back(segment);
            if !self.write(frame) {
                return Err(io::Error::other("a new journal segment is too small for its first record"));
            }
        }
        // Before the count is increased: a mark holds the offset at which its bytes start.
        self.mark(now);
        self.written.bytes += frame.len() as u64;
        self.written.records += 1;
        Ok(())
    }

    /// Copies a frame behind the last one; false if there is no segment with space for it.
    fn write(&mut self, frame: &[u8]) -> bool {
        let (Some(file), Some(segment)) = (&mut self.file, self.segments.back_mut()) else { return false };
        let fits = file.write(segment.length as usize, frame);
        if fits {
            segment.length += frame.len() as u64;
        }
        fits
    }

    /// The file of the newest record.
    pub fn file(&self) -> Option<Arc<File>> {
        self.file.as_ref().map(|file| Arc::clone(file.file()))
    }

    /// Total number of records written.
    pub fn records(&self) -> u64 {
        self.written.records
    }

    /// Number of bytes that wait for storage.
    pub fn waiting_bytes(&self) -> u64 {
        self.written.bytes.saturating_sub(self.booked.bytes)
    }

    /// Number of records that wait for storage.
    pub fn waiting_records(&self) -> u64 {
        self.written.records.saturating_sub(self.booked.records)
    }

    /// The time at which the oldest waiting record was written.
    pub fn oldest(&self) -> Option<Timestamp> {
        self.marks.front().filter(|_| self.waiting_bytes() > 0).map(|(_, at)| *at)
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

    /// The readable length of a segment, and whether it is complete.
    pub fn extent(&self, sequence: u64) -> (u64, bool) {
        let newest = self.segments.back().map(|segment| segment.sequence);
        let segment = self.segments.iter().find(|segment| segment.sequence == sequence);
        (segment.map_or(HEADER, |segment| segment.length), newest != Some(sequence))
    }

    pub fn forget(&mut self, sequence: u64) {
        self.segments.retain(|segment| segment.sequence != sequence);
    }

    fn mark(&mut self, now: Timestamp) {
        const APART: i64 = 1_000_000;
        if self.marks.back().is_none_or(|(_, last)| now.micros() - last.micros() >= APART) {
            self.marks.push_back((self.written.bytes, now));
        }
    }
}
