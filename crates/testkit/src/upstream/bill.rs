//! The upstream's own bill, for comparison with the gateway's accounting.

use std::sync::Arc;

use parking_lot::Mutex;
use serde::Serialize;
use tokio::time::Instant;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BillLine {
    /// The answer's id, as the client received it.
    pub id: String,
    pub model: String,
    /// The first word of the last text: a marker by which suites find all attempts of one call.
    pub word: String,
    /// `chat`, `responses`, `messages`, `generate`, `completions`, `embeddings` or `rerank`.
    pub dialect: String,
    /// All prompt tokens, including cache reads and writes.
    pub prompt_tokens: u64,
    /// Completion tokens actually sent, fewer than the whole answer if it was cancelled. Includes reasoning.
    pub completion_tokens: u64,
    pub cached_tokens: u64,
    pub cache_write_5m_tokens: u64,
    pub cache_write_1h_tokens: u64,
    pub reasoning_tokens: u64,
    /// Whether the client read the terminal event (the whole body, if it is not a stream).
    pub finished: bool,
    /// Whether the client disconnected before that.
    pub cancelled: bool,
    /// Start time in milliseconds of the upstream's own clock.
    pub began_ms: u64,
    /// End time; `None` while the answer is in progress.
    pub ended_ms: Option<u64>,
}

pub(super) struct Bill {
    lines: Mutex<Vec<Arc<Mutex<BillLine>>>>,
    since: Instant,
}

impl Default for Bill {
    fn default() -> Self {
        Self { lines: Mutex::default(), since: Instant::now() }
    }
}

impl Bill {
    pub fn open(&self, line: BillLine) -> Entry {
        let began_ms = self.since.elapsed().as_millis() as u64;
        let line = Arc::new(Mutex::new(BillLine { began_ms, ..line }));
        self.lines.lock().push(Arc::clone(&line));
        Entry(Some(Open { line, since: self.since }))
    }

    pub fn lines(&self) -> Vec<BillLine> {
        self.lines.lock().iter().map(|line| line.lock().clone()).collect()
    }

    /// Number of answers neither finished nor cancelled, including those the upstream itself interrupted.
    pub fn unfinished(&self) -> usize {
        let lines = self.lines.lock();
        lines.iter().map(|line| line.lock()).filter(|line| !line.finished && !line.cancelled).count()
    }

    pub fn clear(&self) {
        self.lines.lock().clear();
    }
}

/// The bill line of an answer in progress. Dropping it before the end marks the line as cancelled.
#[derive(Default)]
pub(super) struct Entry(Option<Open>);

struct Open {
    line: Arc<Mutex<BillLine>>,
    since: Instant,
}

impl Entry {
    pub fn sent(&self, completion: u64, reasoning: u64) {
        if let Some(open) = &self.0 {
            let mut line = open.line.lock();
            line.completion_tokens += completion;
            line.reasoning_tokens += reasoning;
        }
    }

    pub fn finish(&mut self) {
        self.end(|line| line.finished = true);
    }

    /// Ends the line after a fault of the upstream itself: neither finished nor cancelled.
    pub fn break_off(&mut self) {
        self.end(|_| {});
    }

    fn end(&mut self, how: impl FnOnce(&mut BillLine)) {
        if let Some(Open { line, since }) = self.0.take() {
            let mut line = line.lock();
            line.ended_ms = Some(since.elapsed().as_millis() as u64);
            how(&mut line);
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.end(|line| line.cancelled = true);
    }
}
