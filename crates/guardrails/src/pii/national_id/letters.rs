//! Numbers with letters.

use super::super::boundary::{Boundary, after, is_clear_before};
use super::super::calendar::{is_short_date, pair};
use super::super::checksum::{digits, remainder, weighted};
use super::super::context::has_word_before;
use super::numbers::{chilean_check, chinese_check};
use crate::detector::{Occurrence, Verdict};

/// The forms of all numbers with letters.
pub const PATTERN: &str = r"(?-u:\b)(?:[0-9]{8}[ -]?[A-Z]|[XYZ][ -]?[0-9]{7}[ -]?[A-Z]|(?i:[A-Z]{6}[0-9]{2}[A-Z][0-9]{2}[A-Z][0-9]{3}[A-Z])|[A-Z]{2} ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]|[0-9]{6}[-+A-FU-Y][0-9]{3}[0-9A-Z]|[A-Z]{4}[0-9]{6}[HMX][A-Z]{5}[0-9A-Z][0-9]|[STFGM][0-9]{7}[A-Z]|[A-Z]{1,2}[0-9]{6}\([0-9A]\)|[A-Z][1289][0-9]{8}|[0-9]{17}[Xx]|[0-9]{1,2}\.[0-9]{3}\.[0-9]{3}-[Kk]|[12] ?[0-9]{2} ?[0-9]{2} ?2[ABab] ?[0-9]{3} ?[0-9]{3} ?[0-9]{2}|[0-9]{7}[A-W][A-IW]?|[A-Z]{5}[0-9]{4}[A-Z])";

/// A country's check: whether a number is valid, and the words of which one has to stand before it.
pub struct LetterFormat {
    /// The country's code of two letters.
    pub country: &'static str,
    is_valid: fn(&str) -> bool,
    words: &'static [&'static str],
}

const fn letters(
    country: &'static str,
    is_valid: fn(&str) -> bool,
    words: &'static [&'static str],
) -> LetterFormat {
    LetterFormat { country, is_valid, words }
}

/// The checks take a number in upper case without spaces and hyphens.
pub const FORMATS: [LetterFormat; 14] = [
    letters("ES", spain, &["dni", "nif", "documento nacional", "identidad"]),
    letters("ES", spain_foreigner, &[]),
    letters("IT", italy, &[]),
    letters("GB", britain, &["national insurance", "nino", "ni number", "ni no", "insurance number"]),
    letters("FI", finland, &[]),
    letters("MX", mexico, &[]),
    letters("SG", singapore, &[]),
    letters("HK", hong_kong, &[]),
    letters("TW", taiwan, &["身分證", "身份證", "national id", "taiwan id", "id number"]),
    letters("CN", china, &[]),
    letters("CL", chile, &[]),
    letters("FR", corsica, &[]),
    letters("IE", ireland, &["pps", "ppsn"]),
    letters("IN", india_tax, &["pan", "permanent account"]),
];

pub fn check(found: &Occurrence<'_>) -> Verdict {
    let text = found.matched();
    let number: String = text
        .chars()
        .filter(|character| character.is_ascii_alphanumeric() || matches!(character, '+' | '(' | '.'))
        .map(|character| character.to_ascii_uppercase())
        .collect();
    // The spaces of a British number say as much as a context word.
    let is_spaced = text.matches(' ').count() >= 4;
    let is_valid = |format: &LetterFormat| {
        (format.is_valid)(&number)
            && (format.words.is_empty() || is_spaced || has_word_before(found, format.words))
    };
    if !is_clear_before(found) || !FORMATS.iter().any(is_valid) {
        return Verdict::Invalid;
    }
    match after(found.rest(), found.is_end()) {
        Boundary::Unknown => Verdict::NeedsMore,
        Boundary::Joined => Verdict::Invalid,
        Boundary::Clear => found.whole(),
    }
}

/// Whether a text has this form: `9` stands for a digit, `A` for a letter, anything else for itself.
fn has_form(text: &str, form: &str) -> bool {
    let fits = |(byte, form): (u8, u8)| match form {
        b'9' => byte.is_ascii_digit(),
        b'A' => byte.is_ascii_uppercase(),
        other => byte == other,
    };
    text.len() == form.len() && text.bytes().zip(form.bytes()).all(fits)
}

/// The character of an alphabet that a number selects.
fn selects(alphabet: &str, number: u64, expected: &str) -> bool {
    usize::try_from(number).ok().and_then(|at| alphabet.get(at..=at)) == Some(expected)
}

const SPANISH_LETTERS: &str = "TRWAGMYFPDXBNJZSQVHLCKE";

fn spain(number: &str) -> bool {
    has_form(number, "99999999A") && selects(SPANISH_LETTERS, remainder(&digits(number), 23), &number[8..])
}

/// Foreigners: the first letter stands for 0, 1 or 2.
fn spain_foreigner(number: &str) -> bool {
    let Some(first) = "XYZ".find(&number[..1]) else { return false };
    let value = || remainder(&[&[first as u8], &digits(number)[..]].concat(), 23);
    has_form(number, "A9999999A") && selects(SPANISH_LETTERS, value(), &number[8..])
}

/// Codice fiscale: the values of characters at odd places come from a table.
fn italy(number: &str) -> bool {
    const ODD: [u32; 26] =
        [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23];
    let value = |(place, byte): (usize, u8)| {
        let plain = if byte.is_ascii_digit() { byte - b'0' } else { byte - b'A' };
        if place % 2 == 0 { ODD[usize::from(plain)] } else { u32::from(plain) }
    };
    let is_month = number.as_bytes().get(8).is_some_and(|month| b"ABCDEHLMPRST".contains(month));
    let sum = || number.bytes().take(15).enumerate().map(value).sum::<u32>();
    has_form(number, "AAAAAA99A99A999A")
        && is_month
        && selects("ABCDEFGHIJKLMNOPQRSTUVWXYZ", u64::from(sum() % 26), &number[15..])
}

/// National insurance number: no checksum, but prefixes that are not given out.
fn britain(number: &str) -> bool {
    let is_prefix = |prefix: &str| {
        !prefix.contains(['D', 'F', 'I', 'Q', 'U', 'V'])
            && !prefix.ends_with('O')
            && !["BG", "GB", "KN", "NK", "NT", "TN", "ZZ"].contains(&prefix)
    };
    has_form(number, "AA999999A") && is_prefix(&number[..2])
}

/// Personal identity code: date of birth, century, order, and a check character.
fn finland(number: &str) -> bool {
    let digits = digits(number);
    // The hyphen of the twentieth century is filtered out.
    let (body, check) = match number.len() {
        10 if has_form(&number[..9], "999999999") => (&digits[..9], &number[9..]),
        11 if has_form(&number[7..10], "999") && has_form(&number[..6], "999999") => {
            (&digits[..9], &number[10..])
        }
        _ => return false,
    };
    is_short_date(pair(body, 4), pair(body, 2), pair(body, 0))
        && selects("0123456789ABCDEFHJKLMNPRSTUVWXY", remainder(body, 31), check)
}

/// Population registry code: letters of the name, date of birth, sex, state, and a check digit.
fn mexico(number: &str) -> bool {
    const ALPHABET: &str = "0123456789ABCDEFGHIJKLMN OPQRSTUVWXYZ";
    let values = number.chars().take(17).filter_map(|part| ALPHABET.find(part)).zip((2..=18).rev());
    let sum: usize = values.map(|(value, weight)| value * weight).sum();
    let digits = digits(number);
    let is_form = number.len() == 18 && has_form(&number[..16], "AAAA999999AAAAAA");
    is_form
        && is_short_date(pair(&digits, 0), pair(&digits, 2), pair(&digits, 4))
        && digits.last().is_some_and(|check| usize::from(*check) == (10 - sum % 10) % 10)
}

fn singapore(number: &str) -> bool {
    let (offset, letters) = match number.as_bytes().first() {
        Some(b'S') => (0, "JZIHGFEDCBA"),
        Some(b'T') => (4, "JZIHGFEDCBA"),
        Some(b'F') => (0, "XWUTRQPNMLK"),
        Some(b'G') => (4, "XWUTRQPNMLK"),
        Some(b'M') => (3, "XWUTRQPNJLK"),
        _ => return false,
    };
    let sum = || offset + weighted(&digits(number), &[2, 7, 6, 5, 4, 3, 2]);
    has_form(number, "A9999999A") && selects(letters, u64::from(sum() % 11), &number[8..])
}

/// Identity card: one or two letters, six digits, and a check character in brackets.
fn hong_kong(number: &str) -> bool {
    let Some((body, check)) = number.split_once('(') else { return false };
    let padded = format!("{body:>8}");
    let value = |byte: u8| match byte {
        b' ' => 36,
        b'0'..=b'9' => u32::from(byte - b'0'),
        _ => u32::from(byte.to_ascii_uppercase() - b'A') + 10,
    };
    let check = check.bytes().next().map_or(0, value);
    let sum: u32 = padded.bytes().zip((2..=9).rev()).map(|(byte, weight)| value(byte) * weight).sum();
    (sum + check).is_multiple_of(11)
}

/// Identity number: the letter stands for a number of two digits.
fn taiwan(number: &str) -> bool {
    const VALUES: [u32; 26] = [
        10, 11, 12, 13, 14, 15, 16, 17, 34, 18, 19, 20, 21, 22, 35, 23, 24, 25, 26, 27, 28, 29, 32, 30, 31,
        33,
    ];
    let sum = || {
        let letter = VALUES[usize::from(number.as_bytes()[0] - b'A')];
        letter / 10 + letter % 10 * 9 + weighted(&digits(number), &[8, 7, 6, 5, 4, 3, 2, 1, 1])
    };
    has_form(number, "A999999999") && sum().is_multiple_of(10)
}

fn china(number: &str) -> bool {
    number.len() == 18 && number.ends_with('X') && chinese_check(&digits(number)) == Some(10)
}

fn chile(number: &str) -> bool {
    (has_form(number, "99.999.999K") || has_form(number, "9.999.999K"))
        && chilean_check(&digits(number)) == 10
}

/// French social security number of a person born in Corsica.
fn corsica(number: &str) -> bool {
    let replaced = number.replace("2A", "19").replace("2B", "18");
    number.len() == 15 && replaced != number && super::numbers::france(&digits(&replaced))
}

/// Personal public service number: the second letter, if there is one, has the weight 9.
fn ireland(number: &str) -> bool {
    let Some(letters) = number.get(7..).filter(|letters| matches!(letters.len(), 1 | 2)) else {
        return false;
    };
    let second = letters.as_bytes().get(1).map_or(0, |byte| u32::from(byte - b'@') % 23);
    let sum = || weighted(&digits(number), &[8, 7, 6, 5, 4, 3, 2]) + second * 9;
    has_form(&number[..8], "9999999A")
        && selects("WABCDEFGHIJKLMNOPQRSTUV", u64::from(sum() % 23), &letters[..1])
}

/// Permanent account number: the fourth letter is the type of the holder.
fn india_tax(number: &str) -> bool {
    has_form(number, "AAAAA9999A") && "PCHFATBLJG".contains(&number[3..4])
}
