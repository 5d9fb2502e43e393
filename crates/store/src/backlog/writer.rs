//! The writer: what was put goes to storage in batches, and is tried again for as long as storage is away.

use std::time::Duration;

use tokio::sync::watch;

use super::{Aged, Backlog, Shelf, Waiting};
use crate::StoreError;

/// How long what is put waits for others to be written with.
const GATHER: Duration = Duration::from_millis(25);
const FIRST_RETRY: Duration = Duration::from_millis(100);
const LAST_RETRY: Duration = Duration::from_secs(1);
/// What a stopping process gives the last batches.
const LAST_SAVE: Duration = Duration::from_secs(5);
const MOST_ROWS: usize = 64;
const MOST_BYTES: usize = 8 << 20;

enum Pause {
    None,
    Gather,
    Retry(Duration),
}

impl<T: Waiting> Backlog<T> {
    /// Writes what is put until told to stop, then what is left, as far as time allows. What is put after that stays
    /// unwritten: whoever puts must have ended before.
    pub async fn run(&self, shelf: &impl Shelf<T>, mut stop: watch::Receiver<bool>) {
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
            tracing::error!(what = T::NAME, count, "stopping with something that could not be stored");
        }
    }

    async fn pause(&self, pause: Pause) {
        match pause {
            Pause::None => {}
            Pause::Retry(pause) => tokio::time::sleep(pause).await,
            Pause::Gather => {
                while self.pending.lock().is_empty() {
                    self.put.notified().await;
                }
                tokio::time::sleep(GATHER).await;
            }
        }
    }

    /// As `save`, with a line in the log whenever storage goes or comes back.
    async fn attempt(&self, shelf: &impl Shelf<T>, failing: &mut bool) -> Result<usize, StoreError> {
        let result = self.save(shelf).await;
        match &result {
            Err(error) if !*failing => {
                tracing::error!(%error, what = T::NAME, "storage does not take them: they wait in memory")
            }
            Ok(_) if *failing => tracing::info!(what = T::NAME, "they are stored again"),
            _ => {}
        }
        *failing = result.is_err();
        result
    }

    /// Writes the oldest of what waits; answers how many that was.
    pub async fn save(&self, shelf: &impl Shelf<T>) -> Result<usize, StoreError> {
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

    /// The database refused a batch: if it takes some of it, the others are what is wrong, and must not be in the way
    /// for ever; if it takes none, the database is what is wrong.
    async fn save_singly(
        &self,
        shelf: &impl Shelf<T>,
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
            tracing::error!(what = T::NAME, id = one.1.id(), %error, "one of them is not stored");
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
            tracing::error!(what = T::NAME, lost, "some lost their texts while storage was away");
        }
    }
}
