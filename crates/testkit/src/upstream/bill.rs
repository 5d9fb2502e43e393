//! The upstream's own account of what it served, to hold the gateway's against.

use std::sync::Arc;

use parking_lot::Mutex;
use serde::Serialize;
use tokio::time::Instant;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BillLine {
    /// The answer's id, as the client saw it.
    pub id: String,
    pub model: String,
    /// The first word of what was said last: a suite's own mark, by which it finds every attempt at one call.
    pub word: String,
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
    /// Milliseconds of the upstream's own clock.
    pub began_ms: u64,
    /// Absent while it is under way.
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

    /// Answers under way; what the upstream broke off counts too.
    pub fn unfinished(&self) -> usize {
        let lines = self.lines.lock();
        lines.iter().map(|line| line.lock()).filter(|line| !line.finished && !line.cancelled).count()
    }

    pub fn clear(&self) {
        self.lines.lock().clear();
    }
}

/// An answer being served: dropped before its end, it was cancelled.
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

    /// The upstream itself broke off: neither finished nor cancelled.
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
