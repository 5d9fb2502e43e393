//! Appends text to a buffer as a JSON string.

use bytes::BytesMut;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Appends a quoted JSON string. Most text needs no escaping and is copied at once.
pub fn push_string(text: &str, out: &mut BytesMut) {
    out.extend_from_slice(b"\"");
    let bytes = text.as_bytes();
    let mut start = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&bytes[start..at]);
        start = at + 1;
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            _ => {
                let digits = [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]];
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&digits);
            }
        }
    }
    out.extend_from_slice(&bytes[start..]);
    out.extend_from_slice(b"\"");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_control_character_comes_back() {
        let all: String = (0..0x80u8).map(char::from).collect();
        let mut out = BytesMut::new();
        push_string(&all, &mut out);
        assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), all);
    }

    proptest! {
        #[test]
        fn any_text_comes_back(text in ".*") {
            let mut out = BytesMut::new();
            push_string(&text, &mut out);
            prop_assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
        }
    }
}
