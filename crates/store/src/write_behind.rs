//! Write-behind queue: items are visible to this process at once and written to storage in batches shortly after.

mod pending;
mod writer;

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::StoreError;

pub(crate) use pending::{Aged, Pending};

/// An item of the queue.
pub(crate) trait Queued: Clone + Send + Sync + 'static {
    /// The plural name of these items in log messages.
    const NAME: &'static str;

    fn id(&self) -> &str;

    /// The size of its texts in bytes.
    fn weight(&self) -> usize;

    /// The item without its texts, kept when the queue is full.
    fn without_texts(&self) -> Self;

    /// True if `other`, with the same id, may replace it.
    fn gives_way_to(&self, other: &Self) -> bool;
}

/// The destination of batches.
pub(crate) trait BatchSink<T> {
    /// Writes a batch in one transaction. Ids are unique in the batch.
    fn write(&self, batch: &[Aged<T>]) -> impl Future<Output = Result<(), StoreError>> + Send;
}

pub(crate) struct WriteBehindQueue<T> {
    pub pending: Mutex<Pending<T>>,
    /// Notified whenever an item is put.
    put: Notify,
    /// Held while a batch is written, and during deletions: a batch in progress must not restore a deleted item.
    pub writing: tokio::sync::Mutex<()>,
}

impl<T: Queued> Default for WriteBehindQueue<T> {
    fn default() -> Self {
        Self { pending: Mutex::default(), put: Notify::new(), writing: tokio::sync::Mutex::default() }
    }
}

impl<T: Queued> WriteBehindQueue<T> {
    /// Queues an item, which is visible when this returns. The queue is bounded: the oldest items lose their texts.
    pub fn put(&self, one: T) {
        let lost_first = self.pending.lock().put(one);
        self.put.notify_one();
        if lost_first {
            tracing::error!(
                what = T::NAME,
                "write-behind queue full, dropping the content of the oldest items"
            );
        }
    }

    pub fn get(&self, id: &str) -> Option<Arc<T>> {
        self.pending.lock().get(id)
    }
}
