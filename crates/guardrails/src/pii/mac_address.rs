//! Hardware addresses of network interfaces.

use super::PiiRule;
use super::boundary::{Boundary, after, is_clear_before};
use crate::detector::{Occurrence, Verdict};
use crate::kind::PiiKind;

pub const RULES: [PiiRule; 2] = [
    PiiRule::new(PiiKind::MacAddress, r"(?-u:\b)[0-9A-Fa-f]{2}(?:[:-][0-9A-Fa-f]{2}){5}", check),
    PiiRule::new(PiiKind::MacAddress, r"(?-u:\b)[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}", check),
];

fn check(found: &Occurrence<'_>) -> Verdict {
    let text = found.matched();
    let is_mixed = text.contains(':') && text.contains('-');
    let (_, before) = found.context();
    let is_part =
        before.ends_with([':', '-']) && before.trim_end_matches([':', '-']).ends_with(is_hexadecimal);
    if is_mixed || is_part || !is_clear_before(found) || !is_assigned(text) {
        return Verdict::Invalid;
    }
    let mut following = found.rest().chars();
    match (following.next(), following.next()) {
        // A longer sequence of bytes, such as the fingerprint of a certificate.
        (Some(':' | '-'), Some(next)) if is_hexadecimal(next) => Verdict::Invalid,
        _ => match after(found.rest(), found.is_end()) {
            Boundary::Unknown => Verdict::NeedsMore,
            Boundary::Joined => Verdict::Invalid,
            Boundary::Clear => found.whole(),
        },
    }
}

fn is_hexadecimal(character: char) -> bool {
    character.is_ascii_hexdigit()
}

/// Whether the address can belong to an interface: not all zeros, not broadcast, and not only decimal groups with
/// hyphens, which are dates and numbers.
fn is_assigned(text: &str) -> bool {
    let digits = || text.bytes().filter(u8::is_ascii_hexdigit);
    let is_number = digits().all(|byte| byte.is_ascii_digit()) && !text.contains(':');
    !is_number && !digits().all(|byte| byte == b'0') && !digits().all(|byte| byte.eq_ignore_ascii_case(&b'f'))
}
