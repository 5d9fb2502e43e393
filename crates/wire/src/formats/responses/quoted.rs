//! Writes text as a JSON string.

use std::fmt::{Display, Formatter, Result, Write as _};

use bytes::BytesMut;

/// Formats text as a JSON string, with quotes.
pub struct Quoted<'a>(pub &'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        let text = self.0;
        out.write_char('"')?;
        let mut from = 0;
        for (at, byte) in text.bytes().enumerate() {
            if byte >= 0x20 && byte != b'"' && byte != b'\\' {
                continue;
            }
            out.write_str(&text[from..at])?;
            from = at + 1;
            match byte {
                b'"' => out.write_str("\\\"")?,
                b'\\' => out.write_str("\\\\")?,
                b'\n' => out.write_str("\\n")?,
                b'\r' => out.write_str("\\r")?,
                b'\t' => out.write_str("\\t")?,
                control => write!(out, "\\u{control:04x}")?,
            }
        }
        out.write_str(&text[from..])?;
        out.write_char('"')
    }
}

/// Writes formatted text into the buffer; this cannot fail.
pub fn put(out: &mut BytesMut, text: std::fmt::Arguments<'_>) {
    if let Some(text) = text.as_str() {
        out.extend_from_slice(text.as_bytes());
    } else {
        out.write_fmt(text).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_quoted_reads_back(text in any::<String>(), control in 0u8..0x20) {
            let text = format!("{text}{}\"\\", control as char);
            let read: String = serde_json::from_str(&Quoted(&text).to_string()).unwrap();
            prop_assert_eq!(read, text);
        }
    }
}
