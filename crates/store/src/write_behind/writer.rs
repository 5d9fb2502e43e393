//! The writer of the queue: writes items in batches and retries while storage is unavailable.

use std::time::Duration;

use tokio::sync::watch;

use super::{Aged, BatchSink, Queued, WriteBehindQueue};
use crate::StoreError;

/// Time that an item waits for others to be written with.
const GATHER: Duration = Duration::from_millis(25);
const FIRST_RETRY: Duration = Duration::from_millis(100);
const LAST_RETRY: Duration = Duration::from_secs(1);
/// Time limit for the final batches of a stopping process.
const LAST_SAVE: Duration = Duration::from_secs(5);
const MOST_ROWS: usize = 64;
const MOST_BYTES: usize = 8 << 20;

enum Pause {
    None,
    Gather,
    Retry(Duration),
}

impl<T: Queued> WriteBehindQueue<T> {
    /// Writes items until stopped, then the remaining ones as far as time allows. Items put after that are not written,
    /// so producers must have ended before.
    pub async fn run(&self, shelf: &impl BatchSink<T>, mut stop: watch::Receiver<bool>) {
        let (mut failing, mut retry) = (false, FIRST_RETRY);
        let mut pause = Pause::Gather;
        while !*stop.borrow() {
            tokio::select! {
                () = self.pause(pause) => {}
                _ = stop.wait_for(|stop| *stop) => break,
            }
            (pause, retry) = match self.attempt(shelf, &mut failing).await {
                Ok(MOST_ROWS..) => (Pause::None, FIRST_RETRY),
                Ok(_) => (Pause::Gather, FIRST_RETRY),
                Err(_) => (Pause::Retry(retry), (retry * 2).min(LAST_RETRY)),
            };
        }
        let last = async {
            while self.attempt(shelf, &mut failing).await != Ok(0) {
                if failing {
                    tokio::time::sleep(FIRST_RETRY).await;
                }
            }
        };
        if tokio::time::timeout(LAST_SAVE, last).await.is_err() {
            let count = self.pending.lock().len();
            tracing::error!(what = T::NAME, count, "stopping with unwritten items");
        }
    }

    async fn pause(&self, pause: Pause) {
        match pause {
            Pause::None => {}
            Pause::Retry(pause) => tokio::time::sleep(pause).await,
            Pause::Gather => {
                // `notify_one` stores a permit, so an item that is put between the check and the wait is not missed.
                while self.pending.lock().is_empty() {
                    self.put.notified().await;
                }
                tokio::time::sleep(GATHER).await;
            }
        }
    }

    /// Like `save`, and logs when storage becomes unavailable or available again.
    async fn attempt(&self, shelf: &impl BatchSink<T>, failing: &mut bool) -> Result<usize, StoreError> {
        let result = self.save(shelf).await;
        match &result {
            Err(error) if !*failing => {
                tracing::error!(%error, what = T::NAME, "writing a batch failed, keeping items in memory")
            }
            Ok(_) if *failing => tracing::info!(what = T::NAME, "writing batches recovered"),
            _ => {}
        }
        *failing = result.is_err();
        result
    }

    /// Writes the oldest items; returns their number.
    pub async fn save(&self, shelf: &impl BatchSink<T>) -> Result<usize, StoreError> {
        let _alone = self.writing.lock().await;
        let batch = self.pending.lock().oldest(MOST_ROWS, MOST_BYTES);
        if batch.is_empty() {
            return Ok(0);
        }
        match shelf.write(&batch).await {
            Ok(()) => self.settle(&batch),
            Err(StoreError::Unavailable(reason)) => return Err(StoreError::Unavailable(reason)),
            Err(refusal) => self.save_singly(shelf, &batch, refusal).await?,
        }
        Ok(batch.len())
    }

    /// Writes a rejected batch item by item. If some are accepted, the rejected ones are faulty and are dropped, so
    /// that they do not block the queue; if none is accepted, the database is at fault.
    async fn save_singly(
        &self,
        shelf: &impl BatchSink<T>,
        batch: &[Aged<T>],
        refusal: StoreError,
    ) -> Result<(), StoreError> {
        let (mut refused, mut saved) = (Vec::new(), 0);
        for one in batch {
            match shelf.write(std::slice::from_ref(one)).await {
                Ok(()) => {
                    self.settle(std::slice::from_ref(one));
                    saved += 1;
                }
                Err(StoreError::Unavailable(reason)) => return Err(StoreError::Unavailable(reason)),
                Err(error) => refused.push((one, error)),
            }
        }
        if saved == 0 {
            return Err(refusal);
        }
        for (one, error) in refused {
            tracing::error!(what = T::NAME, id = one.1.id(), %error, "item rejected by the database, dropped");
            self.settle(std::slice::from_ref(one));
        }
        Ok(())
    }

    fn settle(&self, batch: &[Aged<T>]) {
        let mut pending = self.pending.lock();
        batch.iter().for_each(|aged| pending.settle(aged));
        let lost = if pending.is_empty() { pending.take_lost() } else { 0 };
        drop(pending);
        if lost > 0 {
            tracing::error!(what = T::NAME, lost, "content dropped while storage was unavailable");
        }
    }
}
