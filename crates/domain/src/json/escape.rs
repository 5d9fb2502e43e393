//! Reads escapes in JSON strings.

/// The start of a string's rest that begins with a backslash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escape {
    /// More text is needed.
    Open,
    /// Not an escape of a character, such as an unpaired surrogate, and its length.
    Invalid(usize),
    /// A character and the length of its escape.
    Decoded(char, usize),
}

/// Length of `\u0000`.
const UNICODE_LENGTH: usize = 6;

/// Reads the escape at the start of a text.
pub fn read_escape(text: &str) -> Escape {
    let Some(second) = text.get(1..).and_then(|rest| rest.chars().next()) else { return Escape::Open };
    let simple = match second {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'b' => '\u{8}',
        'f' => '\u{C}',
        '"' | '\\' | '/' => second,
        'u' => return read_unicode(text),
        _ => return Escape::Invalid(1 + second.len_utf8()),
    };
    Escape::Decoded(simple, 2)
}

fn read_unicode(text: &str) -> Escape {
    let first = match code_unit(text) {
        CodeUnit::Open => return Escape::Open,
        CodeUnit::Invalid => return Escape::Invalid(2),
        CodeUnit::Complete(unit) => unit,
    };
    if !(0xD800..0xDC00).contains(&first) {
        let character = char::from_u32(first);
        return character
            .map_or(Escape::Invalid(UNICODE_LENGTH), |character| Escape::Decoded(character, UNICODE_LENGTH));
    }
    match text.get(UNICODE_LENGTH..).map(code_unit) {
        Some(CodeUnit::Open) => Escape::Open,
        Some(CodeUnit::Complete(second)) if (0xDC00..0xE000).contains(&second) => {
            let code = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
            let length = 2 * UNICODE_LENGTH;
            char::from_u32(code)
                .map_or(Escape::Invalid(length), |character| Escape::Decoded(character, length))
        }
        _ => Escape::Invalid(UNICODE_LENGTH),
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
