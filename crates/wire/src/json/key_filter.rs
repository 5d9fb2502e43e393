//! A Bloom filter of the keys in a scanned body.

/// The keys of an object, at any depth, as a set that may contain others too. The scanner fills it at a few
/// instructions per key, and most searches for a member end with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyFilter(u128);

impl KeyFilter {
    /// The set that may contain every key.
    pub const FULL: Self = Self(u128::MAX);

    pub const fn of(names: &[&str]) -> Self {
        let (mut bits, mut index) = (0, 0);
        while index < names.len() {
            bits |= bit(names[index].as_bytes());
            index += 1;
        }
        Self(bits)
    }

    pub(super) fn insert(&mut self, key: &[u8]) {
        self.0 |= bit(key);
    }

    /// Whether both may contain the same key.
    pub fn may_share_key(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

const fn bit(key: &[u8]) -> u128 {
    1 << (fingerprint(key) % 128)
}

/// A cheap hash of a key. The names that are searched for differ in it from most names in requests.
pub(super) const fn fingerprint(key: &[u8]) -> usize {
    match key {
        [] => 0,
        [first, ..] => key.len() * 7 + (*first as usize) * 9 + key[key.len() - 1] as usize * 13,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::scan;

    #[test]
    fn keys_of_every_depth_are_in_the_filter() {
        let body = br#"{"model":"m","messages":[{"role":"user","content":[{"file":{"file_id":"f"}}]}]}"#;
        let keys = scan(body).unwrap().keys;
        for name in ["model", "messages", "role", "content", "file", "file_id"] {
            assert!(keys.may_share_key(KeyFilter::of(&[name])), "{name}");
        }
        assert!(!keys.may_share_key(KeyFilter::of(&["conversation", "container", "vector_store_ids"])));
    }

    #[test]
    fn an_escaped_key_may_be_any_key() {
        let keys = scan(br#"{"a":{"\u0066ile_id":"f"}}"#).unwrap().keys;
        assert_eq!(keys, KeyFilter::FULL);
        let values = scan(br#"{"a":"\u0066"}"#).unwrap().keys;
        assert_ne!(values, KeyFilter::FULL);
    }
}
