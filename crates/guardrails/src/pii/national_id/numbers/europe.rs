//! Numbers of European countries.

use super::super::super::calendar::{is_date, is_short_date, pair};
use super::super::super::checksum::{iso_7064_mod_11_10, luhn, remainder, weighted};

/// Tax identification number: one digit of the first ten occurs two or three times, and the last is a check digit.
pub fn germany(digits: &[u8]) -> bool {
    let count = |digit: u8| digits[..10].iter().filter(|other| **other == digit).count();
    let repeated: Vec<usize> = (0..10).map(count).filter(|count| *count > 1).collect();
    digits[0] != 0 && matches!(repeated[..], [2 | 3]) && iso_7064_mod_11_10(digits)
}

/// Social security number: sex, year, month, place, order, and a key of two digits.
pub fn france(digits: &[u8]) -> bool {
    let month = pair(digits, 3);
    let has_month = (1..=12).contains(&month) || (20..=42).contains(&month) || (50..=99).contains(&month);
    matches!(digits[0], 1..=4 | 7 | 8)
        && has_month
        && 97 - remainder(&digits[..13], 97) == remainder(&digits[13..], 100)
}

/// Social security number without spaces. Numbers of devices have as many digits, but do not start with 1 or 2.
pub fn france_compact(digits: &[u8]) -> bool {
    matches!(digits[0], 1 | 2) && france(digits)
}

/// Citizen service number: the eleven test, with the last digit subtracted.
pub fn netherlands(digits: &[u8]) -> bool {
    let sum = weighted(&digits[..8], &[9, 8, 7, 6, 5, 4, 3, 2]);
    sum > 0 && sum % 11 == u32::from(digits[8])
}

/// PESEL: date of birth with the century in the month, and a check digit.
pub fn poland(digits: &[u8]) -> bool {
    let sum = weighted(digits, &[1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1]);
    sum.is_multiple_of(10) && is_short_date(pair(digits, 0), pair(digits, 2) % 20, pair(digits, 4))
}

/// Personal identity number: date of birth (the day plus 60 in coordination numbers) and Luhn over ten digits.
pub fn sweden(digits: &[u8]) -> bool {
    let short = &digits[digits.len() - 10..];
    let has_century = digits.len() == 10 || matches!(pair(digits, 0), 18..=20);
    let day = pair(short, 4);
    let day = if day > 60 { day - 60 } else { day };
    has_century && is_short_date(pair(short, 0), pair(short, 2), day) && luhn(short)
}

/// National number: date of birth, order, and the complement of the remainder modulo 97.
pub fn belgium(digits: &[u8]) -> bool {
    let check = remainder(&digits[9..], 100);
    let before_2000 = 97 - remainder(&digits[..9], 97);
    let since_2000 = 97 - remainder(&[&[2], &digits[..9]].concat(), 97);
    is_short_date(pair(digits, 0), pair(digits, 2), pair(digits, 4))
        && (check == before_2000 || check == since_2000)
}

/// Old-age insurance number: the country code 756 and the check digit of EAN-13.
pub fn switzerland(digits: &[u8]) -> bool {
    digits[..3] == [7, 5, 6] && weighted(digits, &[1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1]).is_multiple_of(10)
}

/// Personal identification number: a date of birth; the checksum was given up in 2007.
pub fn denmark(digits: &[u8]) -> bool {
    is_short_date(pair(digits, 4), pair(digits, 2), pair(digits, 0))
}

/// National identity number: date of birth and two check digits.
pub fn norway(digits: &[u8]) -> bool {
    let day = pair(digits, 0);
    let day = if day > 40 { day - 40 } else { day };
    let month = pair(digits, 2);
    let month = if month > 40 { month - 40 } else { month };
    is_short_date(pair(digits, 4), month, day)
        && weighted(digits, &[3, 7, 6, 1, 8, 9, 4, 5, 2, 1]).is_multiple_of(11)
        && weighted(digits, &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1]).is_multiple_of(11)
}

/// Tax number: a check digit modulo 11.
pub fn portugal(digits: &[u8]) -> bool {
    let rest = weighted(&digits[..8], &[9, 8, 7, 6, 5, 4, 3, 2]) % 11;
    let check = if rest < 2 { 0 } else { 11 - rest };
    matches!(digits[0], 1 | 2 | 3 | 5 | 6 | 8 | 9) && check == u32::from(digits[8])
}

/// Personal numerical code: sex and century, date of birth, county, order, and a check digit.
pub fn romania(digits: &[u8]) -> bool {
    let rest = weighted(&digits[..12], &[2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9]) % 11;
    let check = if rest == 10 { 1 } else { rest };
    let county = pair(digits, 7);
    (1..=8).contains(&digits[0])
        && ((1..=48).contains(&county) || matches!(county, 51 | 52 | 70))
        && is_short_date(pair(digits, 1), pair(digits, 3), pair(digits, 5))
        && check == u32::from(digits[12])
}

/// Unified civil number: date of birth with the century in the month, and a check digit.
pub fn bulgaria(digits: &[u8]) -> bool {
    let check = weighted(&digits[..9], &[2, 4, 8, 5, 10, 9, 7, 3, 6]) % 11 % 10;
    is_short_date(pair(digits, 0), pair(digits, 2) % 20, pair(digits, 4)) && check == u32::from(digits[9])
}

/// Birth number: date of birth with the sex in the month, the whole divisible by 11.
pub fn czechia(digits: &[u8]) -> bool {
    let month = match pair(digits, 2) {
        month @ 51..=62 => month - 50,
        month @ 71..=82 => month - 70,
        month @ 21..=32 => month - 20,
        month => month,
    };
    is_short_date(pair(digits, 0), month, pair(digits, 4)) && remainder(digits, 11) == 0
}

/// Identification number: two check digits.
pub fn turkey(digits: &[u8]) -> bool {
    let odd: u32 = digits[..9].iter().step_by(2).map(|digit| u32::from(*digit)).sum();
    let even: u32 = digits[1..8].iter().step_by(2).map(|digit| u32::from(*digit)).sum();
    let sum = odd + even + u32::from(digits[9]);
    digits[0] != 0 && (odd * 7 + 90 - even) % 10 == u32::from(digits[9]) && sum % 10 == u32::from(digits[10])
}

/// Personal identification number: ISO 7064.
pub fn croatia(digits: &[u8]) -> bool {
    iso_7064_mod_11_10(digits)
}

/// Personal codes of Estonia and Lithuania: sex and century, date of birth, order, and a check digit of two stages.
pub fn baltics(digits: &[u8]) -> bool {
    let first = weighted(digits, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 1]) % 11;
    let second = weighted(digits, &[3, 4, 5, 6, 7, 8, 9, 1, 2, 3]) % 11;
    let check = if first < 10 { first } else { second % 10 };
    let century = 1800 + 100 * (u32::from(digits[0].max(1) - 1) / 2);
    let year = century + u32::from(pair(digits, 1));
    (1..=6).contains(&digits[0])
        && is_date(year, pair(digits, 3), pair(digits, 5))
        && check == u32::from(digits[10])
}

/// Social security number: date of birth and Luhn.
pub fn greece(digits: &[u8]) -> bool {
    is_short_date(pair(digits, 4), pair(digits, 2), pair(digits, 0)) && luhn(digits)
}
