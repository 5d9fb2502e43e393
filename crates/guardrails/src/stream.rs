//! Redaction of text that arrives in pieces, with the same result as for the whole.
//!
//! Text is held back only while it may still become a match: from the leftmost position whose rest is a prefix of a
//! match. A match that starts before that position is decided, because no further text can change it.

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use crate::detector::{CONTEXT_LENGTH, Detector, NORMALISATION, SearchSpan, Step, TooComplex};
use crate::kind::Label;
use crate::normalise::{NormalisedBuffer, Normaliser, normalise};
use crate::placeholder::Masker;

/// Bytes of the original that may be held back.
pub const MAX_HELD: usize = 64 << 10;
/// With more bytes held, the text is searched again only when it has grown by a sixteenth, so that the work stays
/// proportional to the text when it arrives in small pieces.
const LAZY_FROM: usize = 4 << 10;
/// Normalised text before the held one that is kept for context words and look-behind, before it is dropped.
const MAX_CONTEXT: usize = 8 * CONTEXT_LENGTH;

/// Redacts one text that arrives in pieces: one block of one choice of a stream.
pub struct StreamRedactor {
    detector: Arc<Detector>,
    lead: String,
    normaliser: Normaliser,
    buffer: NormalisedBuffer,
    /// The position in the buffer from which on findings may start.
    from: usize,
    /// Original text that has not been passed on.
    held: String,
    /// Bytes of the original that have been passed on.
    passed: usize,
    /// Whether text before the buffer was dropped.
    is_shortened: bool,
    /// Bytes that must be held before the next search.
    search_at: usize,
    /// Bytes of the original that may be held back.
    held_limit: usize,
}

/// A part of the original text with the decision about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    Kept(&'a str),
    Found(Label, &'a str),
}

/// The reason why a stream cannot be redacted any further. Nothing of the held text was passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamError {
    /// A possible match is longer than `MAX_HELD`.
    TooMuchHeld,
    TooComplex,
}

impl Error for StreamError {}

impl Display for StreamError {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMuchHeld => write!(out, "a possible match is longer than {MAX_HELD} bytes"),
            Self::TooComplex => TooComplex.fmt(out),
        }
    }
}

impl From<TooComplex> for StreamError {
    fn from(_: TooComplex) -> Self {
        Self::TooComplex
    }
}

impl StreamRedactor {
    pub fn new(detector: Arc<Detector>) -> Self {
        Self::with_lead(detector, "")
    }

    /// A redactor for text that follows other text, in which context words may stand.
    pub fn with_lead(detector: Arc<Detector>, lead: &str) -> Self {
        Self {
            detector,
            lead: lead.to_owned(),
            normaliser: Normaliser::new(NORMALISATION),
            buffer: NormalisedBuffer::default(),
            from: 0,
            held: String::new(),
            passed: 0,
            is_shortened: false,
            search_at: 0,
            held_limit: MAX_HELD,
        }
    }

    /// Replaces the limit `MAX_HELD`, for text that is in memory as a whole.
    pub(crate) fn with_held_limit(mut self, limit: usize) -> Self {
        self.held_limit = limit;
        self
    }

    /// Appends text and writes what is decided to the output.
    pub fn push(&mut self, text: &str, masker: &mut Masker, output: &mut String) -> Result<(), StreamError> {
        self.push_pieces(text, &mut |piece| write_piece(piece, masker, output))
    }

    /// Decides about all held text: the text ends here.
    pub fn finish(&mut self, masker: &mut Masker, output: &mut String) -> Result<(), StreamError> {
        self.finish_pieces(&mut |piece| write_piece(piece, masker, output))
    }

    /// Bytes of the original that are held back.
    pub fn held_bytes(&self) -> usize {
        self.held.len()
    }

    /// Appends text and calls a function with each part that is decided, in order.
    pub fn push_pieces(&mut self, text: &str, visit: &mut dyn FnMut(Piece<'_>)) -> Result<(), StreamError> {
        self.held.push_str(text);
        self.normaliser.push(text, &mut self.buffer);
        if self.held.len() < self.search_at {
            return Ok(());
        }
        self.decide(false, visit)?;
        self.pass_open_segment(visit);
        self.drop_context();
        if self.held.len() > self.held_limit {
            return Err(StreamError::TooMuchHeld);
        }
        self.search_at = match self.held.len() {
            length @ LAZY_FROM.. => (length + length / 16).min(self.held_limit),
            _ => 0,
        };
        Ok(())
    }

    /// Decides about all held text and calls a function with each part.
    pub fn finish_pieces(&mut self, visit: &mut dyn FnMut(Piece<'_>)) -> Result<(), StreamError> {
        self.normaliser.finish(&mut self.buffer);
        self.decide(true, visit)?;
        if !self.held.is_empty() {
            visit(Piece::Kept(&self.held));
            self.held.clear();
        }
        Ok(())
    }

    /// Passes on everything that is decided.
    fn decide(&mut self, is_end: bool, visit: &mut dyn FnMut(Piece<'_>)) -> Result<(), StreamError> {
        let text = self.buffer.text();
        let mut searcher = self.detector.searcher(text);
        let lead = if self.is_shortened { "" } else { &self.lead };
        // Bytes of the held text that are passed on.
        let mut done = 0;
        loop {
            let limit = if is_end { text.len() } else { searcher.live_start(self.from)? };
            let span = SearchSpan { text, from: self.from, limit, is_end, lead };
            let (position, found) = match self.detector.next_finding(&mut searcher, &span)? {
                Step::Found(label, range) => (range.start, Some((label, range))),
                Step::NeedsMore(position) => (position, None),
                Step::Clear => (limit, None),
            };
            let start = self.buffer.original_start(position).saturating_sub(self.passed).max(done);
            if start > done {
                visit(Piece::Kept(&self.held[done..start]));
                done = start;
            }
            let Some((label, range)) = found else {
                self.from = position.max(self.from);
                break;
            };
            let end = self.buffer.original_range(range.clone()).end.saturating_sub(self.passed);
            visit(Piece::Found(label, &self.held[start..end]));
            done = end;
            self.from = self.buffer.segment_end(range.end);
        }
        self.held.drain(..done);
        self.passed += done;
        Ok(())
    }

    /// Passes on the last character, which a following mark may still change, if no match can start with it.
    fn pass_open_segment(&mut self, visit: &mut dyn FnMut(Piece<'_>)) {
        if self.held.is_empty() || self.from < self.buffer.text().len() {
            return;
        }
        let open = self.normaliser.open_segment();
        let may_start =
            normalise(&open, NORMALISATION).text().chars().any(|part| self.detector.may_start_with(part));
        if !may_start {
            visit(Piece::Kept(&self.held));
            self.passed += self.held.len();
            self.held.clear();
        }
    }

    /// Drops text that no context word and no look-behind can reach.
    fn drop_context(&mut self) {
        if self.from > MAX_CONTEXT {
            let mut cut = self.from - CONTEXT_LENGTH;
            while !self.buffer.text().is_char_boundary(cut) {
                cut -= 1;
            }
            self.buffer.drop_front(cut);
            self.from -= cut;
            self.is_shortened = true;
        }
    }
}

fn write_piece(piece: Piece<'_>, masker: &mut Masker, output: &mut String) {
    match piece {
        Piece::Kept(text) => output.push_str(text),
        Piece::Found(label, value) => output.push_str(&masker.mask(label, value)),
    }
}

#[cfg(test)]
mod pii_tests;
#[cfg(test)]
pub(crate) mod tests;
