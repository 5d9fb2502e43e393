//! Tests of adding, rotating and removing keys: no stale value stays valid, whatever the order.

use domain::clock::Timestamp;
use domain::resources::auth_key;
use domain::secret::Secret;
use proptest::prelude::*;

use super::*;

const NOW: Timestamp = Timestamp::from_seconds(1_000);

fn raw(value: u32) -> Secret {
    Secret::new(format!("raw-{value}"))
}

fn key(id: &str, value: u32) -> AuthKey {
    AuthKey::new(id.into(), id, &raw(value))
}

fn change(key: &AuthKey) -> (String, Vec<KeyFacts>) {
    (key.id.clone(), compile(key).unwrap())
}

fn found(keys: &Keys, value: u32) -> Option<(String, Option<Timestamp>)> {
    let facts = keys.find(&auth_key::digest(raw(value).reveal()))?;
    Some((facts.id.to_string(), facts.expires_at))
}

#[test]
fn a_rotated_key_leaves_its_old_digest() {
    let mut keys = Keys::default();
    keys.apply([change(&key("a", 1)), change(&key("b", 2))]);
    let before = keys.clone();
    keys.apply([change(&key("a", 3))]);
    assert_eq!(found(&keys, 1), None);
    assert_eq!(found(&keys, 3), Some(("a".into(), None)));
    assert_eq!(keys.by_id("a").map(|key| key.digest), Some(auth_key::digest(raw(3).reveal())));
    assert!(found(&before, 1).is_some(), "a pinned snapshot does not change");
    keys.apply([("b".to_owned(), Vec::new())]);
    assert_eq!(keys.len(), 1);
    assert!(keys.by_id("b").is_none() && found(&keys, 2).is_none());
}

#[test]
fn an_earlier_value_is_the_same_key_with_an_earlier_end() {
    let mut keys = Keys::default();
    let mut rotated = key("a", 1);
    let (soon, late) = (Timestamp::from_seconds(1_010), Timestamp::from_seconds(2_000));
    rotated.rotate(&raw(2), soon, NOW).unwrap();
    rotated.rotate(&raw(3), late, NOW).unwrap();
    keys.apply([change(&rotated)]);
    assert_eq!(found(&keys, 1), Some(("a".into(), Some(soon))));
    assert_eq!(found(&keys, 2), Some(("a".into(), Some(late))));
    assert_eq!(found(&keys, 3), Some(("a".into(), None)));
    assert_eq!((keys.len(), keys.all().count()), (1, 1));

    // An earlier expiry of the key itself takes precedence, and so does its deactivation.
    rotated.expires_at = Some(Timestamp::from_seconds(1_500));
    rotated.deactivated_at = Some(NOW);
    keys.apply([change(&rotated)]);
    assert_eq!(found(&keys, 1), Some(("a".into(), Some(soon))));
    assert_eq!(found(&keys, 2), Some(("a".into(), rotated.expires_at)));
    assert!((1..=3).all(|value| !keys.find(&auth_key::digest(raw(value).reveal())).unwrap().active));
    keys.apply([("a".to_owned(), Vec::new())]);
    assert!((1..=3).all(|value| found(&keys, value).is_none()));
}

#[test]
fn a_value_belongs_to_one_key() {
    let mut keys = Keys::default();
    keys.apply([change(&key("a", 1)), change(&key("b", 2))]);
    keys.apply([change(&key("b", 1))]);
    assert_eq!(found(&keys, 1), Some(("a".into(), None)), "the value is not taken over");
    assert_eq!(found(&keys, 2), None);
    keys.apply([("b".to_owned(), Vec::new())]);
    assert_eq!(found(&keys, 1), Some(("a".into(), None)), "the end of another key is not its own");
    keys.apply([change(&key("0", 1)), change(&key("a", 3))]);
    assert_eq!(found(&keys, 1), Some(("0".into(), None)), "a value may move");
    assert_eq!(found(&keys, 3), Some(("a".into(), None)));
}

#[derive(Clone, Debug)]
enum Step {
    Rotate(usize, i64),
    Deactivate(usize),
    Delete(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..3usize, 0..40i64).prop_map(|(key, overlap)| Step::Rotate(key, overlap)),
        1 => (0..3usize).prop_map(Step::Deactivate),
        1 => (0..3usize).prop_map(Step::Delete),
    ]
}

proptest! {
    /// After any sequence of changes, a value authenticates only its own key, and only until it expires.
    #[test]
    fn rotated_key_values_expire_in_time(steps in proptest::collection::vec(step(), 1..40)) {
        let mut keys = Keys::default();
        let mut documents: [Option<AuthKey>; 3] = Default::default();
        // Owner and end of every value ever issued.
        let mut given: Vec<(usize, Option<i64>)> = Vec::new();
        for (tick, step) in (0i64..).zip(steps) {
            let now = Timestamp::from_seconds(tick * 10);
            match step {
                Step::Rotate(index, overlap) => {
                    let value = given.len() as u32;
                    let until = Timestamp::from_seconds(tick * 10 + overlap);
                    match &mut documents[index] {
                        Some(document) => {
                            if document.rotate(&raw(value), until, now).is_err() {
                                continue;
                            }
                            let old = given.iter_mut().rev().find(|(owner, end)| *owner == index && end.is_none());
                            if let Some((_, end)) = old {
                                *end = Some(until.seconds());
                            }
                        }
                        empty => *empty = Some(key(&format!("key_{index}"), value)),
                    }
                    given.push((index, None));
                }
                Step::Deactivate(index) => {
                    if let Some(document) = &mut documents[index] {
                        document.deactivated_at = Some(now);
                    }
                }
                Step::Delete(index) => {
                    documents[index] = None;
                    keys.apply([(format!("key_{index}"), Vec::new())]);
                    given.iter_mut().filter(|(owner, _)| *owner == index).for_each(|(_, end)| *end = Some(i64::MIN));
                }
            }
            keys.apply(documents.iter().flatten().map(change));
            for (value, (owner, end)) in given.iter().enumerate() {
                let facts = keys.find(&auth_key::digest(raw(value as u32).reveal()));
                let opens = facts.filter(|facts| facts.active && facts.expires_at.is_none_or(|at| now < at));
                let deactivated = documents[*owner].as_ref().is_none_or(|key| key.deactivated_at.is_some());
                let expected = end.is_none_or(|end| now.seconds() < end) && !deactivated;
                prop_assert_eq!(opens.map(|facts| facts.id.to_string()), expected.then(|| format!("key_{owner}")));
            }
        }
    }
}
