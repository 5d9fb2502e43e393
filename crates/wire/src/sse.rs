//! Server-sent events: splits arbitrary chunks into events and reads their fields.

mod event;

use std::collections::VecDeque;

use bytes::{Buf as _, Bytes, BytesMut};

pub use event::Event;

/// An event exceeded the size limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong {
    pub limit: usize,
}

impl std::fmt::Display for TooLong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "an event is longer than {} bytes", self.limit)
    }
}

impl std::error::Error for TooLong {}

/// Splits a byte stream into events. Each byte is examined once; an event within one chunk is a slice of it. Blank
/// lines between events and a leading byte order mark are dropped.
pub struct Splitter {
    limit: usize,
    waiting: VecDeque<Bytes>,
    /// The part of the current event from earlier chunks.
    carried: BytesMut,
    current: Bytes,
    /// Number of bytes of `current` already examined; they belong to the current event.
    scanned: usize,
    line: Line,
    /// Number of non-blank lines of this event.
    lines: usize,
    started: bool,
}

/// Parser state within the line grammar.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    Start {
        after_crlf: bool,
    },
    Inside,
    AfterCr,
    /// The blank line ended in CR in a stream with CRLF: the following LF belongs to the same event.
    BlankAfterCr,
}

const START: Line = Line::Start { after_crlf: false };
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl Splitter {
    pub fn new(max_event_bytes: usize) -> Self {
        Self {
            limit: max_event_bytes,
            waiting: VecDeque::new(),
            carried: BytesMut::new(),
            current: Bytes::new(),
            scanned: 0,
            line: START,
            lines: 0,
            started: false,
        }
    }

    pub fn push(&mut self, chunk: Bytes) {
        if chunk.is_empty() {
            return;
        }
        if self.started {
            return self.enqueue(chunk);
        }
        let chunk = if self.carried.is_empty() {
            chunk
        } else {
            self.carried.extend_from_slice(&chunk);
            self.carried.split().freeze()
        };
        if chunk.len() < BYTE_ORDER_MARK.len() && BYTE_ORDER_MARK.starts_with(&chunk) {
            self.carried.extend_from_slice(&chunk);
            return;
        }
        self.started = true;
        let skipped = if chunk.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        self.enqueue(chunk.slice(skipped..));
    }

    #[expect(
        clippy::should_implement_trait,
        reason = "an iterator would end at the first None; this one goes on"
    )]
    pub fn next(&mut self) -> Result<Option<Event>, TooLong> {
        loop {
            let complete = self.scan();
            if self.carried.len() + self.scanned > self.limit {
                return Err(TooLong { limit: self.limit });
            }
            if complete {
                return Ok(Some(self.cut()));
            }
            if !self.started {
                return Ok(None);
            }
            let Some(next) = self.waiting.pop_front() else { return Ok(None) };
            self.carried.extend_from_slice(&self.current);
            self.current = next;
            self.scanned = 0;
        }
    }

    /// The bytes of the current chunk that follow a complete event, at most as many as an event may have.
    pub fn unread(&self) -> &[u8] {
        let is_between_events = self.carried.is_empty() && self.scanned == 0;
        let length = if is_between_events { self.current.len().min(self.limit) } else { 0 };
        &self.current[..length]
    }

    /// Takes complete events from the start of `unread` that are not to be split.
    pub fn take_unread(&mut self, length: usize) -> Bytes {
        self.current.split_to(length)
    }

    /// Whether no part of an unfinished event is buffered.
    pub fn is_empty(&self) -> bool {
        self.carried.is_empty() && self.current.is_empty() && self.waiting.is_empty()
    }

    /// Returns a last event without a closing blank line at the end of the stream.
    pub fn finish(&mut self) -> Option<Event> {
        self.started = true;
        match self.next() {
            Ok(None) if !self.is_empty() => {
                self.lines += usize::from(self.line == Line::Inside);
                Some(self.cut())
            }
            Ok(event) => event,
            Err(TooLong { .. }) => None,
        }
    }

    fn enqueue(&mut self, chunk: Bytes) {
        if self.is_empty() {
            self.current = chunk;
            self.scanned = 0;
        } else if !chunk.is_empty() {
            self.waiting.push_back(chunk);
        }
    }

    /// Continues from `scanned`; true after the blank line that ends the event.
    fn scan(&mut self) -> bool {
        while let Some(&byte) = self.current.get(self.scanned) {
            match self.line {
                Line::Inside => match memchr::memchr2(b'\n', b'\r', &self.current[self.scanned..]) {
                    None => self.scanned = self.current.len(),
                    Some(length) => {
                        let at = self.scanned + length;
                        self.lines += 1;
                        self.line = if self.current[at] == b'\n' { START } else { Line::AfterCr };
                        self.scanned = at + 1;
                    }
                },
                Line::AfterCr => {
                    let after_crlf = byte == b'\n';
                    self.scanned += usize::from(after_crlf);
                    self.line = Line::Start { after_crlf };
                }
                Line::Start { after_crlf } => match byte {
                    b'\n' | b'\r' if self.lines == 0 => self.current.advance(1),
                    b'\r' if after_crlf => {
                        self.scanned += 1;
                        self.line = Line::BlankAfterCr;
                    }
                    b'\n' | b'\r' => {
                        self.scanned += 1;
                        return true;
                    }
                    _ => self.line = Line::Inside,
                },
                Line::BlankAfterCr => {
                    self.scanned += usize::from(byte == b'\n');
                    return true;
                }
            }
        }
        false
    }

    fn cut(&mut self) -> Event {
        let raw = if self.carried.is_empty() {
            self.current.split_to(self.scanned)
        } else {
            self.carried.extend_from_slice(&self.current[..self.scanned]);
            self.current.advance(self.scanned);
            self.carried.split().freeze()
        };
        let event = Event::new(raw, self.lines);
        self.scanned = 0;
        self.lines = 0;
        self.line = START;
        event
    }
}

#[cfg(test)]
mod tests;
