//! A string of a JSON text that has not ended.

use domain::json::{plain_prefix, quote};

use super::escape::{Escape, decode_escape};
use super::raw_text::RawText;
use crate::kind::Label;
use crate::placeholder::Masker;
use crate::stream::{Piece, StreamError, StreamRedactor};

/// Bytes of a key that are kept as context for its value. Context words stand at its end.
const LONGEST_KEY: usize = 256;

/// An open string.
pub struct StringToken {
    redactor: StreamRedactor,
    is_key: bool,
    /// The source text that the redactor has not decided about.
    raw: RawText,
    /// The end of the decoded text of a key.
    key: String,
    /// An escape whose end has not arrived.
    escape: String,
}

impl StringToken {
    pub fn new(redactor: StreamRedactor, is_key: bool) -> Self {
        Self { redactor, is_key, raw: RawText::default(), key: String::new(), escape: String::new() }
    }

    /// The decoded text, if the string is a key.
    pub fn into_key(self) -> Option<String> {
        self.is_key.then_some(self.key)
    }

    /// Takes text up to the closing quote. Returns the length that was taken and whether the string is closed.
    pub fn push(
        &mut self,
        text: &str,
        masker: &mut Masker,
        output: &mut String,
        key_findings: &mut Vec<Label>,
    ) -> Result<(usize, bool), StreamError> {
        let mut decoded = String::new();
        let mut taken = 0;
        let mut is_closed = false;
        while taken < text.len() && !is_closed {
            let rest = &text[taken..];
            let first = rest.as_bytes().first();
            taken += if !self.escape.is_empty() || first == Some(&b'\\') {
                self.push_escape(rest, &mut decoded)
            } else if first == Some(&b'"') {
                is_closed = true;
                1
            } else {
                // A control character has to be escaped in JSON, but is taken as it is.
                let length = plain_prefix(rest.as_bytes()).max(1);
                self.raw.push_plain(&rest[..length]);
                decoded.push_str(&rest[..length]);
                length
            };
        }
        self.redact(&decoded, masker, output, key_findings)?;
        Ok((taken, is_closed))
    }

    /// Takes one character of an escape. Returns its length, or 0 if it belongs to what follows the escape.
    fn push_escape(&mut self, rest: &str, decoded: &mut String) -> usize {
        let Some(next) = rest.chars().next() else { return 0 };
        self.escape.push(next);
        match decode_escape(&self.escape) {
            Escape::Open => next.len_utf8(),
            Escape::Decoded(character, length) => {
                self.raw.push_escape(character.len_utf8(), &self.escape[..length]);
                decoded.push(character);
                // Text behind an invalid escape, or behind one half of a surrogate pair, is read again.
                let again = self.escape.split_off(length);
                self.escape.clear();
                let Some(again) = again.strip_suffix(next) else { return next.len_utf8() };
                self.read_again(again, decoded);
                0
            }
        }
    }

    fn read_again(&mut self, text: &str, decoded: &mut String) {
        let mut rest = text;
        while !rest.is_empty() {
            let length = if !self.escape.is_empty() || rest.starts_with('\\') {
                self.push_escape(rest, decoded)
            } else {
                let length = rest.find('\\').unwrap_or(rest.len());
                self.raw.push_plain(&rest[..length]);
                decoded.push_str(&rest[..length]);
                length
            };
            rest = &rest[length..];
        }
    }

    fn redact(
        &mut self,
        decoded: &str,
        masker: &mut Masker,
        output: &mut String,
        key_findings: &mut Vec<Label>,
    ) -> Result<(), StreamError> {
        if self.is_key {
            self.key.push_str(decoded);
            drop_front(&mut self.key);
        }
        let Self { redactor, raw, is_key, .. } = self;
        redactor
            .push_pieces(decoded, &mut |piece| write_piece(piece, *is_key, raw, masker, output, key_findings))
    }

    pub fn finish(
        &mut self,
        masker: &mut Masker,
        output: &mut String,
        key_findings: &mut Vec<Label>,
    ) -> Result<(), StreamError> {
        let Self { redactor, raw, is_key, escape, .. } = self;
        redactor
            .finish_pieces(&mut |piece| write_piece(piece, *is_key, raw, masker, output, key_findings))?;
        // A text that ends inside of an escape.
        output.push_str(escape);
        escape.clear();
        Ok(())
    }
}

fn write_piece(
    piece: Piece<'_>,
    is_key: bool,
    raw: &mut RawText,
    masker: &mut Masker,
    output: &mut String,
    key_findings: &mut Vec<Label>,
) {
    match piece {
        Piece::Kept(text) => raw.take(text.len(), |raw| output.push_str(raw)),
        Piece::Found(label, value) if is_key => {
            key_findings.push(label);
            raw.take(value.len(), |raw| output.push_str(raw));
        }
        Piece::Found(label, value) => {
            raw.take(value.len(), |_| {});
            let quoted = quote(&masker.mask(label, value));
            output.push_str(&quoted[1..quoted.len() - 1]);
        }
    }
}

/// Shortens a key to its end when it has grown to twice the length that is kept.
fn drop_front(key: &mut String) {
    if key.len() > 2 * LONGEST_KEY {
        let cut = (key.len() - LONGEST_KEY..key.len()).find(|cut| key.is_char_boundary(*cut));
        key.drain(..cut.unwrap_or(0));
    }
}
