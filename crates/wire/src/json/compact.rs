//! Removes the white space between JSON tokens.

use std::borrow::Cow;

/// The text of a valid JSON value on one line, as an SSE `data` field requires; borrowed if nothing is removed.
pub fn compact(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let is_space = |byte: u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
    let mut clean = String::new();
    let (mut kept, mut at) = (0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = string_end(bytes, at),
            byte if is_space(byte) => {
                clean.push_str(&text[kept..at]);
                while at < bytes.len() && is_space(bytes[at]) {
                    at += 1;
                }
                kept = at;
            }
            _ => at += 1,
        }
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    clean.push_str(&text[kept..]);
    Cow::Owned(clean)
}

/// The index after the closing quote, or the end of the text.
fn string_end(bytes: &[u8], quote: usize) -> usize {
    let mut at = quote + 1;
    while let Some(offset) = memchr::memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) {
        at += offset;
        if bytes[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn only_white_space_between_tokens_is_removed() {
        for (text, expected) in [
            ("[1,2]", "[1,2]"),
            (" { \"a b\" :\n [ 1 ,\t\" \\\" \\\\\" ] } ", "{\"a b\":[1,\" \\\" \\\\\"]}"),
            ("\" \"", "\" \""),
            ("", ""),
        ] {
            assert_eq!(compact(text), expected);
        }
        assert!(matches!(compact("[1,\"a b\"]"), Cow::Borrowed(_)));
    }

    proptest! {
        #[test]
        fn the_value_stays_the_same(texts in prop::collection::vec("[ a\\\\\"\n\u{e9}]{0,6}", 0..6)) {
            let value = serde_json::json!({"list": texts, "n": [1.5, null, {"k ": true}]});
            let compacted = compact(&serde_json::to_string_pretty(&value).unwrap()).into_owned();
            prop_assert_eq!(&compacted, &value.to_string());
            prop_assert_eq!(serde_json::from_str::<Value>(&compacted).unwrap(), value);
        }
    }
}
