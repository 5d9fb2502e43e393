//! Identifiers and randomness as inputs: UUIDv7 with a prefix, sortable by time of creation.

use crate::clock::Timestamp;

pub trait Entropy: Send + Sync {
    fn fill(&self, bytes: &mut [u8]);
}

/// A 128-bit id whose order is the order of time.
pub fn unique(now: Timestamp, entropy: &dyn Entropy) -> uuid::Uuid {
    let mut random = [0u8; 10];
    entropy.fill(&mut random);
    uuid::Builder::from_unix_timestamp_millis(now.millis().max(0) as u64, &random).into_uuid()
}

/// `prefix_` and 32 hex digits, e.g. `key_0199…`.
pub fn prefixed(prefix: &str, now: Timestamp, entropy: &dyn Entropy) -> String {
    format!("{prefix}_{}", unique(now, entropy).simple())
}

/// A number for a text, the same on every run: what chances are drawn from when they must be explicable.
pub fn number(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
