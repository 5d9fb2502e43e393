//! Writes text and numbers as JSON, with the same bytes as `serde_json`.

use std::fmt::{self, Display, Formatter};

use bytes::BufMut;

use super::plain_prefix;

/// Text as a JSON string, with quotes.
pub fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    match plain_prefix(text.as_bytes()) == text.len() {
        true => quoted.push_str(text),
        false => quoted.extend(pieces(text)),
    }
    quoted.push('"');
    quoted
}

/// Appends text as a JSON string, with quotes.
#[inline]
pub fn push_string(out: &mut impl BufMut, text: &str) {
    out.put_slice(b"\"");
    push_escaped(out, text);
    out.put_slice(b"\"");
}

/// Appends text as the content of a JSON string, without quotes.
#[inline]
pub fn push_escaped(out: &mut impl BufMut, text: &str) {
    let mut rest = text.as_bytes();
    loop {
        let plain = plain_prefix(rest);
        out.put_slice(&rest[..plain]);
        let Some(&byte) = rest.get(plain) else { return };
        out.put_slice(escape(byte).as_bytes());
        rest = &rest[plain + 1..];
    }
}

/// Appends a number. Most are indexes of one digit.
pub fn push_number(out: &mut impl BufMut, number: impl Into<u64>) {
    let mut number = number.into();
    if number < 10 {
        return out.put_u8(b'0' + number as u8);
    }
    // The digits of the largest number.
    let mut digits = [0; 20];
    let mut start = digits.len();
    while number > 0 {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    out.put_slice(&digits[start..]);
}

/// Formats text as a JSON string, with quotes.
pub struct Quoted<'a>(pub &'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str("\"")?;
        pieces(self.0).try_for_each(|piece| out.write_str(piece))?;
        out.write_str("\"")
    }
}

/// The pieces of the escaped text: runs of characters that need no escape, and escapes.
fn pieces(text: &str) -> Pieces<'_> {
    Pieces { rest: text }
}

struct Pieces<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = &'a str;

    #[inline]
    fn next(&mut self) -> Option<&'a str> {
        let first = *self.rest.as_bytes().first()?;
        // A special byte is one character, so that the text is never cut within one.
        let (piece, length) = match plain_prefix(self.rest.as_bytes()) {
            0 => (escape(first), 1),
            plain => (&self.rest[..plain], plain),
        };
        self.rest = &self.rest[length..];
        Some(piece)
    }
}

fn escape(byte: u8) -> &'static str {
    const CONTROLS: [&str; 32] = [
        "\\u0000", "\\u0001", "\\u0002", "\\u0003", "\\u0004", "\\u0005", "\\u0006", "\\u0007", "\\b", "\\t",
        "\\n", "\\u000b", "\\f", "\\r", "\\u000e", "\\u000f", "\\u0010", "\\u0011", "\\u0012", "\\u0013",
        "\\u0014", "\\u0015", "\\u0016", "\\u0017", "\\u0018", "\\u0019", "\\u001a", "\\u001b", "\\u001c",
        "\\u001d", "\\u001e", "\\u001f",
    ];
    match byte {
        b'"' => "\\\"",
        b'\\' => "\\\\",
        control => CONTROLS[usize::from(control)],
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str) {
        let expected = serde_json::to_string(text).unwrap();
        let (mut string, mut content) = (Vec::new(), Vec::new());
        push_string(&mut string, text);
        push_escaped(&mut content, text);
        assert_eq!(String::from_utf8(string).unwrap(), expected);
        assert_eq!(format!("\"{}\"", String::from_utf8(content).unwrap()), expected);
        assert_eq!((quote(text), Quoted(text).to_string()), (expected.clone(), expected));
    }

    #[test]
    fn every_ascii_character_is_written_as_by_serde_json() {
        check(&(0..0x80u8).map(char::from).collect::<String>());
        check("");
    }

    proptest! {
        #[test]
        fn any_text_is_written_as_by_serde_json(text in any::<String>(), dense in "[\\x00-\\x7fé🦀]{0,90}") {
            check(&text);
            check(&dense);
        }

        #[test]
        fn any_number_reads_back(number in prop_oneof![0..200u64, any::<u64>(), Just(u64::MAX)]) {
            let mut out = Vec::new();
            push_number(&mut out, number);
            prop_assert_eq!(serde_json::from_slice::<u64>(&out).unwrap(), number);
        }
    }
}
