//! Tests of the classifier in requests, with classifiers of fixed scores.

use std::sync::{Arc, Mutex};

use ::guardrails::placeholder::ScopeKey;
use bytes::Bytes;
use domain::call::{Format, Surface};
use domain::fault::FaultCode;
use domain::receipt::Verdict;
use serde_json::{Value, json};

use super::super::{CompiledGuardrail, RequestInspection, RequestToInspect, inspect_request};
use super::*;

/// Scores texts that contain `odd`.
fn classifier(score: f32) -> Classifier {
    Arc::new(move |text: &str| Ok(if text.contains("odd") { score } else { 0.01 }))
}

fn inspect(document: Value, messages: Value, classifier: Option<Classifier>) -> RequestInspection {
    let guardrail = CompiledGuardrail::compile(serde_json::from_value(document).unwrap());
    let steps = [vec![Arc::new(guardrail.unwrap_or_else(|error| panic!("{error:?}")))]];
    let request = RequestToInspect {
        surface: Surface::Converse(Format::Chat),
        body: Bytes::from(json!({"model": "m", "messages": messages}).to_string()),
        object: None,
        history: Vec::new(),
        edits_signed: false,
        classifier,
    };
    inspect_request(&steps, request, &ScopeKey::new(&[7; 32]))
}

fn guardrail(config: Value) -> Value {
    json!({"name": "injection", "type": "prompt_injection", "config": config})
}

fn message(role: &str, text: &str) -> Value {
    json!({"role": role, "content": text})
}

#[test]
fn the_score_of_the_classifier_counts_by_sensitivity() {
    let cases = [
        (0.998, ["flag", "flag", "flag"]),
        (0.99, ["allow", "flag", "flag"]),
        (0.975, ["allow", "allow", "flag"]),
        (0.95, ["allow", "allow", "allow"]),
    ];
    for (score, verdicts) in cases {
        for (sensitivity, verdict) in ["low", "medium", "high"].iter().zip(verdicts) {
            let document = guardrail(json!({"sensitivity": sensitivity}));
            let messages = json!([message("user", "an odd text")]);
            let inspection = inspect(document, messages, Some(classifier(score)));
            let found = &inspection.verdicts[0];
            assert_eq!(json!(found.verdict), verdict, "{score} at {sensitivity}");
            assert_eq!(found.classifier_score, Some(score));
            assert!(inspection.outcome.is_ok());
        }
    }
}

#[test]
fn a_blocking_guardrail_refuses_what_the_classifier_finds() {
    let messages = json!([message("user", "fine"), message("tool", "an odd text"), message("user", "fine")]);
    let inspection = inspect(guardrail(json!({"action": "block"})), messages.clone(), Some(classifier(0.99)));
    assert_eq!(inspection.outcome.err().unwrap().code, FaultCode::GuardrailBlocked);
    // Rules alone find nothing.
    let inspection = inspect(guardrail(json!({"action": "block"})), messages, None);
    assert!(inspection.outcome.is_ok());
    assert_eq!((inspection.verdicts[0].score, inspection.verdicts[0].classifier_score), (Some(0.0), None));
}

#[test]
fn texts_of_the_application_and_guardrails_with_classifier_off_are_not_classified() {
    let messages = json!([message("system", "an odd text"), message("assistant", "an odd text")]);
    let inspection = inspect(guardrail(json!({})), messages, Some(classifier(0.99)));
    assert_eq!(inspection.verdicts[0].classifier_score, None);
    let messages = json!([message("user", "an odd text")]);
    let inspection = inspect(guardrail(json!({"classifier": "off"})), messages, Some(classifier(0.99)));
    assert_eq!(inspection.verdicts[0].classifier_score, None);
    assert_eq!(inspection.verdicts[0].verdict, Verdict::Allow);
}

#[test]
fn the_newest_texts_are_classified_within_the_limit() {
    let seen: Arc<Mutex<Vec<char>>> = Arc::default();
    let kept = seen.clone();
    let classifier: Classifier = Arc::new(move |text: &str| {
        kept.lock().unwrap().extend(text.chars().next());
        Ok(0.1)
    });
    let text = |first: char| format!("{first}{}", " word".repeat(MOST_BYTES_OF_TEXT / 4));
    let messages: Vec<Value> = ('a'..='h').map(|first| message("user", &text(first))).collect();
    inspect(guardrail(json!({})), json!(messages), Some(classifier));
    assert_eq!(*seen.lock().unwrap(), ['h', 'g', 'f', 'e']);
}

#[test]
fn a_classifier_that_fails_is_an_error_of_the_guardrail() {
    let fails: Classifier = Arc::new(|_: &str| Err("the classifier cannot be loaded: damaged".to_owned()));
    let messages = json!([message("user", "hello")]);
    let inspection = inspect(guardrail(json!({})), messages.clone(), Some(fails.clone()));
    assert_eq!(inspection.verdicts[0].verdict, Verdict::Error);
    assert_eq!(inspection.outcome.err().unwrap().code, FaultCode::GuardrailError);
    let mut lenient = guardrail(json!({}));
    lenient["on_error"] = json!("allow");
    assert!(inspect(lenient, messages, Some(fails)).outcome.is_ok());
}
