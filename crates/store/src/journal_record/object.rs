//! Writes JSON objects directly into a buffer, without default values.

use domain::json;
use serde::Serialize;

/// A JSON object being written. Keys are ours and need no escaping.
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
        json::push_string(self.out, text);
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
            // Without a branch, so that many bytes are compared at once.
            *byte = if *byte == b'\n' { b' ' } else { *byte };
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
