//! A cursor that moves over whole JSON values and checks the grammar.

use std::ops::Range;

use domain::json::{BLOCK, next_special, special_bits};

use super::key_filter::{KeyFilter, fingerprint};
use super::{DEPTH_LIMIT, ScanError};

/// A cursor in a body. `value` works on a copy, which the compiler keeps in registers: what it calls is inlined, or takes
/// the bytes and a position instead of the cursor.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Values and keys passed so far.
    elements: usize,
    /// Keys passed so far.
    keys: KeyFilter,
}

/// A key that was passed.
pub(super) struct Key {
    /// The bytes between the quotes.
    pub range: Range<usize>,
    pub fingerprint: usize,
}

impl<'a> Cursor<'a> {
    /// Creates a cursor at the start of `range`. Positions refer to `body`; bytes from `range.end` on are ignored.
    pub(super) fn new(body: &'a [u8], range: Range<usize>) -> Self {
        Self { bytes: &body[..range.end], at: range.start, elements: 0, keys: KeyFilter::default() }
    }

    pub(super) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    pub(super) fn elements(&self) -> usize {
        self.elements
    }

    /// Counts a container that the caller moves through.
    pub(super) fn count_container(&mut self) {
        self.elements += 1;
    }

    pub(super) fn keys(&self) -> KeyFilter {
        self.keys
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    #[inline(always)]
    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[inline(always)]
    pub(super) fn take(&mut self, byte: u8) -> bool {
        let taken = self.peek() == Some(byte);
        self.at += usize::from(taken);
        taken
    }

    #[inline(always)]
    pub(super) fn expect(&mut self, byte: u8, expected: &'static str) -> Result<(), ScanError> {
        if self.peek() != Some(byte) {
            return Err(syntax(self.at, expected));
        }
        self.at += 1;
        Ok(())
    }

    #[inline(always)]
    pub(super) fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    /// Reads a key, its colon and the white space around it.
    #[inline(always)]
    pub(super) fn key(&mut self) -> Result<Key, ScanError> {
        if self.peek() != Some(b'"') {
            return Err(syntax(self.at, "a key in double quotes"));
        }
        let start = self.at + 1;
        self.elements += 1;
        let mut end = next_special(self.bytes, start);
        let fingerprint = fingerprint(&self.bytes[start..end]);
        self.keys.insert(fingerprint);
        if let Some([b'"', b':', ..]) = self.bytes.get(end..) {
            self.at = end + 2;
        } else {
            (end, self.at) = uncommon_key_end(self.bytes, end, &mut self.keys)?;
        }
        self.skip_space();
        Ok(Key { range: start..end, fingerprint })
    }

    /// Skips one value nested in `depth` containers.
    #[inline(always)]
    pub(super) fn value(&mut self, depth: usize) -> Result<Range<usize>, ScanError> {
        let start = self.at;
        match self.peek() {
            Some(b'{' | b'[') => self.container(depth)?,
            _ => {
                self.elements += 1;
                self.at = scalar_end(self.bytes, self.at)?;
            }
        }
        Ok(start..self.at)
    }

    fn container(&mut self, depth: usize) -> Result<(), ScanError> {
        let mut cursor = *self;
        cursor.skip_container(depth)?;
        *self = cursor;
        Ok(())
    }

    /// The kinds of the open containers are bits of an integer, so hostile nesting uses neither stack nor heap.
    #[inline(always)]
    fn skip_container(&mut self, depth: usize) -> Result<(), ScanError> {
        let mut objects = 0u128;
        let mut open = 0;
        loop {
            if objects & 1 == 1 {
                self.key()?;
            }
            self.elements += 1;
            match self.peek() {
                Some(byte @ (b'{' | b'[')) => {
                    if depth + open >= DEPTH_LIMIT {
                        return Err(ScanError::TooDeep { limit: DEPTH_LIMIT });
                    }
                    self.at += 1;
                    self.skip_space();
                    // In ASCII, a closing bracket is two after its opening one.
                    if !self.take(byte + 2) {
                        open += 1;
                        objects = objects << 1 | u128::from(byte == b'{');
                        continue;
                    }
                }
                _ => self.at = scalar_end(self.bytes, self.at)?,
            }
            loop {
                if open == 0 {
                    return Ok(());
                }
                self.skip_space();
                let object = objects & 1 == 1;
                match self.peek() {
                    Some(b',') => {
                        self.at += 1;
                        self.skip_space();
                        break;
                    }
                    Some(b'}') if object => self.at += 1,
                    Some(b']') if !object => self.at += 1,
                    _ => return Err(syntax(self.at, if object { "',' or '}'" } else { "',' or ']'" })),
                }
                open -= 1;
                objects >>= 1;
            }
        }
    }
}

/// The end of a key whose colon does not follow its first special byte, at `at`, and the position after its colon.
#[cold]
fn uncommon_key_end(bytes: &[u8], at: usize, keys: &mut KeyFilter) -> Result<(usize, usize), ScanError> {
    if bytes.get(at) != Some(&b'"') {
        *keys = KeyFilter::FULL;
    }
    let end = escaped_string_end(bytes, at)?;
    let mut cursor = Cursor::new(bytes, end + 1..bytes.len());
    cursor.skip_space();
    cursor.expect(b':', "':'")?;
    Ok((end, cursor.at))
}

/// The end of a string, a number or a literal.
#[inline(always)]
fn scalar_end(bytes: &[u8], at: usize) -> Result<usize, ScanError> {
    match bytes.get(at) {
        Some(b'"') => Ok(string_end(bytes, at + 1)? + 1),
        Some(b'-' | b'0'..=b'9') => number_end(bytes, at),
        Some(b't') => literal_end(bytes, at, b"true", "'true'"),
        Some(b'f') => literal_end(bytes, at, b"false", "'false'"),
        Some(b'n') => literal_end(bytes, at, b"null", "'null'"),
        _ => Err(syntax(at, "a value")),
    }
}

#[inline(always)]
fn literal_end(bytes: &[u8], at: usize, word: &[u8], expected: &'static str) -> Result<usize, ScanError> {
    if bytes[at..].starts_with(word) { Ok(at + word.len()) } else { Err(syntax(at, expected)) }
}

/// Position of the closing quote of the string whose content begins at `from`.
#[inline(always)]
fn string_end(bytes: &[u8], from: usize) -> Result<usize, ScanError> {
    let at = next_special(bytes, from);
    if bytes.get(at) == Some(&b'"') { Ok(at) } else { escaped_string_end(bytes, at) }
}

/// The same for a string with a special byte at `at`. Text with escapes has many: those of two blocks are found at once.
fn escaped_string_end(bytes: &[u8], mut at: usize) -> Result<usize, ScanError> {
    while let Some(blocks) = bytes.get(at..).and_then(<[u8]>::first_chunk::<{ 2 * BLOCK }>) {
        let ([first, second], _) = blocks.as_chunks() else { break };
        let mut bits = special_bits(*first) | special_bits(*second) << BLOCK;
        let mut next = at + 2 * BLOCK;
        while bits != 0 {
            let special = at + bits.trailing_zeros() as usize;
            let Some(end) = escape_end(bytes, special)? else { return Ok(special) };
            if end >= next {
                next = end;
                break;
            }
            // The last byte of an escape may be a quote or a backslash.
            bits &= !0 << (end - at);
        }
        at = next;
    }
    loop {
        at = next_special(bytes, at);
        match escape_end(bytes, at)? {
            Some(end) => at = end,
            None => return Ok(at),
        }
    }
}

/// The end of the escape at `at`; `None` if a quote is there.
#[inline(always)]
fn escape_end(bytes: &[u8], at: usize) -> Result<Option<usize>, ScanError> {
    const SIMPLE: [bool; 256] = table(b"\"\\/bfnrt");
    match bytes.get(at..) {
        Some([b'\\', byte, ..]) if SIMPLE[usize::from(*byte)] => Ok(Some(at + 2)),
        Some([b'"', ..]) => Ok(None),
        Some([b'\\', b'u', ..]) => unicode_escape_end(bytes, at).map(Some),
        Some([b'\\', ..]) => Err(syntax(at, "a known escape after '\\'")),
        Some([_, ..]) => Err(syntax(at, "no bare control character in a string")),
        _ => Err(syntax(at, "'\"'")),
    }
}

fn unicode_escape_end(bytes: &[u8], at: usize) -> Result<usize, ScanError> {
    match bytes.get(at + 2..at + 6) {
        Some(digits) if digits.iter().all(u8::is_ascii_hexdigit) => Ok(at + 6),
        _ => Err(syntax(at, "four hexadecimal digits after '\\u'")),
    }
}

/// The set of these bytes.
const fn table(bytes: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut index = 0;
    while index < bytes.len() {
        table[bytes[index] as usize] = true;
        index += 1;
    }
    table
}

#[inline(always)]
fn number_end(bytes: &[u8], mut at: usize) -> Result<usize, ScanError> {
    at += usize::from(bytes.get(at) == Some(&b'-'));
    at = match bytes.get(at) {
        Some(b'0') => at + 1,
        _ => digits_end(bytes, at)?,
    };
    match bytes.get(at) {
        Some(b'.' | b'e' | b'E') => fraction_end(bytes, at),
        _ => Ok(at),
    }
}

/// The end of the fraction and the exponent of a number.
fn fraction_end(bytes: &[u8], mut at: usize) -> Result<usize, ScanError> {
    if bytes.get(at) == Some(&b'.') {
        at = digits_end(bytes, at + 1)?;
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        at += 1;
        at += usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
        at = digits_end(bytes, at)?;
    }
    Ok(at)
}

#[inline(always)]
fn digits_end(bytes: &[u8], from: usize) -> Result<usize, ScanError> {
    let mut at = from;
    while bytes.get(at).is_some_and(u8::is_ascii_digit) {
        at += 1;
    }
    if at == from { Err(syntax(at, "a digit")) } else { Ok(at) }
}

#[cold]
fn syntax(at: usize, expected: &'static str) -> ScanError {
    ScanError::Syntax { at, expected }
}
