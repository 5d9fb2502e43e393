//! Escapes in JSON strings, decoded as far as they have arrived.

/// The start of a string's rest that begins with a backslash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escape {
    /// More text is needed.
    Open,
    /// A character and the length of its escape.
    Decoded(char, usize),
}

/// Length of `\u0000`.
const UNICODE_LENGTH: usize = 6;

/// Decodes an escape at the start of a text. Invalid ones stand for the replacement character.
pub fn decode_escape(text: &str) -> Escape {
    let Some(second) = text.chars().nth(1) else { return Escape::Open };
    let simple = match second {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'b' => '\u{8}',
        'f' => '\u{C}',
        '"' | '\\' | '/' => second,
        'u' => return decode_unicode(text),
        _ => char::REPLACEMENT_CHARACTER,
    };
    Escape::Decoded(simple, 1 + second.len_utf8())
}

fn decode_unicode(text: &str) -> Escape {
    let first = match code_unit(text) {
        CodeUnit::Open => return Escape::Open,
        CodeUnit::Invalid => return Escape::Decoded(char::REPLACEMENT_CHARACTER, 2),
        CodeUnit::Complete(unit) => unit,
    };
    if !(0xD800..0xDC00).contains(&first) {
        let character = char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER);
        return Escape::Decoded(character, UNICODE_LENGTH);
    }
    let alone = Escape::Decoded(char::REPLACEMENT_CHARACTER, UNICODE_LENGTH);
    match text.get(UNICODE_LENGTH..).map(code_unit) {
        Some(CodeUnit::Open) => Escape::Open,
        Some(CodeUnit::Complete(second)) if (0xDC00..0xE000).contains(&second) => {
            let code = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
            let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
            Escape::Decoded(character, 2 * UNICODE_LENGTH)
        }
        _ => alone,
    }
}

enum CodeUnit {
    Open,
    Invalid,
    Complete(u32),
}

/// The code unit of `\uXXXX` at the start of a text.
fn code_unit(text: &str) -> CodeUnit {
    let mut bytes = text.bytes();
    for expected in [b'\\', b'u'] {
        match bytes.next() {
            None => return CodeUnit::Open,
            Some(byte) if byte == expected => {}
            Some(_) => return CodeUnit::Invalid,
        }
    }
    let mut unit = 0;
    for _ in 0..4 {
        match bytes.next().map(|byte| char::from(byte).to_digit(16)) {
            None => return CodeUnit::Open,
            Some(Some(digit)) => unit = unit * 16 + digit,
            Some(None) => return CodeUnit::Invalid,
        }
    }
    CodeUnit::Complete(unit)
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
