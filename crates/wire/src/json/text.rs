//! Reads JSON strings.

use std::borrow::Cow;
use std::ops::Range;

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

/// The unescaped content of a string.
pub(super) fn unescape(raw: &[u8]) -> Option<Cow<'_, str>> {
    let text = simdutf8::basic::from_utf8(raw).ok()?;
    let Some(first) = memchr(b'\\', raw) else { return Some(Cow::Borrowed(text)) };
    let mut unescaped = String::with_capacity(text.len());
    let (mut rest, mut escape) = (text, Some(first));
    while let Some(at) = escape {
        unescaped.push_str(&rest[..at]);
        let (character, length) = read_escape(&rest.as_bytes()[at..])?;
        unescaped.push(character);
        rest = &rest[at + length..];
        escape = memchr(b'\\', rest.as_bytes());
    }
    unescaped.push_str(rest);
    Some(Cow::Owned(unescaped))
}

/// The character of an escape and the length of the escape; `None` if it is none, or an unpaired surrogate.
fn read_escape(escape: &[u8]) -> Option<(char, usize)> {
    let simple = match escape.get(1)? {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return read_unicode_escape(escape),
        _ => return None,
    };
    Some((simple, 2))
}

fn read_unicode_escape(escape: &[u8]) -> Option<(char, usize)> {
    let unit = code_unit(escape)?;
    let is_high = (0xd800..0xdc00).contains(&unit);
    let units = [unit, if is_high { code_unit(escape.get(6..)?)? } else { 0 }];
    let length = 1 + usize::from(is_high);
    let character = char::decode_utf16(units[..length].iter().copied()).next()?.ok()?;
    Some((character, length * 6))
}

/// The UTF-16 code unit of `\uXXXX`.
fn code_unit(escape: &[u8]) -> Option<u16> {
    let digits = escape.strip_prefix(b"\\u")?.get(..4)?;
    digits.iter().try_fold(0, |unit, digit| {
        let digit = char::from(*digit).to_digit(16)?;
        Some(unit << 4 | digit as u16)
    })
}

/// The unescaped key; keys that are not valid text are compared as written.
pub(super) fn unescape_lossy(raw: &[u8]) -> Cow<'_, [u8]> {
    match unescape(raw) {
        Some(Cow::Owned(text)) => Cow::Owned(text.into_bytes()),
        _ => Cow::Borrowed(raw),
    }
}
