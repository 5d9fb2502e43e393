//! The journal: what is owed to the ledger, on disk before a client hears that its call is done.

pub mod drain;
mod frame;
mod parts;
mod read;
pub(crate) mod record;
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

use self::frame::Kind;
use self::segment::Segment;
use self::writer::{Appended, Room, Writer};

#[derive(Clone, Debug)]
pub struct JournalConfig {
    /// Every process that uses it has a directory of its own inside.
    pub directory: PathBuf,
    /// A segment that has grown beyond this is followed by the next.
    pub segment_bytes: u64,
    /// More than this is never kept waiting for storage: appending fails then.
    pub max_bytes: u64,
    /// Survive a loss of power, not only of the process.
    pub fsync: bool,
}

/// What waits to be booked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lag {
    pub bytes: u64,
    pub records: u64,
    /// When the oldest of it was written, to the second.
    pub oldest: Option<Timestamp>,
}

/// Appends from any thread, also from `poll` and `drop`: one write(2) a record, nothing slow under the lock.
#[derive(Clone)]
pub struct Journal(Arc<Inner>);

struct Inner {
    config: JournalConfig,
    clock: Arc<dyn Clock>,
    name: String,
    writer: Mutex<Writer>,
    /// Told when there are as many records as the drainer waits for.
    awaited: Notify,
    damaged: AtomicU64,
    /// The drainer's last attempt failed.
    stuck: AtomicBool,
    /// How many records there were when the drainer ended with everything booked and no call open.
    settled: Mutex<Option<u64>>,
    /// Bytes of dead processes' directories still to be read.
    adopted: AtomicU64,
    /// Background responses of dead processes, which are this process's to follow now.
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

    /// A call is about to leave for a provider.
    pub fn open_call(&self, opening: OpeningRef<'_>) -> io::Result<()> {
        self.append(Room::ForOpenings, |buffer| {
            frame::encode(buffer, Kind::Opening, |buffer| record::opening(buffer, opening))
        })
    }

    /// A call is over. When this returns, it will be booked exactly once.
    pub fn close_call(&self, receipt: &Receipt) -> io::Result<()> {
        // What was said is the first to go when room runs short: what is owed must fit.
        let scarce = receipt.audit.as_deref().filter(|_| self.lag().bytes > self.0.config.max_bytes / 2);
        let without = scarce.map(Audited::without_bodies);
        let audited = without.as_ref().or(receipt.audit.as_deref());
        self.append(Room::ForReceipts, |buffer| {
            frame::encode(buffer, Kind::Receipt, |buffer| record::receipt_with(buffer, receipt, audited))
        })
    }

    /// Calls whose background responses a dead process followed, and which are open in this journal now. Each is given
    /// out once; whoever takes one closes it.
    pub fn take_followed(&self) -> Vec<Opening> {
        std::mem::take(&mut self.0.followed.lock())
    }

    /// Takes over a call of a dead process whose background response goes on at its provider.
    fn follow(&self, opening: Opening) -> io::Result<()> {
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

    /// Frames that could not be read back, ever since this process began: each was logged as an error.
    pub fn damaged(&self) -> u64 {
        self.0.damaged.load(Ordering::Relaxed)
    }

    /// Whether the journal's disk takes writes. Blocks.
    pub fn has_room(&self) -> bool {
        // Beside the journal, which holds directories of processes and nothing else.
        let directory = self.0.config.directory.parent().unwrap_or(&self.0.config.directory);
        crate::disk::probe(directory).is_ok()
    }

    /// Whether storage took nothing when it was last offered something.
    pub fn is_stuck(&self) -> bool {
        self.0.stuck.load(Ordering::Relaxed)
    }

    /// Removes this process's directory if the drainer ended with everything booked and nothing was appended since. The
    /// next process then finds nothing to take over.
    fn remove_settled(&self) -> io::Result<bool> {
        let writer = self.0.writer.lock();
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
            let Appended { file, awaited } = self.0.writer.lock().append(buffer, room, adopted)?;
            if awaited {
                self.0.awaited.notify_one();
            }
            file.map_or(Ok(()), |file| file.sync_data())
        })
    }

    /// How many records were ever written.
    fn records(&self) -> u64 {
        self.0.writer.lock().records()
    }

    async fn until_records(&self, records: u64) {
        while !self.0.writer.lock().has(records) {
            self.0.awaited.notified().await;
        }
    }

    /// Repeats an opening in the newest segment.
    fn carry(&self, payload: &[u8]) -> io::Result<()> {
        self.append(Room::Always, |buffer| {
            frame::encode(buffer, Kind::Carried, |buffer| buffer.extend_from_slice(payload))
        })
    }

    fn segment_after(&self, sequence: Option<u64>) -> Option<Segment> {
        self.0.writer.lock().segment_after(sequence)
    }

    /// How far a segment may be read, and whether it will ever grow.
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

/// One buffer a thread, so that records are put together outside the lock and without allocating.
fn with_buffer<T>(work: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    const KEPT: usize = 256 * 1024;
    // A call may end while its thread is being torn down, when thread locals are gone already.
    let mut buffer = BUFFER.try_with(RefCell::take).unwrap_or_default();
    let result = work(&mut buffer);
    if buffer.capacity() <= KEPT {
        _ = BUFFER.try_with(|kept| kept.replace(buffer));
    }
    result
}
