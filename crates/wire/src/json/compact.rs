//! Removes the white space between JSON tokens.

use std::borrow::Cow;

use super::tokenizer::{TokenKind, TokenizerState, Tokens};

/// The text of a valid JSON value on one line, as an SSE `data` field requires; borrowed if nothing is removed.
pub fn compact(text: &str) -> Cow<'_, str> {
    let mut clean = String::new();
    let mut kept = 0;
    let mut tokens = Tokens::new(TokenizerState::default(), text.as_bytes());
    while let Some(token) = tokens.next() {
        if token.kind != TokenKind::Other {
            continue;
        }
        let start = tokens.at() - token.bytes.len();
        for (offset, byte) in token.bytes.iter().enumerate() {
            if matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                clean.push_str(&text[kept..start + offset]);
                kept = start + offset + 1;
            }
        }
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    clean.push_str(&text[kept..]);
    Cow::Owned(clean)
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
