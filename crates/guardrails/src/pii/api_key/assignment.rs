//! Keys without a prefix: random text that is assigned to a word such as `api_key` or `token`.

use super::super::boundary::run;
use super::{entropy, is_random};
use crate::detector::{Occurrence, Verdict};

/// The word, the assignment and an opening quote. The value follows.
pub const PATTERN: &str = r#"(?i:api[ _-]?key|access[ _-]?key(?:[ _-]?id)?|account[ _-]?key|secret(?:[ _-]?(?:access[ _-]?)?key)?|client[ _-]?secret|token|credentials?|passw(?:or)?d|passphrase)["'`\])]{0,2}[ \t]{0,4}(?:=>|:=|[:=]|is:?)[ \t]{0,4}(?:(?i:bearer|basic|token) )?["'`]?|(?i:bearer) "#;

const SHORTEST: usize = 16;
const LONGEST: usize = 512;

pub fn check(found: &Occurrence<'_>) -> Verdict {
    let rest = found.rest();
    let is_value = |byte: u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+' | b'/' | b'=' | b'.' | b'~')
    };
    let (length, is_open) = run(rest, found.is_end(), LONGEST + 1, is_value);
    if is_open {
        return Verdict::NeedsMore;
    }
    let value = rest[..length].trim_end_matches(['.', '-', '/']);
    // A call or a path of code: `token = get_token(…)`, `password: ${…}`.
    let is_code = rest[length..].starts_with(['(', '[', '{', ':']);
    if !(SHORTEST..=LONGEST).contains(&value.len()) || is_code || !is_key(value) {
        return Verdict::Invalid;
    }
    let start = found.matched().len();
    found.part(start..start + value.len())
}

/// Whether a value is random: digits among letters, and no name made of words.
fn is_key(value: &str) -> bool {
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let is_hexadecimal = value.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    let least_entropy = if is_hexadecimal { 2.8 } else { 3.3 };
    has_digit && is_random(value) && entropy(value) >= least_entropy && !is_made_of_words(value)
}

/// Whether most of the value is letters in words with separators between them, such as a path or an identifier.
fn is_made_of_words(value: &str) -> bool {
    let words = value.split(['_', '-', '.', '/', '+', '=', '~']);
    let is_word = |word: &&str| {
        let letters = word.trim_end_matches(|last: char| last.is_ascii_digit());
        let is_lower = letters.bytes().skip(1).all(|byte| byte.is_ascii_lowercase());
        word.len() - letters.len() <= 4 && is_lower && letters.len() <= 14
    };
    let (mut count, mut letters) = (0, 0);
    for word in words.filter(|word| !word.is_empty()) {
        count += 1;
        letters += if is_word(&word) { word.len() } else { 0 };
    }
    count > 1 && letters * 10 >= value.len() * 7
}
