//! International bank account numbers.

use super::PiiRule;
use super::boundary::{Boundary, after, is_clear_before};
use crate::detector::{Occurrence, Verdict};
use crate::kind::PiiKind;

/// Country, check digits and the first group; the length depends on the country.
pub const RULE: PiiRule =
    PiiRule::new(PiiKind::Iban, r"(?-u:\b)[A-Za-z]{2}[0-9]{2}[ -]?[A-Za-z0-9]{2}[ -]?[A-Za-z0-9]{2}", check);

/// Countries and the lengths of their numbers.
const LENGTHS: &str = "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 \
    DO28 EE20 EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 \
    KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 \
    PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 \
    VG24 XK20 YE30";

fn check(found: &Occurrence<'_>) -> Verdict {
    let text = found.from(0);
    let Some(length) = length_in(&text[..2].to_ascii_uppercase()).filter(|_| is_clear_before(found)) else {
        return Verdict::Invalid;
    };
    let mut number = Vec::with_capacity(length);
    let mut end = 0;
    let mut is_separated = true;
    for (position, byte) in text.bytes().enumerate() {
        match byte {
            _ if number.len() == length => break,
            b' ' | b'-' if !is_separated => is_separated = true,
            _ if byte.is_ascii_alphanumeric() => {
                number.push(byte.to_ascii_uppercase());
                end = position + 1;
                is_separated = false;
            }
            _ => return Verdict::Invalid,
        }
    }
    if number.len() < length {
        return if found.is_end() { Verdict::Invalid } else { Verdict::NeedsMore };
    }
    match after(found.from(end), found.is_end()) {
        _ if remainder_97(&number) != 1 => Verdict::Invalid,
        Boundary::Unknown => Verdict::NeedsMore,
        Boundary::Joined => Verdict::Invalid,
        Boundary::Clear => found.part(0..end),
    }
}

fn length_in(country: &str) -> Option<usize> {
    let entry = LENGTHS.split_ascii_whitespace().find(|entry| entry.starts_with(country))?;
    entry.get(2..)?.parse().ok()
}

/// The remainder modulo 97 of the number with its first four characters moved to the end and letters as 10 to 35.
fn remainder_97(number: &[u8]) -> u32 {
    let (front, back) = number.split_at(4);
    back.iter().chain(front).fold(0, |rest, byte| match byte {
        b'0'..=b'9' => (rest * 10 + u32::from(byte - b'0')) % 97,
        _ => (rest * 100 + u32::from(byte - b'A') + 10) % 97,
    })
}
