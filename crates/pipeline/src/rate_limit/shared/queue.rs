//! Operations that wait for the next batch.

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::operation::Operation;

/// The most operations of one batch: Redis does nothing else while it works on it.
const BATCH: usize = 256;
/// The most operations that wait. Others are dropped: those that are waited for are decided locally.
const MOST: usize = 100_000;

#[derive(Default)]
pub struct Queue {
    operations: Mutex<Vec<Operation>>,
    ready: Notify,
}

impl Queue {
    pub fn push(&self, operation: Operation) {
        let mut operations = self.operations.lock();
        if operations.len() < MOST {
            operations.push(operation);
            drop(operations);
            self.ready.notify_one();
        }
    }

    /// Puts operations before all others.
    pub fn push_front(&self, first: Vec<Operation>) {
        self.operations.lock().splice(0..0, first);
        self.ready.notify_one();
    }

    /// The next batch; `None` if nothing waits.
    pub fn take(&self) -> Option<Vec<Operation>> {
        let mut operations = self.operations.lock();
        match operations.len() {
            0 => None,
            1..=BATCH => Some(std::mem::take(&mut operations)),
            _ => Some(operations.drain(..BATCH).collect()),
        }
    }

    /// Drops everything, with the calls that wait for it.
    pub fn clear(&self) {
        let dropped = std::mem::take(&mut *self.operations.lock());
        drop(dropped);
    }

    pub async fn ready(&self) {
        self.ready.notified().await;
    }
}
