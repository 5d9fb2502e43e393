//! One occurrence of a pattern, as the check of its rule sees it.

use std::ops::Range;

use super::SearchSpan;

/// Bytes of text before an occurrence that are searched for context words.
pub const CONTEXT_LENGTH: usize = 64;

/// An occurrence of a pattern in normalised text.
#[derive(Clone, Debug)]
pub struct Occurrence<'a> {
    text: &'a str,
    range: Range<usize>,
    is_end: bool,
    lead: &'a str,
}

/// The decision of a rule about an occurrence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A part of the text that the value takes. It starts and ends at characters and is not empty.
    Valid(Range<usize>),
    Invalid,
    /// The decision depends on text that has not arrived. Not returned when `is_end` is true.
    NeedsMore,
}

impl<'a> Occurrence<'a> {
    pub fn new(span: &SearchSpan<'a>, range: Range<usize>) -> Self {
        Self { text: span.text, range, is_end: span.is_end, lead: span.lead }
    }

    /// The text that the pattern matched.
    pub fn matched(&self) -> &'a str {
        &self.text[self.range.clone()]
    }

    /// The text behind the match, as far as it has arrived.
    pub fn rest(&self) -> &'a str {
        &self.text[self.range.end..]
    }

    /// The text from a position in the match on, as far as it has arrived.
    pub fn from(&self, position: usize) -> &'a str {
        &self.text[self.range.start + position..]
    }

    /// Whether `rest` is all that will ever follow.
    pub fn is_end(&self) -> bool {
        self.is_end
    }

    /// The end of the lead if the text before the match is shorter than `CONTEXT_LENGTH` bytes, and that text.
    pub fn context(&self) -> (&'a str, &'a str) {
        let before = last_bytes(&self.text[..self.range.start]);
        let lead = if before.len() == self.range.start { last_bytes(self.lead) } else { "" };
        (lead, before)
    }

    /// The whole match is the value.
    pub fn whole(&self) -> Verdict {
        Verdict::Valid(self.range.clone())
    }

    /// A part of the text is the value, by positions from the start of the match.
    pub fn part(&self, part: Range<usize>) -> Verdict {
        Verdict::Valid(self.range.start + part.start..self.range.start + part.end)
    }
}

/// The last `CONTEXT_LENGTH` bytes of a text, or fewer if they would start inside of a character.
fn last_bytes(text: &str) -> &str {
    let start = text.len().saturating_sub(CONTEXT_LENGTH);
    let start = (start..text.len()).find(|start| text.is_char_boundary(*start));
    start.map_or("", |start| &text[start..])
}
