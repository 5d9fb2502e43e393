//! A cursor that moves over whole JSON values and checks the grammar.

use std::ops::Range;

use domain::json::plain_prefix;

use super::{DEPTH_LIMIT, KeyFilter, ScanError};

pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Values and keys passed so far.
    elements: usize,
    /// Keys passed so far.
    keys: KeyFilter,
    /// Whether the last string contained an escape.
    escaped: bool,
}

impl<'a> Cursor<'a> {
    /// Creates a cursor at the start of `range`. Positions refer to `body`; bytes from `range.end` on are ignored.
    pub(super) fn new(body: &'a [u8], range: Range<usize>) -> Self {
        Self {
            bytes: &body[..range.end],
            at: range.start,
            elements: 0,
            keys: KeyFilter::default(),
            escaped: false,
        }
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

    #[inline]
    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[inline]
    pub(super) fn take(&mut self, byte: u8) -> bool {
        let taken = self.peek() == Some(byte);
        self.at += usize::from(taken);
        taken
    }

    #[inline]
    pub(super) fn expect(&mut self, byte: u8, expected: &'static str) -> Result<(), ScanError> {
        if self.take(byte) { Ok(()) } else { Err(self.syntax(expected)) }
    }

    #[inline]
    pub(super) fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    /// Reads a key, its colon and the white space around it; returns the range between the quotes.
    pub(super) fn key(&mut self) -> Result<Range<usize>, ScanError> {
        if self.peek() != Some(b'"') {
            return Err(self.syntax("a key in double quotes"));
        }
        let key = self.string()?;
        self.elements += 1;
        match self.escaped {
            true => self.keys = KeyFilter::FULL,
            false => self.keys.insert(&self.bytes[key.clone()]),
        }
        self.skip_space();
        self.expect(b':', "':'")?;
        self.skip_space();
        Ok(key)
    }

    /// Skips one value nested in `depth` containers. The kinds of the open containers are bits of an integer, so
    /// hostile nesting uses neither stack nor heap.
    pub(super) fn value(&mut self, depth: usize) -> Result<Range<usize>, ScanError> {
        let start = self.at;
        let mut objects = 0u128;
        let mut open = 0;
        loop {
            self.elements += 1;
            match self.peek() {
                Some(b'"') => {
                    self.string()?;
                }
                Some(byte @ (b'{' | b'[')) => {
                    if depth + open >= DEPTH_LIMIT {
                        return Err(ScanError::TooDeep { limit: DEPTH_LIMIT });
                    }
                    self.at += 1;
                    self.skip_space();
                    let object = byte == b'{';
                    if !self.take(if object { b'}' } else { b']' }) {
                        open += 1;
                        objects = objects << 1 | u128::from(object);
                        if object {
                            self.key()?;
                        }
                        continue;
                    }
                }
                Some(b'-' | b'0'..=b'9') => self.number()?,
                Some(b't') => self.literal(b"true", "'true'")?,
                Some(b'f') => self.literal(b"false", "'false'")?,
                Some(b'n') => self.literal(b"null", "'null'")?,
                _ => return Err(self.syntax("a value")),
            }
            loop {
                if open == 0 {
                    return Ok(start..self.at);
                }
                self.skip_space();
                let object = objects & 1 == 1;
                if self.take(b',') {
                    self.skip_space();
                    if object {
                        self.key()?;
                    }
                    break;
                }
                if object {
                    self.expect(b'}', "',' or '}'")?;
                } else {
                    self.expect(b']', "',' or ']'")?;
                }
                open -= 1;
                objects >>= 1;
            }
        }
    }

    /// Reads a string up to its closing quote; returns the range between the quotes.
    #[inline]
    fn string(&mut self) -> Result<Range<usize>, ScanError> {
        self.at += 1;
        self.escaped = false;
        let start = self.at;
        loop {
            self.at += plain_prefix(&self.bytes[self.at..]);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(start..self.at - 1);
                }
                Some(b'\\') => {
                    self.escaped = true;
                    self.escape()?;
                }
                Some(_) => return Err(self.syntax("no bare control character in a string")),
                None => return Err(self.syntax("'\"'")),
            }
        }
    }

    #[inline]
    fn escape(&mut self) -> Result<(), ScanError> {
        match self.bytes.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
            Some(b'u') => match self.bytes.get(self.at + 2..self.at + 6) {
                Some(digits) if digits.iter().all(u8::is_ascii_hexdigit) => self.at += 6,
                _ => return Err(self.syntax("four hexadecimal digits after '\\u'")),
            },
            _ => return Err(self.syntax("a known escape after '\\'")),
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), ScanError> {
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            if !self.take(b'+') {
                self.take(b'-');
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), ScanError> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == start { Err(self.syntax("a digit")) } else { Ok(()) }
    }

    fn literal(&mut self, word: &[u8], expected: &'static str) -> Result<(), ScanError> {
        if !self.bytes[self.at..].starts_with(word) {
            return Err(self.syntax(expected));
        }
        self.at += word.len();
        Ok(())
    }

    fn syntax(&self, expected: &'static str) -> ScanError {
        ScanError::Syntax { at: self.at, expected }
    }
}
