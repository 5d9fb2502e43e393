//! Signs in a text: operators, currencies, emoji.

/// The meaning of a character that is neither a letter nor a digit.
pub enum Sign {
    /// It is read as this word.
    Word(&'static str),
    /// It is compared as it is.
    Symbol(char),
}

/// The sign at a position of a chunk between spaces; `None` if it is punctuation.
pub fn read(letters: &[char], at: usize) -> Option<Sign> {
    let next_is_digit = letters.get(at + 1).is_some_and(char::is_ascii_digit);
    Some(match letters[at] {
        '%' => Sign::Word("percent"),
        '&' => Sign::Word("and"),
        '$' => Sign::Word("dollar"),
        '€' => Sign::Word("euro"),
        '£' => Sign::Word("sterling"),
        '¥' => Sign::Word("yen"),
        '¢' => Sign::Word("cent"),
        '₹' => Sign::Word("rupee"),
        '₽' => Sign::Word("ruble"),
        '₩' => Sign::Word("won"),
        '₺' => Sign::Word("lira"),
        '₿' => Sign::Word("bitcoin"),
        '-' if letters.len() == 1 || (at == 0 && next_is_digit) || is_operator(letters, at) => {
            Sign::Symbol('-')
        }
        '/' if letters.len() == 1 || is_operator(letters, at) => Sign::Symbol('/'),
        sign @ ('+' | '*' | '=' | '<' | '>' | '^' | '|' | '±' | '¬') => Sign::Symbol(sign),
        sign if is_pictorial(sign) => Sign::Symbol(sign),
        _ => return None,
    })
}

/// Whether a hyphen or a slash stands between operands: `10-2`, `n/2`. In "e-mail", "COVID-19" and "km/h" it does not.
fn is_operator(letters: &[char], at: usize) -> bool {
    let Some((before, next)) = at.checked_sub(1).map(|before| letters[before]).zip(letters.get(at + 1))
    else {
        return false;
    };
    let is_variable = before.is_alphabetic() && (at == 1 || !letters[at - 2].is_alphanumeric());
    let is_operand = before.is_ascii_digit() || before == ')' || is_variable;
    is_operand && (next.is_ascii_digit() || *next == '(')
}

/// Emoji, arrows, currencies and mathematical operators, by block.
fn is_pictorial(sign: char) -> bool {
    matches!(u32::from(sign),
        0x20A0..=0x20CF | 0x2190..=0x23FF | 0x2600..=0x27BF | 0x2900..=0x297F | 0x2A00..=0x2BFF | 0x1F000..=0x1FAFF)
}
