//! Receipts the journal could not take, kept until it can: a full disk costs memory, not accounts.

use std::collections::VecDeque;
use std::time::Duration;

use domain::receipt::Receipt;
use parking_lot::Mutex;
use store::Journal;

/// Beyond this the oldest is given up, loudly: the process must live.
const MOST: usize = 100_000;

#[derive(Default)]
pub struct Unwritten(Mutex<VecDeque<Receipt>>);

impl Unwritten {
    pub fn keep(&self, receipt: Receipt) {
        let mut kept = self.0.lock();
        if kept.len() == MOST
            && let Some(lost) = kept.pop_front()
        {
            tracing::error!(
                request_id = lost.request_id,
                "a receipt is lost: the journal has been unwritable for too long"
            );
        }
        kept.push_back(receipt);
    }

    pub fn len(&self) -> usize {
        self.0.lock().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes what the journal takes now, oldest first.
    pub fn retry(&self, journal: &Journal) {
        let mut kept = self.0.lock();
        while let Some(receipt) = kept.front() {
            if journal.close_call(receipt).is_err() {
                return;
            }
            kept.pop_front();
        }
    }
}

pub async fn keep_retrying(gateway: std::sync::Arc<crate::gateway::Gateway>) {
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        gateway.unwritten.retry(&gateway.journal);
    }
}
