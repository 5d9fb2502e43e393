//! Internet addresses, versions 4 and 6.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::PiiRule;
use super::boundary::{Boundary, after, is_clear_before, run};
use super::context::has_name_before;
use crate::detector::{Occurrence, Verdict};
use crate::kind::PiiKind;

pub const RULES: [PiiRule; 2] = [
    PiiRule::new(PiiKind::IpAddress, r"(?-u:\b)[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}", check_v4),
    PiiRule::new(
        PiiKind::IpAddress,
        r"(?:(?-u:\b)[0-9A-Fa-f]{1,4}:[0-9A-Fa-f]{0,4}:|::[0-9A-Fa-f]{1,4})",
        check_v6,
    ),
];

const VERSION_WORDS: [&str; 5] = ["version", "ver", "release", "build", "firmware"];
const LONGEST_V6: usize = 45;

fn check_v4(found: &Occurrence<'_>) -> Verdict {
    let (_, before) = found.context();
    let is_part = before.ends_with('.') && before.len() > 1 && !before.ends_with(". ");
    let Ok(address) = found.matched().parse::<Ipv4Addr>() else { return Verdict::Invalid };
    let is_personal = !address.is_loopback() && !address.is_unspecified() && !address.is_broadcast();
    if is_part || !is_clear_before(found) || !is_personal || has_name_before(found, &VERSION_WORDS) {
        return Verdict::Invalid;
    }
    // A port may follow.
    if found.rest().starts_with(':') {
        return found.whole();
    }
    decide(found, found.matched().len())
}

fn check_v6(found: &Occurrence<'_>) -> Verdict {
    let (_, before) = found.context();
    // A colon may end the words before an address, but not a group of digits.
    let words = before.strip_suffix(':').unwrap_or(before);
    let is_part = before.ends_with(|last: char| last.is_ascii_alphanumeric())
        || words.len() < before.len()
            && words.ends_with(|last: char| last == ':' || last.is_ascii_hexdigit());
    if is_part {
        return Verdict::Invalid;
    }
    let is_member = |byte: u8| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.');
    let (length, is_open) = run(found.from(0), found.is_end(), LONGEST_V6, is_member);
    if is_open {
        return Verdict::NeedsMore;
    }
    let text = &found.from(0)[..length];
    let trimmed = text.trim_end_matches('.').trim_end_matches(|last| last == ':' && !text.ends_with("::"));
    let Ok(address) = trimmed.parse::<Ipv6Addr>() else { return Verdict::Invalid };
    // Paths of programming languages such as `abc::def` look like addresses without digits.
    let is_personal = !address.is_loopback() && trimmed.bytes().any(|byte| byte.is_ascii_digit());
    if is_personal { decide(found, trimmed.len()) } else { Verdict::Invalid }
}

fn decide(found: &Occurrence<'_>, length: usize) -> Verdict {
    match after(found.from(length), found.is_end()) {
        Boundary::Unknown => Verdict::NeedsMore,
        Boundary::Joined => Verdict::Invalid,
        Boundary::Clear => found.part(0..length),
    }
}
