//! Numbers of countries outside Europe.

use super::super::super::calendar::{is_date, is_short_date, pair};
use super::super::super::checksum::{luhn, remainder, verhoeff, weighted};

/// Taxpayer number of persons: two check digits.
pub fn brazil(digits: &[u8]) -> bool {
    let check = |length: usize, weights: &[u32]| weighted(&digits[..length], weights) * 10 % 11 % 10;
    let is_varied = digits.iter().any(|digit| *digit != digits[0]);
    is_varied
        && check(9, &[10, 9, 8, 7, 6, 5, 4, 3, 2]) == u32::from(digits[9])
        && check(10, &[11, 10, 9, 8, 7, 6, 5, 4, 3, 2]) == u32::from(digits[10])
}

/// Aadhaar: twelve digits with Verhoeff's check digit, not starting with 0 or 1.
pub fn india(digits: &[u8]) -> bool {
    digits[0] > 1 && verhoeff(digits)
}

/// Resident registration number: date of birth, sex and century, and a check digit.
pub fn korea(digits: &[u8]) -> bool {
    let check = (11 - weighted(&digits[..12], &[2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5]) % 11) % 10;
    (1..=8).contains(&digits[6])
        && is_short_date(pair(digits, 0), pair(digits, 2), pair(digits, 4))
        && check == u32::from(digits[12])
}

const CHINESE_WEIGHTS: [u32; 17] = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2];

/// Resident identity number with a digit at its end.
pub fn china(digits: &[u8]) -> bool {
    chinese_check(digits).is_some_and(|check| check == u32::from(digits[17]))
}

/// The check value of the first 17 digits of a resident identity number: 10 stands for `X`.
pub fn chinese_check(digits: &[u8]) -> Option<u32> {
    let year = remainder(&digits[6..10], 10_000);
    let is_birth = (1900..=2035).contains(&year) && is_date(year as u32, pair(digits, 10), pair(digits, 12));
    let is_region = (1..=8).contains(&digits[0]) && digits[1] != 0;
    (is_birth && is_region).then(|| (12 - weighted(&digits[..17], &CHINESE_WEIGHTS) % 11) % 11)
}

/// Identity number: date of birth, sex, citizenship, and Luhn.
pub fn south_africa(digits: &[u8]) -> bool {
    digits[10] <= 2 && is_short_date(pair(digits, 0), pair(digits, 2), pair(digits, 4)) && luhn(digits)
}

/// Tax and labour identification: a type, the identity number and a check digit.
pub fn argentina(digits: &[u8]) -> bool {
    let check = match 11 - weighted(&digits[..10], &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11 {
        11 => 0,
        10 => 9,
        check => check,
    };
    matches!(pair(digits, 0), 20 | 23 | 24 | 25 | 26 | 27 | 30 | 33 | 34) && check == u32::from(digits[10])
}

/// Tax number with a digit at its end.
pub fn chile(digits: &[u8]) -> bool {
    let Some((check, body)) = digits.split_last() else { return false };
    chilean_check(body) == u32::from(*check)
}

/// The check value of a Chilean tax number: 10 stands for `K`.
pub fn chilean_check(body: &[u8]) -> u32 {
    let weights = [2, 3, 4, 5, 6, 7].into_iter().cycle();
    let sum: u32 = body.iter().rev().zip(weights).map(|(digit, weight)| u32::from(*digit) * weight).sum();
    (11 - sum % 11) % 11
}

/// Social insurance number: Luhn.
pub fn canada(digits: &[u8]) -> bool {
    !matches!(digits[0], 0 | 8) && luhn(digits)
}

/// Tax file number.
pub fn australia(digits: &[u8]) -> bool {
    digits[0] != 0 && weighted(digits, &[1, 4, 3, 7, 5, 8, 6, 9, 10]).is_multiple_of(11)
}

/// Individual number: a check digit modulo 11.
pub fn japan(digits: &[u8]) -> bool {
    let rest = weighted(digits, &[6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11;
    let check = if rest < 2 { 0 } else { 11 - rest };
    check == u32::from(digits[11])
}

/// Identity number: a check digit modulo 11.
pub fn thailand(digits: &[u8]) -> bool {
    let sum = weighted(digits, &[13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2]);
    (1..=8).contains(&digits[0]) && (11 - sum % 11) % 10 == u32::from(digits[12])
}

/// Individual taxpayer number of the United States, which looks like a social security number that starts with 9.
pub fn united_states_taxpayer(digits: &[u8]) -> bool {
    digits[0] == 9 && matches!(pair(digits, 3), 50..=65 | 70..=88 | 90..=92 | 94..=99)
}
