//! Social security numbers of the United States.

use super::PiiRule;
use super::boundary::{Boundary, after, is_clear_before};
use super::checksum::digits;
use super::context::has_word_before;
use crate::detector::{Occurrence, Verdict};
use crate::kind::PiiKind;

pub const RULE: PiiRule =
    PiiRule::new(PiiKind::Ssn, r"(?-u:\b)[0-8][0-9]{2}(?:-[0-9]{2}-|[ ][0-9]{2}[ ]|[0-9]{2})[0-9]{4}", check);

const WORDS: [&str; 7] =
    ["ssn", "social security", "social-security", "social sec", "socialsecurity", "soc sec", "ss#"];

fn check(found: &Occurrence<'_>) -> Verdict {
    if !is_clear_before(found) || !is_assigned(found.matched()) {
        return Verdict::Invalid;
    }
    match after(found.rest(), found.is_end()) {
        Boundary::Unknown => Verdict::NeedsMore,
        Boundary::Joined => Verdict::Invalid,
        // Nine digits, or groups with spaces, are numbers like any other unless a word says what they are.
        Boundary::Clear if found.matched().contains('-') || has_word_before(found, &WORDS) => found.whole(),
        Boundary::Clear => Verdict::Invalid,
    }
}

/// Whether the number is in a range that was given out.
fn is_assigned(number: &str) -> bool {
    let digits = digits(number);
    let is_zero = |part: &[u8]| part.iter().all(|digit| *digit == 0);
    let area = &digits[..3];
    !is_zero(area) && area != [6, 6, 6] && !is_zero(&digits[3..5]) && !is_zero(&digits[5..])
}
