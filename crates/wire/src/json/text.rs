//! Reads JSON strings.

use std::borrow::Cow;
use std::ops::Range;

use domain::json::{Escape, plain_prefix, read_escape};
use memchr::{memchr, memchr2};

/// The unescaped string at `value`; `None` if it is not a string or has an unpaired surrogate.
pub fn string_at<'a>(body: &'a [u8], value: &Range<usize>) -> Option<Cow<'a, str>> {
    unescape(body.get(value.clone())?.strip_prefix(b"\"")?.strip_suffix(b"\"")?)
}

/// Position of the closing quote of the string whose content begins at `from`, and the approximate length of the
/// content once it is unescaped. The content is not checked.
pub fn string_extent(data: &[u8], from: usize) -> Option<(usize, usize)> {
    let mut at = from;
    let mut escaped = false;
    loop {
        at += memchr2(b'"', b'\\', data.get(at..)?)?;
        if data[at] == b'"' {
            let length = if escaped { decoded_len(&data[from..at]) } else { at - from };
            return Some((at, length));
        }
        escaped = true;
        at += 2;
    }
}

/// Approximate length of a string's content once it is unescaped.
pub fn decoded_len(raw: &[u8]) -> usize {
    let mut length = raw.len();
    let mut at = 0;
    while let Some(found) = memchr(b'\\', &raw[at..]) {
        // A \uXXXX counts as three bytes, the length of most such characters.
        let (skip, shorter) = if raw.get(at + found + 1) == Some(&b'u') { (6, 3) } else { (2, 1) };
        length = length.saturating_sub(shorter);
        at = raw.len().min(at + found + skip);
    }
    length
}

/// The length from which `memchr` finds a byte faster than `plain_prefix`.
const SHORT: usize = 64;

/// The unescaped content of a string.
pub(super) fn unescape(raw: &[u8]) -> Option<Cow<'_, str>> {
    let text = simdutf8::basic::from_utf8(raw).ok()?;
    // Most texts are short and without escapes.
    if raw.len() < SHORT && plain_prefix(raw) == raw.len() {
        return Some(Cow::Borrowed(text));
    }
    let Some(first) = memchr(b'\\', raw) else { return Some(Cow::Borrowed(text)) };
    let mut unescaped = String::with_capacity(text.len());
    let (mut rest, mut escape) = (text, Some(first));
    while let Some(at) = escape {
        unescaped.push_str(&rest[..at]);
        let Escape::Decoded(character, length) = read_escape(&rest[at..]) else { return None };
        unescaped.push(character);
        rest = &rest[at + length..];
        escape = memchr(b'\\', rest.as_bytes());
    }
    unescaped.push_str(rest);
    Some(Cow::Owned(unescaped))
}

/// The unescaped key; keys that are not valid text are compared as written.
pub(super) fn unescape_lossy(raw: &[u8]) -> Cow<'_, [u8]> {
    match unescape(raw) {
        Some(Cow::Owned(text)) => Cow::Owned(text.into_bytes()),
        _ => Cow::Borrowed(raw),
    }
}
