//! Telephone numbers.

use super::PiiRule;
use super::boundary::{Boundary, after, is_clear_before, run};
use super::checksum::digits;
use super::context::has_word_before;
use crate::detector::{Occurrence, Verdict};
use crate::kind::PiiKind;

pub const RULES: [PiiRule; 4] = [
    PiiRule::new(PiiKind::Phone, r"\+[0-9](?:[ ./()-]{0,3}[0-9]){6,14}", check_international),
    PiiRule::new(
        PiiKind::Phone,
        r"(?:(?-u:\b)(?:(?:00)?1[ .-])?[2-9][0-9]{2}[.-][2-9][0-9]{2}[.-][0-9]{4}|(?:(?-u:\b)(?:00)?1[ .-]?)?\([2-9][0-9]{2}\)[ .-]?[2-9][0-9]{2}[ .-][0-9]{4})",
        check_north_american,
    ),
    // National forms that hardly anything else has: pairs of digits, an area code in brackets, the international prefix.
    PiiRule::new(
        PiiKind::Phone,
        r"(?-u:\b)0[1-9](?:(?: [0-9]{2}){4}|(?:\.[0-9]{2}){4})|\(0[1-9][0-9]{1,4}\)[ /-]?[0-9](?:[ -]?[0-9]){4,8}|(?-u:\b)00[1-9][0-9]{0,2}[ .-](?:[ ./()-]{0,2}[0-9]){7,12}",
        check_national,
    ),
    PiiRule::new(PiiKind::Phone, r"(?:(?-u:\b)|\()[0-9](?:[ ./()-]{0,2}[0-9]){6,14}", check_with_context),
];

const WORDS: [&str; 51] = [
    "phone",
    "tel",
    "telephone",
    "mobile",
    "cell",
    "cellphone",
    "call",
    "call me",
    "fax",
    "sms",
    "text me",
    "whatsapp",
    "telegram",
    "signal",
    "hotline",
    "telefon",
    "telefono",
    "teléfono",
    "telefone",
    "téléphone",
    "handy",
    "mobil",
    "móvil",
    "celular",
    "portable",
    "cellulare",
    "telefoon",
    "telefonnummer",
    "rufnummer",
    "número",
    "phones",
    "contact me",
    "contact us",
    "contact number",
    "my number",
    "reach me",
    "reach us",
    "ring me",
    "dial",
    "ph",
    "mob",
    "gsm",
    "tél",
    "tlf",
    "tfno",
    "телефон",
    "тел",
    "전화",
    "viber",
    "电话",
    "電話",
];

/// The marks before an extension, longest first.
const EXTENSION_MARKS: [&str; 6] = [" ext. ", " ext ", " ext.", " ext", " x", "x"];
const LONGEST_EXTENSION: usize = 6;

/// Calling codes of countries with one, two and three digits; the latter by their first two.
const CODES: &str = "1 7 20 27 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 58 60 61 62 63 64 65 \
    66 81 82 84 86 90 91 92 93 94 95 98 21 22 23 24 25 26 29 35 37 38 42 50 59 67 68 69 85 87 88 96 97 99";

fn check_international(found: &Occurrence<'_>) -> Verdict {
    let text = found.matched();
    let digits = digits(text);
    let has_code = CODES
        .split_ascii_whitespace()
        .any(|code| code.bytes().zip(&digits).all(|(expected, digit)| expected - b'0' == *digit));
    let is_number = has_code && (8..=15).contains(&digits.len()) && has_balanced_brackets(text);
    decide(found, is_number)
}

fn check_north_american(found: &Occurrence<'_>) -> Verdict {
    let digits = digits(found.matched());
    let number = &digits[digits.len().saturating_sub(10)..];
    // Area and exchange codes do not end in 11, which are service numbers.
    decide(found, number[1..3] != [1, 1] && number[4..6] != [1, 1])
}

fn check_national(found: &Occurrence<'_>) -> Verdict {
    let text = found.matched();
    if let Some(separator) = text.as_bytes().get(2).copied().filter(|byte| matches!(byte, b' ' | b'.'))
        && text.len() == PAIRS_LENGTH
        && !has_word_before(found, &WORDS)
    {
        let (_, before) = found.context();
        let Some(is_followed) = starts_with_pair(found.rest(), separator, found.is_end()) else {
            return Verdict::NeedsMore;
        };
        if is_followed || ends_with_pair(before, separator) || counts_up(text) {
            return Verdict::Invalid;
        }
    }
    decide(found, has_balanced_brackets(text))
}

/// The length of a number of five pairs of digits.
const PAIRS_LENGTH: usize = 14;

/// Whether a text starts with a separator and two hexadecimal digits, so that a number before it is a part of a dump or of
/// a list; `None` if more text has to arrive.
fn starts_with_pair(rest: &str, separator: u8, is_end: bool) -> Option<bool> {
    match rest.as_bytes() {
        [first, high, low, following @ ..] if *first == separator && is_pair(*high, *low) => {
            match following {
                [] if !is_end => None,
                [next, ..] => Some(!next.is_ascii_alphanumeric()),
                [] => Some(true),
            }
        }
        [] => is_end.then_some(false),
        [first] | [first, _] if *first == separator => is_end.then_some(false),
        _ => Some(false),
    }
}

/// Whether a text ends with two hexadecimal digits and a separator.
fn ends_with_pair(before: &str, separator: u8) -> bool {
    match before.as_bytes() {
        [preceding @ .., high, low, last] if *last == separator && is_pair(*high, *low) => {
            !preceding.last().is_some_and(u8::is_ascii_alphanumeric)
        }
        _ => false,
    }
}

/// Whether two characters are hexadecimal digits and not a word of French, whose numbers have pairs.
fn is_pair(high: u8, low: u8) -> bool {
    high.is_ascii_hexdigit() && low.is_ascii_hexdigit() && ![*b"de", *b"ce"].contains(&[high, low])
}

/// Whether pairs of digits are consecutive numbers, such as `01 02 03`.
fn counts_up(text: &str) -> bool {
    let pairs: Vec<u32> = text.split([' ', '.']).filter_map(|pair| pair.parse().ok()).collect();
    pairs.windows(2).all(|pair| pair[0] + 1 == pair[1])
}

fn check_with_context(found: &Occurrence<'_>) -> Verdict {
    let text = found.matched();
    let count = digits(text).len();
    let is_number = (7..=15).contains(&count) && has_balanced_brackets(text) && !looks_like_date(text);
    decide(found, is_number && has_word_before(found, &WORDS))
}

fn has_balanced_brackets(text: &str) -> bool {
    let depths = text.bytes().scan(0, |depth: &mut i32, byte| {
        *depth += i32::from(byte == b'(') - i32::from(byte == b')');
        Some(*depth)
    });
    let (lowest, last) = depths.fold((0, 0), |(lowest, _), depth| (lowest.min(depth), depth));
    lowest == 0 && last == 0
}

/// Whether the text starts with a date such as 2024-03-15 or 15.03.2024.
fn looks_like_date(text: &str) -> bool {
    let lengths: Vec<usize> = text.split(['-', '.', '/']).map(str::len).collect();
    matches!(lengths[..], [4, 2, 2, ..] | [2, 2, 4, ..])
}

fn decide(found: &Occurrence<'_>, is_number: bool) -> Verdict {
    if !is_number || !is_clear_before(found) {
        return Verdict::Invalid;
    }
    let Some(extension) = extension(found.rest(), found.is_end()) else { return Verdict::NeedsMore };
    let length = found.matched().len() + extension;
    match after(found.from(length), found.is_end()) {
        Boundary::Unknown => Verdict::NeedsMore,
        Boundary::Joined => Verdict::Invalid,
        Boundary::Clear => found.part(0..length),
    }
}

/// The length of the extension behind a number, such as `x123` or ` ext. 12`; `None` if more text has to arrive.
fn extension(rest: &str, is_end: bool) -> Option<usize> {
    let mut length = Some(0);
    for mark in EXTENSION_MARKS {
        if !is_end && mark.starts_with(rest) {
            length = None;
        }
        let Some(number) = rest.strip_prefix(mark) else { continue };
        let (digits, is_open) = run(number, is_end, LONGEST_EXTENSION + 1, |byte| byte.is_ascii_digit());
        if is_open {
            return None;
        }
        if (1..=LONGEST_EXTENSION).contains(&digits) {
            return Some(mark.len() + digits);
        }
    }
    length
}
