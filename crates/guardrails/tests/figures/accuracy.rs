//! Precision and recall of each kind, and keys and numbers of each vendor and country.

use std::collections::BTreeSet;

use guardrails::kind::PiiKind;
use guardrails::pii;

use crate::other_api_keys;
use crate::samples::random::Random;
use crate::samples::values::Value;
use crate::samples::{self, api_keys, national};

const LEAST_PRECISION: f64 = 0.97;
const LEAST_RECALL: f64 = 0.95;
const FEWEST_VALUES: usize = 100;

#[test]
fn every_kind_is_found_and_little_else_in_the_held_out_half() {
    let accuracy = samples::measure(&pii::detector(&PiiKind::ALL).unwrap());
    assert_eq!(accuracy.kinds.len(), PiiKind::ALL.len());
    let (tuning, held_out) = accuracy.sentences;
    assert!(tuning.abs_diff(held_out) * 20 < tuning, "{tuning} and {held_out} sentences");
    for (kind, (_, counts)) in &accuracy.kinds {
        let errors = accuracy.errors.join("\n");
        assert!(counts.values() > FEWEST_VALUES, "values of {kind}: {counts:?}");
        assert!(counts.precision() >= LEAST_PRECISION, "precision of {kind}: {counts:?}\n{errors}");
        assert!(counts.recall() >= LEAST_RECALL, "recall of {kind}: {counts:?}\n{errors}");
    }
}

#[test]
fn keys_of_every_vendor_are_found() {
    let detector = pii::detector(&PiiKind::ALL).unwrap();
    let mut random = Random::new(11);
    let forms = || api_keys::FORMS.iter().chain(other_api_keys::FORMS);
    for (vendor, form) in forms() {
        for _ in 0..50 {
            let key = api_keys::fill(form, &mut random);
            let text = format!("use {key}, please");
            let expected = vec![(PiiKind::ApiKey, 4..4 + key.len())];
            assert_eq!(samples::found(&detector, &text), expected, "{vendor}: {text}");
        }
    }
    let sampled: BTreeSet<&str> = forms().map(|(vendor, _)| *vendor).collect();
    assert!(sampled.len() >= 40, "{} vendors", sampled.len());
    assert_eq!(sampled, pii::api_key_vendors());
}

#[test]
fn numbers_of_every_country_are_found() {
    let detector = pii::detector(&PiiKind::ALL).unwrap();
    let mut random = Random::new(12);
    for (country, make) in national::COUNTRIES {
        let values: Vec<Value> = (0..200).map(|_| make(&mut random)).collect();
        let is_found = |value: &&Value| {
            let words = value.words.first().copied().unwrap_or_default();
            let text = format!("It is {words}{}, I think", value.text);
            let start = "It is ".len() + words.len();
            samples::found(&detector, &text) == [(PiiKind::NationalId, start..start + value.text.len())]
        };
        let count = values.iter().filter(is_found).count();
        assert!(count as f64 >= LEAST_RECALL * values.len() as f64, "{country}: {count} of {}", values.len());
    }
    let sampled: BTreeSet<&str> = national::COUNTRIES.iter().map(|(country, _)| *country).collect();
    let known = pii::national_id_countries();
    assert!(sampled.len() >= 10 && sampled.is_subset(&known), "{:?}", sampled.difference(&known));
}
