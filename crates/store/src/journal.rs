//! The journal: a write-ahead log of receipts, on disk before the client sees the end of its call.

pub mod abandoned;
mod batch_job;
mod capacity;
#[cfg(test)]
mod compatibility;
pub mod drain;
mod frame;
mod parts;
mod read;
pub(crate) mod segment;
mod shard;
mod source;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use domain::clock::{Clock, Timestamp};
use domain::ids::{self, Entropy};
use domain::receipt::{Audited, Opening, OpeningRef, Receipt};
use memory_map::MappedFile;
use parking_lot::Mutex;
use tokio::sync::Notify;

use self::capacity::{Capacity, Limit};
use self::frame::{RecordKind, RecordType};
use self::segment::Segment;
use self::shard::Shard;
use crate::journal_record::{self, OpeningRecord};

pub use self::shard::ShardId;

#[derive(Clone, Debug)]
pub struct JournalConfig {
    /// Each process has its own directory inside.
    pub directory: PathBuf,
    /// Number of worker threads; each appends to a shard of its own.
    pub workers: usize,
    /// Size of a segment; a larger record gets a segment of its own.
    pub segment_bytes: usize,
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

/// A handle for appending from any thread, also from `poll` and `drop`. A worker thread appends to its own shard: it
/// copies the record to mapped memory, under a lock that no other worker takes.
#[derive(Clone)]
pub struct Journal(Arc<Inner>);

struct Inner {
    config: JournalConfig,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    name: String,
    /// The directory of this process.
    directory: PathBuf,
    shards: Box<[Mutex<Shard>]>,
    /// The sequence number of the next segment, of any shard.
    next_segment: AtomicU64,
    capacity: Capacity,
    /// Number of records written to all shards.
    records: AtomicU64,
    /// The number of records for which the drainer waits; `u64::MAX` if it does not.
    awaited_records: AtomicU64,
    /// Notified when as many records are written as the drainer waits for.
    awaited: Notify,
    damaged: AtomicU64,
    /// True if the drainer's last attempt failed.
    stuck: AtomicBool,
    /// Number of records at the time the drainer ended with everything booked and no call open.
    settled: Mutex<Option<u64>>,
    /// Background responses of dead processes that this process has to follow.
    followed: Mutex<Vec<Opening>>,
    /// Held as long as this process may append.
    _lock: File,
}

impl Journal {
    pub fn open(config: JournalConfig, clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> io::Result<Self> {
        let name = ids::unique(clock.now(), entropy.as_ref()).simple().to_string();
        let (directory, lock) = segment::claim(&config.directory, &name)?;
        segment::probe(&directory, config.segment_bytes)?;
        Ok(Self(Arc::new(Inner {
            capacity: Capacity::new(config.max_bytes),
            shards: (0..=config.workers).map(|_| Mutex::default()).collect(),
            config,
            clock,
            entropy,
            name,
            directory,
            next_segment: AtomicU64::new(0),
            records: AtomicU64::new(0),
            awaited_records: AtomicU64::new(u64::MAX),
            awaited: Notify::new(),
            damaged: AtomicU64::new(0),
            stuck: AtomicBool::new(false),
            settled: Mutex::new(None),
            followed: Mutex::default(),
            _lock: lock,
        })))
    }

    /// Records that a call is about to be sent to a provider. All records of a call must be in one shard.
    pub fn open_call(&self, opening: OpeningRef<'_>, shard: ShardId) -> io::Result<()> {
        self.append(shard, Limit::ForOpenings, |buffer| {
            frame::encode(buffer, RecordType::new(RecordKind::Opening), |buffer| {
                journal_record::opening(buffer, opening)
            })
        })
    }

    /// Records the end of a call, in the shard where it was opened, if it was. When this returns, the call will be
    /// booked exactly once.
    pub fn close_call(&self, receipt: &Receipt, shard: ShardId) -> io::Result<()> {
        // Bodies for the audit log are dropped first when space runs short: receipts must fit.
        let scarce = receipt.audit.as_deref().filter(|_| self.0.capacity.is_scarce());
        let without = scarce.map(Audited::without_bodies);
        let audited = without.as_ref().or(receipt.audit.as_deref());
        self.append(shard, Limit::ForReceipts, |buffer| {
            frame::encode(buffer, RecordType::new(RecordKind::Receipt), |buffer| {
                journal_record::receipt_with(buffer, receipt, audited)
            })
        })
    }

    /// Calls with background responses that a dead process followed and that are open in this journal now, in the shared
    /// shard. Each is returned once; the caller has to close it there.
    pub fn take_followed(&self) -> Vec<Opening> {
        std::mem::take(&mut self.0.followed.lock())
    }

    /// Takes over a call of a dead process whose background response is still running at its provider.
    fn follow(&self, opening: Opening) -> io::Result<()> {
        // Locked until the opening is written, so that the same call is not opened twice.
        let mut followed = self.0.followed.lock();
        if followed.iter().all(|other| other.id != opening.id) {
            self.open_call(opening.as_ref(), ShardId::SHARED)?;
            followed.push(opening);
        }
        Ok(())
    }

    pub fn lag(&self) -> Lag {
        let mut lag = Lag { bytes: self.0.capacity.waiting(), ..Lag::default() };
        for shard in &self.0.shards {
            let shard = shard.lock();
            lag.records += shard.waiting_records();
            lag.oldest = [lag.oldest, shard.oldest()].into_iter().flatten().min();
        }
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
            && segment::probe(&self.0.directory, self.0.config.segment_bytes).is_ok()
    }

    /// True if the last attempt to book failed.
    pub fn is_stuck(&self) -> bool {
        self.0.stuck.load(Ordering::Relaxed)
    }

    /// The name of the directory of this process, unique among all processes. It owns the leases on budgets.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// True if the drainer ended with everything booked and nothing was appended since.
    fn is_settled(&self) -> bool {
        *self.0.settled.lock() == Some(self.records())
    }

    /// Removes the directory of this process if the drainer ended with everything booked and nothing was appended
    /// since. The next process then has nothing to take over.
    fn remove_settled(&self) -> io::Result<bool> {
        // All locks are held throughout: nothing can be appended between this check and the removal.
        let shards: Vec<_> = self.0.shards.iter().map(Mutex::lock).collect();
        let records = shards.iter().map(|shard| shard.records()).sum::<u64>();
        if *self.0.settled.lock() != Some(records) {
            return Ok(false);
        }
        // A backup that runs needs the segments; the next process removes them.
        let Some(_guard) = segment::lock_removal(&self.0.config.directory)? else { return Ok(false) };
        segment::dissolve(&self.0.config.directory, &self.0.directory)?;
        Ok(true)
    }

    fn append(
        &self,
        shard: ShardId,
        limit: Limit,
        encode: impl FnOnce(&mut Vec<u8>) -> io::Result<()>,
    ) -> io::Result<()> {
        // The sync happens without the lock of the shard, so that others can append meanwhile.
        self.append_unsynced(shard, limit, encode)?.map_or(Ok(()), |file| file.sync_data())
    }

    /// Appends a record; returns the file to be synced, if fsync is enabled.
    fn append_unsynced(
        &self,
        shard: ShardId,
        limit: Limit,
        encode: impl FnOnce(&mut Vec<u8>) -> io::Result<()>,
    ) -> io::Result<Option<Arc<File>>> {
        with_buffer(|frame| {
            encode(frame)?;
            let size = frame.len() as u64;
            self.0.capacity.check(size, limit)?;
            // Counted before the drainer can read the record and subtract it.
            self.0.capacity.add(size);
            let written = self.write(shard, frame);
            match written {
                Ok(_) => self.count_record(),
                Err(_) => self.0.capacity.release(size),
            }
            written
        })
    }

    /// Appends a frame to a shard.
    fn write(&self, shard: ShardId, frame: &[u8]) -> io::Result<Option<Arc<File>>> {
        let mut shard = self.shard(shard).lock();
        shard.append(frame, self.0.clock.now(), |size| self.create_segment(size))?;
        Ok(self.file_to_sync(&shard))
    }

    fn create_segment(&self, record: usize) -> io::Result<(MappedFile, Segment)> {
        let id = ids::unique(self.0.clock.now(), self.0.entropy.as_ref()).simple().to_string();
        let sequence = self.0.next_segment.fetch_add(1, Ordering::Relaxed);
        let size = self.0.config.segment_bytes.max(record);
        segment::create(&self.0.directory, sequence, id, size, self.0.config.fsync)
    }

    fn shard(&self, shard: ShardId) -> &Mutex<Shard> {
        &self.0.shards[shard.index() % self.0.shards.len()]
    }

    fn shard_ids(&self) -> impl Iterator<Item = ShardId> {
        std::iter::once(ShardId::SHARED).chain((0..self.0.config.workers).map(ShardId::of_worker))
    }

    /// Counts a record, and notifies the drainer if it waits for this one.
    fn count_record(&self) {
        // Sequentially consistent, like the accesses of the drainer in `until_records`: either this thread sees the
        // number that the drainer waits for, or the drainer sees this record.
        let records = self.0.records.fetch_add(1, Ordering::SeqCst) + 1;
        if records >= self.0.awaited_records.load(Ordering::SeqCst) {
            self.0.awaited_records.store(u64::MAX, Ordering::SeqCst);
            self.0.awaited.notify_one();
        }
    }

    /// Total number of records written.
    fn records(&self) -> u64 {
        self.0.records.load(Ordering::SeqCst)
    }

    async fn until_records(&self, records: u64) {
        loop {
            self.0.awaited_records.store(records, Ordering::SeqCst);
            if self.records() >= records {
                break;
            }
            // A permit is stored when nothing is waiting yet. A stale one only costs another check.
            self.0.awaited.notified().await;
        }
        self.0.awaited_records.store(u64::MAX, Ordering::SeqCst);
    }

    /// Repeats an opening in the newest segment of its shard.
    fn carry(&self, shard: ShardId, opening: &OpeningRecord) -> io::Result<()> {
        let kind = RecordType { kind: RecordKind::Carried, encoding: opening.encoding };
        let file = self.append_unsynced(shard, Limit::None, |buffer| {
            frame::encode(buffer, kind, |buffer| buffer.extend_from_slice(&opening.payload))
        });
        file.map(drop)
    }

    /// The newest file of a shard, if fsync is enabled.
    fn file_to_sync(&self, shard: &Shard) -> Option<Arc<File>> {
        if self.0.config.fsync { shard.file() } else { None }
    }

    /// Syncs the newest segment of a shard, if fsync is enabled.
    fn sync(&self, shard: ShardId) -> io::Result<()> {
        let file = self.file_to_sync(&self.shard(shard).lock());
        file.map_or(Ok(()), |file| file.sync_data())
    }

    fn drained(&self, shard: ShardId, bytes: u64, records: u64) {
        self.shard(shard).lock().drained(bytes, records);
        self.0.capacity.release(bytes);
    }

    fn forget(&self, shard: ShardId, segment: &Segment, damaged: bool) -> io::Result<()> {
        segment::remove(&self.0.config.directory, segment, damaged)?;
        self.shard(shard).lock().forget(segment.sequence);
        Ok(())
    }
}

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Lends the buffer of this thread, so that records are encoded outside of the lock and without allocating.
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
