//! Receipts that the journal could not write, kept in memory until it can: a full disk must not lose charges.

use std::collections::VecDeque;

use domain::receipt::Receipt;
use parking_lot::Mutex;
use store::{Journal, ShardId};

/// Limits on memory. Beyond these the oldest receipt is dropped and an error is logged.
const MOST: usize = 100_000;
const MOST_BYTES: usize = if cfg!(test) { 1 << 20 } else { 256 << 20 };

#[derive(Default)]
pub struct PendingReceipts(Mutex<Queue>);

#[derive(Default)]
struct Queue {
    receipts: VecDeque<PendingReceipt>,
    bytes: usize,
}

struct PendingReceipt {
    receipt: Receipt,
    shard: ShardId,
    size: usize,
}

impl PendingReceipts {
    /// Queues a receipt without the audited bodies, to save memory. `shard` is where it has to be written.
    pub fn keep(&self, mut receipt: Receipt, shard: ShardId) {
        receipt.audit = receipt.audit.map(|audited| Box::new(audited.without_bodies()));
        let size = size_of::<Receipt>() + serde_json::to_vec(&receipt).map_or(0, |json| json.len());
        let mut queue = self.0.lock();
        while (queue.receipts.len() >= MOST || queue.bytes + size > MOST_BYTES)
            && let Some(lost) = queue.receipts.pop_front()
        {
            queue.bytes -= lost.size;
            tracing::error!(
                request_id = lost.receipt.request_id,
                "receipt dropped: too many receipts wait for the journal"
            );
        }
        queue.bytes += size;
        queue.receipts.push_back(PendingReceipt { receipt, shard, size });
    }

    pub fn len(&self) -> usize {
        self.0.lock().receipts.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes receipts to the journal, oldest first, until one fails. The queue is not locked while one is written: calls
    /// that end meanwhile do not wait for the disk.
    pub fn retry(&self, journal: &Journal) {
        while let Some(pending) = self.pop() {
            if journal.close_call(&pending.receipt, pending.shard).is_err() {
                let mut queue = self.0.lock();
                queue.bytes += pending.size;
                queue.receipts.push_front(pending);
                return;
            }
        }
    }

    fn pop(&self) -> Option<PendingReceipt> {
        let mut queue = self.0.lock();
        let pending = queue.receipts.pop_front()?;
        queue.bytes -= pending.size;
        Some(pending)
    }
}

#[cfg(test)]
mod tests {
    use domain::receipt::Audited;

    use super::*;

    #[test]
    fn pending_receipts_drop_bodies_and_are_bounded() {
        let unwritten = PendingReceipts::default();
        let audit = Audited { request_body: Some("x".repeat(1 << 18)), ..Audited::default() };
        unwritten.keep(Receipt { audit: Some(Box::new(audit)), ..Receipt::default() }, ShardId::SHARED);
        {
            let queue = unwritten.0.lock();
            let audit = queue.receipts[0].receipt.audit.as_ref().unwrap();
            assert!(queue.bytes < 10_000 && audit.request_body.is_none());
            assert!(audit.request_truncated && !audit.response_truncated);
        }
        for _ in 0..6 {
            unwritten
                .keep(Receipt { user_agent: "x".repeat(240 << 10), ..Receipt::default() }, ShardId::SHARED);
        }
        assert_eq!(unwritten.len(), 4);
        assert!(unwritten.0.lock().bytes <= MOST_BYTES);
    }
}
