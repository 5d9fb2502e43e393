//! Comparison of secrets in constant time.

use subtle::ConstantTimeEq as _;

/// Whether two texts are the same, in a time that depends on their lengths only. Words are compared instead of bytes, because
/// `subtle` shields each comparison from the optimizer.
pub fn is_same(one: &[u8], other: &[u8]) -> bool {
    let (one_words, one_rest) = one.as_chunks();
    let (other_words, other_rest) = other.as_chunks();
    let words = one_words.iter().zip(other_words);
    let are_words_same = words.fold(subtle::Choice::from(1), |same, (one, other)| {
        same & u64::from_ne_bytes(*one).ct_eq(&u64::from_ne_bytes(*other))
    });
    one.len() == other.len() && bool::from(are_words_same & one_rest.ct_eq(other_rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn only_the_same_bytes_are_the_same(bytes in prop::collection::vec(any::<u8>(), 0..70), at in any::<prop::sample::Index>()) {
            prop_assert!(is_same(&bytes, &bytes.clone()));
            prop_assert!(!is_same(&bytes, &[&bytes[..], b"x"].concat()));
            prop_assert!(!is_same(&[&bytes[..], b"x"].concat(), &bytes));
            if !bytes.is_empty() {
                let mut other = bytes.clone();
                other[at.index(bytes.len())] ^= 1;
                prop_assert!(!is_same(&bytes, &other));
            }
        }
    }
}
