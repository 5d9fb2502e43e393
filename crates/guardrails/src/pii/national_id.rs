//! Identity and tax numbers of countries.
//!
//! Numbers of digits are recognised by their groups and a checksum, those with letters by patterns of their own. A number
//! whose form and checksum are weak needs a context word.

mod letters;
mod numbers;

use std::collections::BTreeSet;

use super::PiiRule;
use crate::kind::PiiKind;

pub const RULES: [PiiRule; 3] = [
    PiiRule::new(PiiKind::NationalId, letters::PATTERN, letters::check),
    PiiRule::new(PiiKind::NationalId, numbers::PATTERN, numbers::check),
    PiiRule::new(PiiKind::NationalId, numbers::SLASHED_PATTERN, numbers::check),
];

/// The countries whose numbers are known, by their codes of two letters.
pub fn countries() -> BTreeSet<&'static str> {
    let numbers = numbers::FORMATS.iter().map(|format| format.country);
    numbers.chain(letters::FORMATS.iter().map(|format| format.country)).collect()
}
