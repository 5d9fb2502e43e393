//! Generated keys are well formed; a rotated key keeps its earlier values until they expire.

use super::*;

struct Fixed(u8);
impl Entropy for Fixed {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(self.0);
    }
}

#[test]
fn a_minted_key_is_well_formed_and_a_typo_is_not() {
    let key = mint(&Fixed(7));
    assert_eq!(key.reveal().len(), 3 + 43 + 6);
    assert!(is_well_formed(key.reveal()));
    let mut typo = key.reveal().to_owned();
    typo.replace_range(10..11, "x");
    assert!(!is_well_formed(&typo));
    assert!(!is_well_formed("gk_short"));
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(seconds)
}

#[test]
fn earlier_values_keep_their_own_ends() {
    let mut key = AuthKey::new("key_1".into(), "a", &mint(&Fixed(1)));
    let first = key.digest.clone();
    key.rotate(&mint(&Fixed(2)), at(100), at(0)).unwrap();
    let second = key.digest.clone();
    key.rotate(&mint(&Fixed(3)), at(50), at(10)).unwrap();
    let ends = |key: &AuthKey| {
        let previous = key.previous.iter();
        previous.map(|previous| (previous.digest.clone(), previous.valid_until)).collect::<Vec<_>>()
    };
    assert_eq!(ends(&key), [(first.clone(), at(100)), (second, at(50))]);
    key.rotate(&mint(&Fixed(4)), at(60), at(60)).unwrap();
    assert_eq!(ends(&key), [(first, at(100))], "what is over is forgotten, what ends at once is not kept");
}

#[test]
fn only_so_many_values_are_valid_at_once() {
    let mut key = AuthKey::new("key_1".into(), "a", &mint(&Fixed(0)));
    for number in 1..=MOST_PREVIOUS as u8 {
        key.rotate(&mint(&Fixed(number)), at(100), at(0)).unwrap();
    }
    let before = key.clone();
    let refused = key.rotate(&mint(&Fixed(9)), at(100), at(0)).unwrap_err();
    assert_eq!(refused.status, 409);
    assert_eq!(key, before, "a refusal changes nothing");
    key.rotate(&mint(&Fixed(9)), at(0), at(0)).unwrap();
    assert_eq!(key.previous.len(), MOST_PREVIOUS);
    key.rotate(&mint(&Fixed(10)), at(300), at(100)).unwrap();
    assert_eq!(key.previous.len(), 1);
}

#[test]
fn implausible_limits_are_rejected() {
    let limited = |requests_per_minute| RateLimits { requests_per_minute, ..RateLimits::default() };
    for (limit, fits) in [
        (None, true),
        (Some(0), false),
        (Some(1), true),
        (Some(1_000_000_000_000), true),
        (Some(1_000_000_000_001), false),
        (Some(u64::MAX), false),
    ] {
        let refused = limited(limit).validate().err().and_then(|fault| fault.param);
        let named = (!fits).then(|| "rate_limits.requests_per_minute".to_owned());
        assert_eq!(refused, named, "{limit:?}");
    }
    assert!(limited(None).is_unlimited() && !limited(Some(1)).is_unlimited());
}
