//! Appends text and numbers to a buffer as JSON.

use bytes::{BufMut as _, BytesMut};

pub(super) fn put_number(out: &mut BytesMut, number: u32) {
    match u8::try_from(number) {
        Ok(digit @ 0..=9) => out.put_u8(b'0' + digit),
        _ => out.put_slice(number.to_string().as_bytes()),
    }
}

/// Appends the content of a JSON string, without quotes.
pub(super) fn put_escaped(out: &mut BytesMut, text: &str) {
    let bytes = text.as_bytes();
    let mut start = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.put_slice(&bytes[start..at]);
        start = at + 1;
        match byte {
            b'"' | b'\\' => out.put_slice(&[b'\\', byte]),
            b'\n' => out.put_slice(b"\\n"),
            b'\r' => out.put_slice(b"\\r"),
            b'\t' => out.put_slice(b"\\t"),
            _ => {
                const HEX: &[u8; 16] = b"0123456789abcdef";
                out.put_slice(b"\\u00");
                out.put_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
            }
        }
    }
    out.put_slice(&bytes[start..]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_escaped_reads_as_it_was(text in any::<String>(), number in any::<u32>()) {
            let mut out = BytesMut::from(&b"\""[..]);
            put_escaped(&mut out, &text);
            out.put_u8(b'"');
            prop_assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
            out.clear();
            put_number(&mut out, number);
            prop_assert_eq!(std::str::from_utf8(&out).unwrap(), number.to_string());
        }
    }
}
