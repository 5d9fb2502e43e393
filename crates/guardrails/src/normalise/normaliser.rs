//! Incremental normalisation: text arrives in pieces and the result is the same as for the whole.

use std::ops::Range;

use super::NormaliseOptions;
use super::alignment::Alignment;
use super::characters::{continues_segment, ends_segment, is_changed_by_fold, is_normal, replaced};
use super::segment::push_normal_form;

/// Characters of one segment. Longer stacks of marks are cut, as in the stream-safe text format of Unicode.
const MAX_SEGMENT: usize = 32;

/// Normalises a text that arrives in pieces.
///
/// The last segment stays open until a character arrives that cannot combine with it.
#[derive(Debug, Default)]
pub struct Normaliser {
    options: NormaliseOptions,
    /// Characters of the open segment.
    open: Vec<char>,
    /// Bytes of the open segment in the original.
    open_range: Range<usize>,
    /// Bytes of the original so far.
    position: usize,
}

impl Normaliser {
    pub fn new(options: NormaliseOptions) -> Self {
        Self { options, ..Self::default() }
    }

    /// Appends the normal form of all complete segments to the buffer.
    pub fn push(&mut self, text: &str, buffer: &mut NormalisedBuffer) {
        let mut rest = text;
        while !rest.is_empty() {
            let plain = rest.bytes().position(|byte| !byte.is_ascii()).unwrap_or(rest.len());
            if plain > 1 {
                // The character before a non-ASCII one may combine with it and goes the other way.
                self.push_ascii(&rest[..plain - 1], buffer);
                rest = &rest[plain - 1..];
            }
            let Some(character) = rest.chars().next() else { return };
            self.push_character(character, buffer);
            rest = &rest[character.len_utf8()..];
        }
    }

    /// Completes the open segment: the text ends here.
    pub fn finish(&mut self, buffer: &mut NormalisedBuffer) {
        self.close(buffer);
    }

    /// The characters of the open segment.
    pub fn open_segment(&self) -> String {
        self.open.iter().collect()
    }

    /// Appends ASCII that is followed by more ASCII, so that every character is a complete segment.
    fn push_ascii(&mut self, text: &str, buffer: &mut NormalisedBuffer) {
        self.close(buffer);
        let original = self.position..self.position + text.len();
        buffer.push_bytewise(text, self.options.fold_case, original);
        self.position += text.len();
    }

    fn push_character(&mut self, character: char, buffer: &mut NormalisedBuffer) {
        let start = self.position;
        self.position += character.len_utf8();
        let Some(character) = replaced(character, self.options.tags) else { return };
        if !self.open.is_empty() && self.open.len() < MAX_SEGMENT && continues_segment(character) {
            self.open.push(character);
            self.open_range.end = self.position;
            return;
        }
        self.close(buffer);
        self.open.push(character);
        self.open_range = start..self.position;
        if ends_segment(character) {
            self.close(buffer);
        }
    }

    fn close(&mut self, buffer: &mut NormalisedBuffer) {
        match self.open[..] {
            [] => {}
            [single] if self.is_kept(single) => {
                let mut bytes = [0; 4];
                let fold_ascii = self.options.fold_case;
                buffer.push_bytewise(single.encode_utf8(&mut bytes), fold_ascii, self.open_range.clone());
            }
            _ => buffer.push_segment(&self.open, self.options.fold_case, self.open_range.clone()),
        }
        self.open.clear();
    }

    /// Whether a segment of one character has the same length in the original, and at most its ASCII case changes.
    fn is_kept(&self, character: char) -> bool {
        let is_folded = self.options.fold_case && !character.is_ascii() && is_changed_by_fold(character);
        self.open_range.len() == character.len_utf8() && is_normal(character) && !is_folded
    }
}

/// Normalised text of a stream, as far as it was not dropped, and its alignment with the original.
#[derive(Debug, Default)]
pub struct NormalisedBuffer {
    text: String,
    /// Bytes that were dropped from the front.
    dropped: usize,
    alignment: Alignment,
}

impl NormalisedBuffer {
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The bytes of the original, from the start of the stream, that a range of `text` was made from.
    pub fn original_range(&self, range: Range<usize>) -> Range<usize> {
        self.alignment.original_range(range.start + self.dropped..range.end + self.dropped)
    }

    /// The position in the original at which the character at a position of `text` starts, or at which the text ends.
    pub fn original_start(&self, position: usize) -> usize {
        self.alignment.original_start(position + self.dropped)
    }

    /// The next position in `text` at which a character of the original ends, the given one included.
    pub fn segment_end(&self, position: usize) -> usize {
        self.alignment.segment_end(position + self.dropped) - self.dropped
    }

    /// Drops text from the front.
    pub fn drop_front(&mut self, length: usize) {
        self.text.drain(..length);
        self.dropped += length;
        self.alignment.forget_before(self.dropped);
    }

    pub(super) fn into_parts(self) -> (String, Alignment) {
        (self.text, self.alignment)
    }

    fn push_bytewise(&mut self, text: &str, fold_ascii: bool, original: Range<usize>) {
        let start = self.text.len();
        self.text.push_str(text);
        if fold_ascii && let Some(added) = self.text.get_mut(start..) {
            added.make_ascii_lowercase();
        }
        let range = start + self.dropped..self.text.len() + self.dropped;
        self.alignment.push_bytewise(range, original);
    }

    fn push_segment(&mut self, segment: &[char], fold_case: bool, original: Range<usize>) {
        let start = self.text.len() + self.dropped;
        push_normal_form(segment, fold_case, &mut self.text);
        self.alignment.push_segment(start..self.text.len() + self.dropped, original);
    }
}
