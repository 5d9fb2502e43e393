//! A bounded queue of log lines, written to standard error by a dedicated thread.
//!
//! Standard error may be a pipe that is not read. A direct write would then block each thread that logs, and the
//! connections that it serves.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use pipeline::services::metrics::LOG_LINES_DROPPED;
use tracing_subscriber::fmt::MakeWriter;

use super::escape::escape_controls;

/// Maximum number of queued lines.
const MOST_LINES: usize = 8192;
/// Maximum number of queued bytes.
const MOST_BYTES: usize = 4 << 20;
/// Interval at which a flush checks whether the queue is empty.
const FLUSH_STEP: Duration = Duration::from_millis(2);

/// The sending end of the queue. Lines that do not fit are dropped and counted.
#[derive(Clone)]
pub struct LogQueue {
    lines: SyncSender<Vec<u8>>,
    /// Bytes of the lines that are not written yet.
    waiting: Arc<AtomicUsize>,
    /// Whether control characters inside a line are escaped; JSON already does so.
    escapes: bool,
}

impl LogQueue {
    pub fn start(sink: impl Write + Send + 'static, escapes: bool) -> io::Result<Self> {
        let (lines, queued) = sync_channel(MOST_LINES);
        let waiting = Arc::<AtomicUsize>::default();
        let counted = waiting.clone();
        thread::Builder::new().name("log".into()).spawn(move || write_lines(&queued, sink, &counted))?;
        Ok(Self { lines, waiting, escapes })
    }

    /// Waits until all queued lines are written, at most for `limit`.
    pub fn flush(&self, limit: Duration) {
        let steps = limit.as_millis() / FLUSH_STEP.as_millis();
        for _ in 0..steps {
            if self.waiting.load(Ordering::Acquire) == 0 {
                return;
            }
            thread::sleep(FLUSH_STEP);
        }
    }

    fn put(&self, line: Vec<u8>) {
        let bytes = line.len();
        // Reserves the bytes before sending, so that concurrent senders together cannot exceed the limit; taken back if
        // the line is dropped.
        let fits = self.waiting.fetch_add(bytes, Ordering::AcqRel) + bytes <= MOST_BYTES;
        if !fits || self.lines.try_send(line).is_err() {
            self.waiting.fetch_sub(bytes, Ordering::AcqRel);
            LOG_LINES_DROPPED.inc();
        }
    }
}

fn write_lines(lines: &Receiver<Vec<u8>>, mut sink: impl Write, waiting: &AtomicUsize) {
    let mut reported = LOG_LINES_DROPPED.get();
    while let Ok(line) = lines.recv() {
        // An error of standard error cannot be reported anywhere.
        let _ = sink.write_all(&line);
        waiting.fetch_sub(line.len(), Ordering::AcqRel);
        let dropped = LOG_LINES_DROPPED.get();
        if dropped > reported {
            tracing::warn!(
                lines = dropped - reported,
                "log lines dropped because standard error was blocked"
            );
            // If this warning was dropped as well, it is repeated later.
            if LOG_LINES_DROPPED.get() == dropped {
                reported = dropped;
            }
        }
    }
}

/// A log line while it is being formatted; it is queued when it is complete.
pub struct LogLine {
    queue: LogQueue,
    text: Vec<u8>,
}

impl<'a> MakeWriter<'a> for LogQueue {
    type Writer = LogLine;

    fn make_writer(&'a self) -> LogLine {
        LogLine { queue: self.clone(), text: Vec::new() }
    }
}

impl Write for LogLine {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for LogLine {
    fn drop(&mut self) {
        let text = std::mem::take(&mut self.text);
        if !text.is_empty() {
            self.queue.put(if self.queue.escapes { escape_controls(text) } else { text });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, mpsc};

    use super::*;

    /// Held by tests that drop lines, because all queues count them together.
    static DROPS: Mutex<()> = Mutex::new(());

    /// A sink that blocks until it is released.
    struct Blocked {
        gate: mpsc::Receiver<()>,
        open: bool,
        written: mpsc::Sender<Vec<u8>>,
    }

    impl Write for Blocked {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if !self.open {
                self.gate.recv().unwrap();
                self.open = true;
            }
            let _ = self.written.send(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_blocked_sink_drops_and_counts_lines_without_blocking() {
        let _alone = DROPS.lock().unwrap();
        let (open, gate) = mpsc::channel();
        let (written, lines) = mpsc::channel();
        let queue = LogQueue::start(Blocked { gate, open: false, written }, true).unwrap();
        let before = LOG_LINES_DROPPED.get();
        for number in 0..MOST_LINES + 1000 {
            writeln!(queue.make_writer(), "line {number}").unwrap();
        }
        let dropped = LOG_LINES_DROPPED.get() - before;
        assert!((999..=1000).contains(&dropped), "{dropped}");
        open.send(()).unwrap();
        queue.flush(Duration::from_secs(10));
        let texts: Vec<Vec<u8>> = lines.try_iter().collect();
        assert_eq!(texts.len() as u64, (MOST_LINES + 1000) as u64 - dropped);
        assert_eq!(texts[0], b"line 0\n");
    }

    #[test]
    fn the_bytes_that_wait_are_bounded() {
        let _alone = DROPS.lock().unwrap();
        let (_open, gate) = mpsc::channel();
        let (written, _lines) = mpsc::channel();
        let queue = LogQueue::start(Blocked { gate, open: false, written }, false).unwrap();
        let line = vec![b'x'; 1 << 20];
        for _ in 0..20 {
            queue.make_writer().write_all(&line).unwrap();
        }
        assert!(queue.waiting.load(Ordering::Relaxed) <= MOST_BYTES);
    }
}
