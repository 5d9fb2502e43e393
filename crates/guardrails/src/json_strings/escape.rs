//! Escapes in JSON strings, decoded as far as they have arrived.

use domain::json;

/// The start of a string's rest that begins with a backslash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escape {
    /// More text is needed.
    Open,
    /// A character and the length of its escape.
    Decoded(char, usize),
}

/// Decodes an escape at the start of a text. Invalid ones stand for the replacement character.
pub fn decode_escape(text: &str) -> Escape {
    match json::read_escape(text) {
        json::Escape::Open => Escape::Open,
        json::Escape::Invalid(length) => Escape::Decoded(char::REPLACEMENT_CHARACTER, length),
        json::Escape::Decoded(character, length) => Escape::Decoded(character, length),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_decoded_when_they_are_complete() {
        let check = |text: &str, expected: Escape| assert_eq!(decode_escape(text), expected, "{text}");
        for open in ["\\", "\\u", "\\u00e", "\\ud83d", "\\ud83d\\", "\\ud83d\\ude0"] {
            check(open, Escape::Open);
        }
        check("\\n", Escape::Decoded('\n', 2));
        check("\\u00e9", Escape::Decoded('é', 6));
        check("\\ud83d\\ude00", Escape::Decoded('😀', 12));
        check("\\ud83dx", Escape::Decoded('\u{FFFD}', 6));
        check("\\ud83d\\n", Escape::Decoded('\u{FFFD}', 6));
        check("\\ud83d\\u0041", Escape::Decoded('\u{FFFD}', 6));
        check("\\ude00", Escape::Decoded('\u{FFFD}', 6));
        check("\\u12x", Escape::Decoded('\u{FFFD}', 2));
        check("\\é", Escape::Decoded('\u{FFFD}', 3));
    }
}
