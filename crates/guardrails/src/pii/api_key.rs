//! API keys: by the prefixes of vendors, and by assignments of random text to words such as `token`.

mod assignment;
mod vendors;

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::PiiRule;
use super::boundary::run;
use crate::detector::{Occurrence, Verdict};
use crate::kind::PiiKind;
use vendors::KEY_FORMATS;

pub fn rules() -> [PiiRule; 2] {
    let prefixes: Vec<String> =
        KEY_FORMATS.iter().map(|format| regex_syntax::escape(format.prefix)).collect();
    let prefixes = format!(r"(?-u:\b)(?:{})", prefixes.join("|"));
    [
        PiiRule { kind: PiiKind::ApiKey, pattern: Cow::Owned(prefixes), check: check_prefixed },
        PiiRule::new(PiiKind::ApiKey, assignment::PATTERN, assignment::check),
    ]
}

/// The vendors whose keys are known by their prefixes.
pub fn vendors() -> BTreeSet<&'static str> {
    KEY_FORMATS.iter().map(|format| format.vendor).collect()
}

/// Characters of a key behind its prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Alphabet {
    /// `0-9a-fA-F`
    Hexadecimal,
    /// `A-Z0-9`
    Upper,
    /// `A-Za-z0-9`
    Alphanumeric,
    /// `A-Za-z0-9_-`
    Base64Url,
    /// `A-Za-z0-9_.-`
    Dotted,
    /// `A-Za-z0-9+/=_.-`
    Base64,
}

impl Alphabet {
    fn contains(self, byte: u8) -> bool {
        match self {
            Self::Hexadecimal => byte.is_ascii_hexdigit(),
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Alphanumeric => byte.is_ascii_alphanumeric(),
            Self::Base64Url => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Self::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'),
            Self::Base64 => {
                byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'_' | b'-' | b'.')
            }
        }
    }
}

/// The form of a vendor's keys.
struct KeyFormat {
    vendor: &'static str,
    prefix: &'static str,
    alphabet: Alphabet,
    /// Least and most characters behind the prefix.
    length: (usize, usize),
}

/// The first format in the table that fits. Formats with the same start are in order from long to short prefixes.
fn check_prefixed(found: &Occurrence<'_>) -> Verdict {
    let text = found.from(0);
    for format in KEY_FORMATS.iter().filter(|format| text.starts_with(format.prefix)) {
        let rest = &text[format.prefix.len()..];
        let (least, most) = format.length;
        let (length, is_open) = run(rest, found.is_end(), most + 1, |byte| format.alphabet.contains(byte));
        if is_open {
            return Verdict::NeedsMore;
        }
        let key = rest[..length].trim_end_matches(['.', '-']);
        // Keys in upper case may have no digit by chance.
        let is_random = is_random(key) || format.alphabet == Alphabet::Upper && entropy(key) >= 2.8;
        if (least..=most).contains(&key.len()) && is_random {
            return found.part(0..format.prefix.len() + key.len());
        }
    }
    Verdict::Invalid
}

/// Whether a text is random rather than words or a placeholder: digits among letters, or both cases, and many
/// different characters.
fn is_random(text: &str) -> bool {
    let has = |is_member: fn(&u8) -> bool| text.bytes().any(|byte| is_member(&byte));
    let has_digits = has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
    let has_cases = has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
    (has_digits || has_cases) && entropy(text) >= 2.5
}

/// Shannon's entropy in bits per character.
fn entropy(text: &str) -> f64 {
    let mut counts = [0_u32; 256];
    text.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
    let length = text.len() as f64;
    let shares = counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / length);
    -shares.map(|share| share * share.log2()).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::stream::tests::check_every_split;

    #[test]
    fn random_text_is_told_from_words() {
        assert!(is_random("sW4kT9xQp2LmZ7vB") && is_random("9f86d081884c7d659a2feaa0c55ad015"));
        assert!(
            !is_random("your-api-key-goes-here")
                && !is_random("xxxxxxxxxxxxxxxx")
                && !is_random("1234567890123456")
        );
    }

    #[test]
    fn formats_with_the_same_start_are_ordered() {
        for (index, format) in KEY_FORMATS.iter().enumerate() {
            let hidden =
                KEY_FORMATS[..index].iter().find(|earlier| format.prefix.starts_with(earlier.prefix));
            assert!(
                hidden.is_none_or(|earlier| earlier.prefix == format.prefix),
                "{} is hidden",
                format.prefix
            );
        }
        assert!(KEY_FORMATS.len() >= 100);
    }

    #[test]
    fn every_split_of_a_key_of_every_format_equals_the_whole() {
        let detector = Arc::new(crate::pii::detector(&[PiiKind::ApiKey]).unwrap());
        for format in KEY_FORMATS {
            let fits = |character: &char| format.alphabet.contains(*character as u8);
            let letters = "9fA1d8B2c7E3a6D4b5C0_-".chars().filter(fits).cycle();
            let key: String =
                format.prefix.chars().chain(letters.take(format.length.0 - 1)).chain(['7']).collect();
            let text = format!("use {key}, ok");
            let findings = detector.find_all(&text, "").unwrap();
            assert!(
                matches!(&findings[..], [found] if found.range == (4..4 + key.len())),
                "{text}: {findings:?}"
            );
            check_every_split(&detector, &text).unwrap();
        }
    }
}
