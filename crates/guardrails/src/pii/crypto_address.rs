//! Addresses of Bitcoin and Ethereum.

use sha3::{Digest as _, Keccak256};

use super::PiiRule;
use super::boundary::{Boundary, after};
use crate::detector::{Occurrence, Verdict};
use crate::kind::PiiKind;

pub const RULES: [PiiRule; 3] = [
    PiiRule::new(PiiKind::CryptoAddress, r"(?-u:\b)[13][1-9A-HJ-NP-Za-km-z]{25,34}(?-u:\b)", check_base58),
    PiiRule::new(
        PiiKind::CryptoAddress,
        r"(?-u:\b)(?i:bc|tb)1(?:[02-9ac-hj-np-z]{11,71}|[02-9AC-HJ-NP-Z]{11,71})(?-u:\b)",
        check_bech32,
    ),
    PiiRule::new(PiiKind::CryptoAddress, r"(?-u:\b)0x[0-9a-fA-F]{40}(?-u:\b)", check_ethereum),
];

/// Version bytes of pay-to-public-key-hash and pay-to-script-hash addresses.
const VERSIONS: [u8; 2] = [0x00, 0x05];

fn check_base58(found: &Occurrence<'_>) -> Verdict {
    let decoded = bs58::decode(found.matched()).with_check(None).into_vec();
    let is_address = decoded.is_ok_and(|bytes| bytes.len() == 21 && VERSIONS.contains(&bytes[0]));
    decide(found, is_address)
}

fn check_bech32(found: &Occurrence<'_>) -> Verdict {
    decide(found, bech32::segwit::decode(found.matched()).is_ok())
}

/// An address in one case has no checksum; one in mixed case has the checksum of EIP-55.
fn check_ethereum(found: &Occurrence<'_>) -> Verdict {
    let digits = &found.matched()[2..];
    let lower = digits.to_ascii_lowercase();
    let is_mixed = lower != digits && digits.to_ascii_uppercase() != digits;
    let is_varied = lower.bytes().any(|byte| !lower.starts_with(char::from(byte)));
    decide(found, is_varied && (!is_mixed || has_checksum_case(digits, &lower)))
}

/// A letter is upper case if the digit of the hash at its place is 8 or more.
fn has_checksum_case(digits: &str, lower: &str) -> bool {
    let hash = Keccak256::digest(lower);
    digits.bytes().enumerate().all(|(place, byte)| {
        let pair = hash[place / 2];
        let digit = if place % 2 == 0 { pair >> 4 } else { pair & 0xF };
        byte.is_ascii_digit() || byte.is_ascii_uppercase() == (digit >= 8)
    })
}

fn decide(found: &Occurrence<'_>, is_address: bool) -> Verdict {
    if !is_address {
        return Verdict::Invalid;
    }
    match after(found.rest(), found.is_end()) {
        Boundary::Unknown => Verdict::NeedsMore,
        Boundary::Joined => Verdict::Invalid,
        Boundary::Clear => found.whole(),
    }
}
