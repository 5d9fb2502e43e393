//! Identifiers and randomness as inputs: UUIDv7 with a prefix, sortable by creation time.

use crate::clock::Timestamp;

pub trait Entropy: Send + Sync {
    fn fill(&self, bytes: &mut [u8]);
}

/// A UUIDv7: 128 bits that sort by time of creation.
pub fn unique(now: Timestamp, entropy: &dyn Entropy) -> uuid::Uuid {
    let mut random = [0u8; 10];
    entropy.fill(&mut random);
    uuid::Builder::from_unix_timestamp_millis(now.millis().max(0) as u64, &random).into_uuid()
}

/// The usual form of an id, with hyphens. Its formatter would take several times as long.
pub fn text(id: uuid::Uuid) -> String {
    let mut buffer = uuid::Uuid::encode_buffer();
    id.hyphenated().encode_lower(&mut buffer).to_owned()
}

/// Formats `prefix_` and 32 hex digits, e.g. `key_0199…`.
pub fn prefixed(prefix: &str, now: Timestamp, entropy: &dyn Entropy) -> String {
    format!("{prefix}_{}", unique(now, entropy).simple())
}

/// The FNV-1a hash of a text: stable across runs, so that random choices derived from it can be reproduced.
pub fn number(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
