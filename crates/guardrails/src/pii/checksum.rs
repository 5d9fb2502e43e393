//! Checksums of identifiers, over digits as numbers.

/// The digits of a text, without anything else.
pub fn digits(text: &str) -> Vec<u8> {
    text.bytes().filter(u8::is_ascii_digit).map(|byte| byte - b'0').collect()
}

/// Luhn: every second digit from the right doubled, the sum divisible by 10.
pub fn luhn(digits: &[u8]) -> bool {
    let doubled = |digit: u8| if digit > 4 { digit * 2 - 9 } else { digit * 2 };
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, digit)| u32::from(if place % 2 == 1 { doubled(*digit) } else { *digit }))
        .sum();
    sum.is_multiple_of(10)
}

/// The sum of digits times weights.
pub fn weighted(digits: &[u8], weights: &[u32]) -> u32 {
    digits.iter().zip(weights).map(|(digit, weight)| u32::from(*digit) * weight).sum()
}

/// The remainder of a decimal number.
pub fn remainder(digits: &[u8], divisor: u64) -> u64 {
    digits.iter().fold(0, |rest, digit| (rest * 10 + u64::from(*digit)) % divisor)
}

/// ISO 7064 MOD 11,10, the check of the last digit.
pub fn iso_7064_mod_11_10(digits: &[u8]) -> bool {
    let Some((check, body)) = digits.split_last() else { return false };
    let product = body.iter().fold(10, |product, digit| {
        let sum = (product + u32::from(*digit)) % 10;
        (if sum == 0 { 10 } else { sum }) * 2 % 11
    });
    (11 - product) % 10 == u32::from(*check)
}

/// Verhoeff: a product in the dihedral group of order ten.
pub fn verhoeff(digits: &[u8]) -> bool {
    let product = digits.iter().rev().enumerate().fold(0, |product, (place, digit)| {
        let permuted = (0..place % 8).fold(*digit, |digit, _| PERMUTATION[usize::from(digit)]);
        multiply(product, permuted)
    });
    product == 0
}

const PERMUTATION: [u8; 10] = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];

/// The product of two elements of the dihedral group: 0 to 4 are rotations, 5 to 9 reflections.
fn multiply(first: u8, second: u8) -> u8 {
    match (first < 5, second < 5) {
        (true, true) => (first + second) % 5,
        (true, false) => 5 + (first + second - 5) % 5,
        (false, true) => 5 + (first - 5 + 5 - second) % 5,
        (false, false) => (first + 5 - second) % 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_numbers_are_valid() {
        assert!(luhn(&digits("4111 1111 1111 1111")) && !luhn(&digits("4111 1111 1111 1112")));
        assert!(verhoeff(&digits("2363")) && !verhoeff(&digits("2364")), "the example of the literature");
        assert!(iso_7064_mod_11_10(&digits("86095742719")) && !iso_7064_mod_11_10(&digits("86095742718")));
        assert_eq!(remainder(&digits("185057800608436"), 97), 185_057_800_608_436 % 97);
        assert_eq!(weighted(&[1, 2, 3], &[3, 2, 1]), 10);
    }

    #[test]
    fn verhoeff_detects_every_single_error_and_transposition() {
        let valid = digits("236412345671");
        let last = (0..10).find(|check| verhoeff(&[&valid[..11], &[*check]].concat())).unwrap();
        let valid = [&valid[..11], &[last]].concat();
        for place in 0..valid.len() {
            for digit in (0..10).filter(|digit| *digit != valid[place]) {
                let mut changed = valid.clone();
                changed[place] = digit;
                assert!(!verhoeff(&changed));
            }
            let mut swapped = valid.clone();
            swapped.swap(place, (place + 1).min(valid.len() - 1));
            assert_eq!(verhoeff(&swapped), swapped == valid);
        }
    }
}
