//! Payment card numbers.

use super::PiiRule;
use super::boundary::{Boundary, after, is_clear_before};
use super::checksum::{digits, luhn, remainder};
use super::context::has_word_before;
use crate::detector::{Occurrence, Verdict};
use crate::kind::PiiKind;

/// Digits with single separators. Four more than the longest card number has, so that an expiry date or a security code
/// behind the number is seen.
pub const RULE: PiiRule = PiiRule::new(PiiKind::CreditCard, r"(?-u:\b)[2-6](?:[ -]?[0-9]){12,22}", check);

/// First digits of card numbers, from and to, and the lengths of the numbers.
const RANGES: [(u64, u64, &[usize]); 22] = [
    (2200, 2204, &[16, 17, 18, 19]),
    (2221, 2720, &[16]),
    (3000, 3059, &[14, 16]),
    (3095, 3095, &[14, 16]),
    (3400, 3499, &[15]),
    (3528, 3589, &[16, 17, 18, 19]),
    (3600, 3699, &[14, 16]),
    (3700, 3799, &[15]),
    (3800, 3999, &[14, 16]),
    (4000, 4999, &[13, 16, 19]),
    (5018, 5018, &[13, 15, 16, 18, 19]),
    (5020, 5020, &[13, 15, 16, 18, 19]),
    (5038, 5038, &[13, 15, 16, 18, 19]),
    (5100, 5599, &[16]),
    (5893, 5893, &[13, 15, 16, 18, 19]),
    (6011, 6011, &[16, 19]),
    (6200, 6299, &[16, 17, 18, 19]),
    (6304, 6304, &[13, 15, 16, 18, 19]),
    (6440, 6499, &[16, 19]),
    (6500, 6599, &[16, 19]),
    (6759, 6759, &[13, 15, 16, 18, 19]),
    (6761, 6763, &[13, 15, 16, 18, 19]),
];

/// Numbers of thirteen digits are seldom cards: article numbers and identity numbers have as many.
const SELDOM_LENGTH: usize = 13;
const WORDS: [&str; 9] =
    ["card", "visa", "maestro", "karte", "kreditkarte", "carte", "tarjeta", "cartão", "carta"];

fn check(found: &Occurrence<'_>) -> Verdict {
    let text = found.matched();
    let all = digits(text);
    if !is_clear_before(found) {
        return Verdict::Invalid;
    }
    let boundary = after(found.rest(), found.is_end());
    if boundary == Boundary::Unknown {
        return Verdict::NeedsMore;
    }
    // Longest first: of a number and the digits behind it, the number is found.
    for length in (13..=all.len().min(19)).rev() {
        let end = position_after(text, length);
        let is_end_of_number = match text.as_bytes().get(end) {
            None => boundary == Boundary::Clear,
            Some(b' ' | b'-') => true,
            // A security code or an expiry date may follow without a separator.
            Some(_) => matches!(all.len() - length, 3 | 4) && boundary == Boundary::Clear,
        };
        let is_expected = length > SELDOM_LENGTH || has_word_before(found, &WORDS);
        if is_end_of_number && is_card(&all[..length]) && has_card_groups(&text[..end]) && is_expected {
            return found.part(0..end);
        }
    }
    Verdict::Invalid
}

fn is_card(digits: &[u8]) -> bool {
    let first = remainder(&digits[..4], 10_000);
    let is_issued = RANGES
        .iter()
        .any(|(from, to, lengths)| (*from..=*to).contains(&first) && lengths.contains(&digits.len()));
    let is_varied = digits.iter().any(|digit| *digit != digits[0]);
    is_issued && is_varied && luhn(digits)
}

/// Whether the separators stand as on cards: between groups of three or more digits, and all the same.
fn has_card_groups(text: &str) -> bool {
    let groups: Vec<&str> = text.split([' ', '-']).collect();
    let is_uniform = !(text.contains(' ') && text.contains('-'));
    let Some((_, before)) = groups.split_last() else { return false };
    is_uniform && before.iter().all(|group| (3..=10).contains(&group.len()))
}

/// The position behind the digit with this number, counted from 1.
fn position_after(text: &str, number: usize) -> usize {
    let digit = text.bytes().enumerate().filter(|(_, byte)| byte.is_ascii_digit()).nth(number - 1);
    digit.map_or(text.len(), |(position, _)| position + 1)
}
