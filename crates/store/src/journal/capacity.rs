//! The amount of records that wait for storage, compared with the size that the journal may have.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The capacity limit that applies to a record. The last sixteenth is reserved for receipts of calls already in
/// progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    ForOpenings,
    ForReceipts,
    None,
}

/// Counters shared by all shards. Relaxed: each is a number of its own and publishes no other data.
#[derive(Debug)]
pub(super) struct Capacity {
    max_bytes: u64,
    waiting: AtomicU64,
    full: AtomicBool,
}

impl Capacity {
    pub fn new(max_bytes: u64) -> Self {
        Self { max_bytes, waiting: AtomicU64::new(0), full: AtomicBool::new(false) }
    }

    /// Bytes that wait for storage: in our own segments, and in those of dead processes that are still to be read.
    pub fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// True if bodies have to be left out, so that receipts fit.
    pub fn is_scarce(&self) -> bool {
        self.waiting() > self.max_bytes / 2
    }

    pub fn add(&self, bytes: u64) {
        self.waiting.fetch_add(bytes, Ordering::Relaxed);
    }

    pub fn release(&self, bytes: u64) {
        _ = self
            .waiting
            .try_update(Ordering::Relaxed, Ordering::Relaxed, |waiting| Some(waiting.saturating_sub(bytes)));
    }

    /// Checks that a record fits, and logs when the journal becomes full or has space again.
    pub fn check(&self, record: u64, limit: Limit) -> io::Result<()> {
        let most = match limit {
            Limit::ForOpenings => self.max_bytes - self.max_bytes / 16,
            Limit::ForReceipts => self.max_bytes,
            Limit::None => return Ok(()),
        };
        let waiting = self.waiting();
        let full = waiting.saturating_add(record) > most;
        if full != self.full.load(Ordering::Relaxed) && full != self.full.swap(full, Ordering::Relaxed) {
            if full {
                tracing::error!(waiting, max_bytes = most, "journal full");
            } else {
                tracing::info!(waiting, max_bytes = most, "journal no longer full");
            }
        }
        if !full {
            return Ok(());
        }
        Err(io::Error::new(
            io::ErrorKind::QuotaExceeded,
            format!("the journal is full: {waiting} bytes wait for storage, {most} are allowed"),
        ))
    }
}
