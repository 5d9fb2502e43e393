//! Token counts reported by providers, with implausible values rejected.

use domain::json::next_special;

use crate::codec::number;
use crate::json;

/// Upper bound for a plausible token count of one call.
const IMPLAUSIBLE: f64 = 1e8;
/// Number of digits of the largest accepted count.
const DIGITS: usize = 8;

/// Reads a token count. Implausible values are rejected and corrected ones rounded; both are noted in `caveats`.
pub fn count(name: &str, value: &[u8], caveats: &mut Vec<String>) -> Option<u64> {
    if let Some(plain) = plain_count(value) {
        return Some(plain);
    }
    let reported = number(value)?;
    if reported >= IMPLAUSIBLE {
        caveats.push(format!("{name} was {reported:e} and is not believed"));
        return None;
    }
    let kept = reported.max(0.0).round();
    if kept != reported {
        caveats.push(format!("{name} was {reported} and was taken as {kept}"));
    }
    Some(kept as u64)
}

/// A count that is written with digits only, as nearly all are. Parsing it as a floating-point number costs ten times as
/// much.
fn plain_count(value: &[u8]) -> Option<u64> {
    if !(1..=DIGITS).contains(&value.len()) {
        return None;
    }
    let append = |count, digit: &u8| digit.is_ascii_digit().then(|| count * 10 + u64::from(digit - b'0'));
    value.iter().try_fold(0, append)
}

/// Whether a usage object has a plausible count under one of these names. A byte search that parses nothing else.
#[inline]
pub fn has_count(usage: &[u8], names: &[&str]) -> bool {
    // A usage object is so short that preparing a substring search would cost more than the search itself.
    let mut at = next_special(usage, 0);
    while at < usage.len() {
        let is_end = |name: &&str| usage[..at].ends_with(name.as_bytes());
        if usage[at] == b'"' && names.iter().any(is_end) && has_number_at(&usage[at..]) {
            return true;
        }
        at = next_special(usage, at + 1);
    }
    false
}

fn has_number_at(quote: &[u8]) -> bool {
    let Some(value) = quote.strip_prefix(b"\"").and_then(json::value_after) else { return false };
    let digits = value.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (1..=DIGITS).contains(&digits) && !matches!(value.get(digits), Some(b'e' | b'E'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn implausible_counts_are_rejected() {
        let read = |text: &str| {
            let mut caveats = Vec::new();
            (count("n", text.as_bytes(), &mut caveats), caveats.join(""))
        };
        assert_eq!(read("99999999"), (Some(99_999_999), String::new()));
        assert_eq!(read("100000000"), (None, "n was 1e8 and is not believed".into()));
        assert_eq!(read("1e30"), (None, "n was 1e30 and is not believed".into()));
        assert_eq!(read("-5"), (Some(0), "n was -5 and was taken as 0".into()));
        assert_eq!((read("null").0, read("\"7\"").0), (None, None));
    }

    #[test]
    fn a_reported_count_is_found_without_parsing() {
        let names = ["completion_tokens", "output_tokens"];
        for reported in [r#"{"completion_tokens":7}"#, r#"{"a":1, "output_tokens" : 12345678 }"#] {
            assert!(has_count(reported.as_bytes(), &names), "{reported}");
        }
        for unreported in [
            "{}",
            r#"{"completion_tokens":null}"#,
            r#"{"completion_tokens":"7"}"#,
            r#"{"completion_tokens":1e30}"#,
            r#"{"completion_tokens":123456789}"#,
            r#"{"completion_tokens_details":{"reasoning_tokens":7}}"#,
            r#"{"prompt_tokens":7,"total_tokens":9}"#,
        ] {
            assert!(!has_count(unreported.as_bytes(), &names), "{unreported}");
        }
    }
}
