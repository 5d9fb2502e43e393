//! What this process has to remember at once and storage a moment later: seen when it is put, written in batches.

mod pending;
mod writer;

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::StoreError;

pub(crate) use pending::{Aged, Pending};

/// Something that waits to be written.
pub(crate) trait Waiting: Clone + Send + Sync + 'static {
    /// What several of them are called in the log.
    const NAME: &'static str;

    fn id(&self) -> &str;

    /// Of its texts, in bytes.
    fn weight(&self) -> usize;

    /// What is left of it when storage has been away for too long.
    fn without_texts(&self) -> Self;

    /// Whether another one of the same id may take its place.
    fn gives_way_to(&self, other: &Self) -> bool;
}

/// Where it goes.
pub(crate) trait Shelf<T> {
    /// All or none. No id is there twice.
    fn write(&self, batch: &[Aged<T>]) -> impl Future<Output = Result<(), StoreError>> + Send;
}

pub(crate) struct Backlog<T> {
    pub pending: Mutex<Pending<T>>,
    /// Told whenever something is put.
    put: Notify,
    /// Held while a batch is written, and by whoever deletes: a batch under way must not bring back what was deleted.
    pub writing: tokio::sync::Mutex<()>,
}

impl<T: Waiting> Default for Backlog<T> {
    fn default() -> Self {
        Self { pending: Mutex::default(), put: Notify::new(), writing: tokio::sync::Mutex::default() }
    }
}

impl<T: Waiting> Backlog<T> {
    /// Visible when this returns. What waits is bounded: the oldest lose their texts.
    pub fn put(&self, one: T) {
        let lost_first = self.pending.lock().put(one);
        self.put.notify_one();
        if lost_first {
            tracing::error!(
                what = T::NAME,
                "storage has been away for too long: what waits for it is losing its texts"
            );
        }
    }

    pub fn get(&self, id: &str) -> Option<Arc<T>> {
        self.pending.lock().get(id)
    }
}
