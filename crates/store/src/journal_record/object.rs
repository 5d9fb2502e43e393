//! Writes JSON objects directly into a buffer, without default values.

use serde::Serialize;

/// A JSON object being written. Keys are ours and need no escaping, and neither does most text.
pub(crate) struct Object<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
}

impl<'a> Object<'a> {
    pub fn begin(out: &'a mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { start: out.len(), out }
    }

    pub fn end(self) {
        self.out.push(b'}');
    }

    #[inline]
    fn key(&mut self, key: &'static str) {
        self.out.extend_from_slice(if self.out.len() == self.start { b"\"" } else { b",\"" });
        self.out.extend_from_slice(key.as_bytes());
        self.out.extend_from_slice(b"\":");
    }

    #[inline]
    pub fn text(&mut self, key: &'static str, text: &str) {
        self.key(key);
        if needs_escapes(text.as_bytes()) {
            return self.json(text);
        }
        self.out.push(b'"');
        self.out.extend_from_slice(text.as_bytes());
        self.out.push(b'"');
    }

    #[inline]
    pub fn some_text(&mut self, key: &'static str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(key, text);
        }
    }

    pub fn integer(&mut self, key: &'static str, number: i64) {
        self.key(key);
        self.json(&number);
    }

    pub fn count(&mut self, key: &'static str, count: u64) {
        if count != 0 {
            self.key(key);
            self.json(&count);
        }
    }

    pub fn flag(&mut self, key: &'static str, flag: bool) {
        if flag {
            self.key(key);
            self.out.extend_from_slice(b"true");
        }
    }

    pub fn some<T: Serialize + ?Sized>(&mut self, key: &'static str, value: Option<&T>) {
        if let Some(value) = value {
            self.key(key);
            self.json(value);
        }
    }

    /// Copies raw JSON. Line breaks in JSON can only be whitespace between tokens, so they are replaced by spaces.
    pub fn one_line(&mut self, key: &'static str, json: &str) {
        self.key(key);
        let start = self.out.len();
        self.out.extend_from_slice(json.as_bytes());
        for byte in &mut self.out[start..] {
            if *byte == b'\n' {
                *byte = b' ';
            }
        }
    }

    /// Writes a nested object, or nothing if it is empty.
    pub fn nested(&mut self, key: &'static str, fill: impl FnOnce(&mut Object<'_>)) {
        let before = self.out.len();
        self.key(key);
        let mut inner = Object::begin(self.out);
        fill(&mut inner);
        if inner.out.len() == inner.start {
            self.out.truncate(before);
        } else {
            inner.end();
        }
    }

    fn json<T: Serialize + ?Sized>(&mut self, value: &T) {
        let before = self.out.len();
        if let Err(error) = serde_json::to_writer(&mut *self.out, value) {
            // Serialization of these types cannot fail; if it did, a partial value would corrupt the whole record.
            tracing::error!(%error, "serializing a record field failed");
            self.out.truncate(before);
            self.out.extend_from_slice(b"null");
        }
    }
}

/// True if the text contains a control character, a quote or a backslash. Checks eight bytes at a time by the borrow
/// that a subtraction leaves in the highest bit of each byte. A borrow from the previous byte can only cause false
/// positives.
pub(super) fn needs_escapes(text: &[u8]) -> bool {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    let is_below = |word: u64, limit: u8| word.wrapping_sub(ONES * u64::from(limit)) & !word;
    let suspicious = |word: u64| {
        let quote = word ^ (ONES * u64::from(b'"'));
        let backslash = word ^ (ONES * u64::from(b'\\'));
        (is_below(word, 0x20) | is_below(quote, 1) | is_below(backslash, 1)) & (ONES << 7) != 0
    };
    let (words, rest) = text.as_chunks::<8>();
    words.iter().any(|word| suspicious(u64::from_le_bytes(*word)))
        || match text.last_chunk::<8>() {
            Some(last) => suspicious(u64::from_le_bytes(*last)),
            None => rest.iter().any(|byte| *byte < 0x20 || *byte == b'"' || *byte == b'\\'),
        }
}
