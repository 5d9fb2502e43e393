//! The upstream's own account of what it served, to hold the gateway's against.

use std::sync::Arc;

use parking_lot::Mutex;
use serde::Serialize;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BillLine {
    /// The answer's id, as the client saw it.
    pub id: String,
    pub model: String,
    /// `chat`, `responses`, `messages`, `generate`, `completions`, `embeddings` or `rerank`.
    pub dialect: String,
    /// All of it: what was read from a cache and written to one is part of it.
    pub prompt_tokens: u64,
    /// What was really sent: less than the whole answer when it was cancelled. Reasoning included.
    pub completion_tokens: u64,
    pub cached_tokens: u64,
    pub cache_write_5m_tokens: u64,
    pub cache_write_1h_tokens: u64,
    pub reasoning_tokens: u64,
    /// The client took the terminal event (the whole body, when it is not a stream).
    pub finished: bool,
    /// The client went away before that.
    pub cancelled: bool,
}

#[derive(Default)]
pub(super) struct Bill(Mutex<Vec<Arc<Mutex<BillLine>>>>);

impl Bill {
    pub fn open(&self, line: BillLine) -> Entry {
        let line = Arc::new(Mutex::new(line));
        self.0.lock().push(Arc::clone(&line));
        Entry { line: Some(line) }
    }

    pub fn lines(&self) -> Vec<BillLine> {
        self.0.lock().iter().map(|line| line.lock().clone()).collect()
    }

    /// Answers under way; what the upstream broke off counts too.
    pub fn unfinished(&self) -> usize {
        let lines = self.0.lock();
        lines.iter().map(|line| line.lock()).filter(|line| !line.finished && !line.cancelled).count()
    }

    pub fn clear(&self) {
        self.0.lock().clear();
    }
}

/// An answer being served: dropped before its end, it was cancelled.
#[derive(Default)]
pub(super) struct Entry {
    line: Option<Arc<Mutex<BillLine>>>,
}

impl Entry {
    pub fn sent(&self, completion: u64, reasoning: u64) {
        if let Some(line) = &self.line {
            let mut line = line.lock();
            line.completion_tokens += completion;
            line.reasoning_tokens += reasoning;
        }
    }

    pub fn finish(&mut self) {
        if let Some(line) = self.line.take() {
            line.lock().finished = true;
        }
    }

    /// The upstream itself broke off: neither finished nor cancelled.
    pub fn break_off(&mut self) {
        self.line = None;
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if let Some(line) = self.line.take() {
            line.lock().cancelled = true;
        }
    }
}
