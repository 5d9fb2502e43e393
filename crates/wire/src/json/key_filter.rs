//! A Bloom filter of the keys in a scanned body.

/// The keys of an object, at any depth, as a set that may contain others too. The scanner fills it with a few
/// instructions per key, and most searches for a member end with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyFilter([u64; 2]);

impl KeyFilter {
    /// The set that may contain every key.
    pub const FULL: Self = Self([u64::MAX; 2]);

    pub const fn of(names: &[&str]) -> Self {
        let (mut filter, mut index) = (Self([0; 2]), 0);
        while index < names.len() {
            filter.insert(fingerprint(names[index].as_bytes()));
            index += 1;
        }
        filter
    }

    /// Inserts the key with this fingerprint.
    #[inline(always)]
    pub(super) const fn insert(&mut self, fingerprint: usize) {
        self.0[fingerprint / 64 % 2] |= 1 << (fingerprint % 64);
    }

    /// Whether both may contain the same key.
    #[inline(always)]
    pub const fn may_share_key(self, other: Self) -> bool {
        (self.0[0] & other.0[0]) | (self.0[1] & other.0[1]) != 0
    }

    /// Whether the key with this name may be in the set.
    #[inline(always)]
    pub fn may_contain(self, name: &str) -> bool {
        let fingerprint = fingerprint(name.as_bytes());
        self.0[fingerprint / 64 % 2] >> (fingerprint % 64) & 1 == 1
    }
}

/// A cheap hash of a key. With these factors, the names that are searched for differ in it from most names in requests
/// and answers.
#[inline(always)]
pub(super) const fn fingerprint(key: &[u8]) -> usize {
    match key {
        [] => 0,
        [first, ..] => key.len() + *first as usize * 5 + key[key.len() - 1] as usize * 19,
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
