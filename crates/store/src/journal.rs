//! The journal: a write-ahead log of receipts, on disk before the client sees the end of its call.

#[cfg(test)]
mod compatibility;
pub mod drain;
mod frame;
mod parts;
mod read;
pub(crate) mod segment;
mod source;
#[cfg(test)]
mod tests;
mod writer;

use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use domain::clock::{Clock, Timestamp};
use domain::ids::{self, Entropy};
use domain::receipt::{Audited, Opening, OpeningRef, Receipt};
use parking_lot::Mutex;
use tokio::sync::Notify;

use self::frame::RecordKind;
use self::segment::Segment;
use self::writer::{Appended, Room, Writer};
use crate::journal_record;

#[derive(Clone, Debug)]
pub struct JournalConfig {
    /// Each process has its own directory inside.
    pub directory: PathBuf,
    /// Size after which a new segment is started.
    pub segment_bytes: u64,
    /// Limit for records waiting for storage; appending fails beyond it.
    pub max_bytes: u64,
    /// Calls fsync, to survive a power loss and not only a crash of the process.
    pub fsync: bool,
}

/// Records waiting to be booked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lag {
    pub bytes: u64,
    pub records: u64,
    /// Time at which the oldest of them was written, to the second.
    pub oldest: Option<Timestamp>,
}

/// A handle for appending from any thread, also from `poll` and `drop`: one write(2) per record, nothing slow under the
/// lock.
#[derive(Clone)]
pub struct Journal(Arc<Inner>);

struct Inner {
    config: JournalConfig,
    clock: Arc<dyn Clock>,
    name: String,
    writer: Mutex<Writer>,
    /// Notified when as many records are written as the drainer waits for.
    awaited: Notify,
    damaged: AtomicU64,
    /// True if the drainer's last attempt failed.
    stuck: AtomicBool,
    /// Number of records at the time the drainer ended with everything booked and no call open.
    settled: Mutex<Option<u64>>,
    /// Bytes in directories of dead processes that are still to be read.
    adopted: AtomicU64,
    /// Background responses of dead processes that this process has to follow.
    followed: Mutex<Vec<Opening>>,
    /// Held as long as this process may append.
    _lock: File,
}

impl Journal {
    pub fn open(config: JournalConfig, clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> io::Result<Self> {
        let name = ids::unique(clock.now(), entropy.as_ref()).simple().to_string();
        let (path, lock) = segment::claim(&config.directory, &name)?;
        let writer = Writer::new(path, config.clone(), Arc::clone(&clock), entropy)?;
        Ok(Self(Arc::new(Inner {
            config,
            clock,
            name,
            writer: Mutex::new(writer),
            awaited: Notify::new(),
            damaged: AtomicU64::new(0),
            stuck: AtomicBool::new(false),
            settled: Mutex::new(None),
            adopted: AtomicU64::new(0),
            followed: Mutex::default(),
            _lock: lock,
        })))
    }

    /// Records that a call is about to be sent to a provider.
    pub fn open_call(&self, opening: OpeningRef<'_>) -> io::Result<()> {
        self.append(Room::ForOpenings, |buffer| {
            frame::encode(buffer, RecordKind::Opening, |buffer| journal_record::opening(buffer, opening))
        })
    }

    /// Records the end of a call. When this returns, the call will be booked exactly once.
    pub fn close_call(&self, receipt: &Receipt) -> io::Result<()> {
        // Bodies for the audit log are dropped first when space runs short: receipts must fit.
        let scarce = receipt.audit.as_deref().filter(|_| self.lag().bytes > self.0.config.max_bytes / 2);
        let without = scarce.map(Audited::without_bodies);
        let audited = without.as_ref().or(receipt.audit.as_deref());
        self.append(Room::ForReceipts, |buffer| {
            frame::encode(buffer, RecordKind::Receipt, |buffer| {
                journal_record::receipt_with(buffer, receipt, audited)
            })
        })
    }

    /// Calls with background responses that a dead process followed and that are open in this journal now. Each is
    /// returned once; the caller has to close it.
    pub fn take_followed(&self) -> Vec<Opening> {
        std::mem::take(&mut self.0.followed.lock())
    }

    /// Takes over a call of a dead process whose background response is still running at its provider.
    fn follow(&self, opening: Opening) -> io::Result<()> {
        // Locked until the opening is written, so that the same call is not opened twice.
        let mut followed = self.0.followed.lock();
        if followed.iter().all(|other| other.id != opening.id) {
            self.open_call(opening.as_ref())?;
            followed.push(opening);
        }
        Ok(())
    }

    pub fn lag(&self) -> Lag {
        let adopted = self.0.adopted.load(Ordering::Relaxed);
        let mut lag = self.0.writer.lock().lag();
        lag.bytes = lag.bytes.saturating_add(adopted);
        lag
    }

    /// Number of places in the journal that could not be read or booked since this process started; each was logged as
    /// an error.
    pub fn damaged(&self) -> u64 {
        self.0.damaged.load(Ordering::Relaxed)
    }

    /// True if the disk of the journal accepts writes. Blocks.
    pub fn has_room(&self) -> bool {
        // In the parent directory, because the journal directory contains only directories of processes.
        let directory = self.0.config.directory.parent().unwrap_or(&self.0.config.directory);
        crate::disk::probe(directory).is_ok()
    }

    /// True if the last attempt to book failed.
    pub fn is_stuck(&self) -> bool {
        self.0.stuck.load(Ordering::Relaxed)
    }

    /// Removes the directory of this process if the drainer ended with everything booked and nothing was appended
    /// since. The next process then has nothing to take over.
    fn remove_settled(&self) -> io::Result<bool> {
        let writer = self.0.writer.lock();
        // The lock of the writer is held throughout: nothing can be appended between this check and the removal.
        if *self.0.settled.lock() != Some(writer.records()) {
            return Ok(false);
        }
        segment::dissolve(&self.0.config.directory, writer.directory())?;
        Ok(true)
    }

    fn append(&self, room: Room, encode: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> io::Result<()> {
        with_buffer(|buffer| {
            encode(buffer)?;
            let adopted = self.0.adopted.load(Ordering::Relaxed);
            // The lock is released at the end of this statement: notification and fsync happen outside of it, so that
            // other threads can append meanwhile.
            let Appended { file, awaited } = self.0.writer.lock().append(buffer, room, adopted)?;
            if awaited {
                self.0.awaited.notify_one();
            }
            file.map_or(Ok(()), |file| file.sync_data())
        })
    }

    /// Total number of records written.
    fn records(&self) -> u64 {
        self.0.writer.lock().records()
    }

    async fn until_records(&self, records: u64) {
        // `has` registers the number under the lock of the writer, and `notify_one` stores a permit when nothing is
        // waiting yet, so no notification is lost. A stale permit only costs another check.
        while !self.0.writer.lock().has(records) {
            self.0.awaited.notified().await;
        }
    }

    /// Repeats an opening in the newest segment.
    fn carry(&self, payload: &[u8]) -> io::Result<()> {
        self.append(Room::Always, |buffer| {
            frame::encode(buffer, RecordKind::Carried, |buffer| buffer.extend_from_slice(payload))
        })
    }

    fn segment_after(&self, sequence: Option<u64>) -> Option<Segment> {
        self.0.writer.lock().segment_after(sequence)
    }

    /// The readable length of a segment, and whether it is complete.
    fn extent(&self, sequence: u64) -> (u64, bool) {
        self.0.writer.lock().extent(sequence)
    }

    fn drained(&self, bytes: u64, records: u64) {
        self.0.writer.lock().drained(bytes, records);
    }

    fn forget(&self, segment: &Segment, damaged: bool) -> io::Result<()> {
        segment::remove(&self.0.config.directory, segment, damaged)?;
        self.0.writer.lock().forget(segment.sequence);
        Ok(())
    }
}

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// One buffer per thread, so that records are encoded outside of the lock and without allocating.
fn with_buffer<T>(work: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    const KEPT: usize = 256 * 1024;
    // A call may end while its thread is being torn down, when thread locals are already destroyed.
    let mut buffer = BUFFER.try_with(RefCell::take).unwrap_or_default();
    let result = work(&mut buffer);
    if buffer.capacity() <= KEPT {
        _ = BUFFER.try_with(|kept| kept.replace(buffer));
    }
    result
}
