//! Tests of the sections: a document that does not compile is reported, and affects no other.

use std::collections::{BTreeMap, BTreeSet};

use domain::resources::Resource as _;
use domain::resources::auth_key::AuthKey;
use domain::resources::budget::Budget;
use domain::user_path::UserPath;
use serde_json::{Value, json};
use store::RawDocument;

use super::*;
use crate::budgets::{ClosedScope, StoredBudget, StoredSettings};

const NOW: Timestamp = Timestamp(7);

fn document<S: Section>(name: &str, body: &str) -> RawDocument {
    RawDocument {
        tenant: String::new(),
        kind: section::kind::<S>().to_owned(),
        name: name.to_owned(),
        body: body.to_owned(),
        revision: 3,
        created_at: Timestamp(1),
        updated_at: Timestamp(2),
        updated_by: "master".to_owned(),
        broken: None,
    }
}

fn compile<S: Section>(documents: Vec<RawDocument>) -> (BTreeMap<String, S::Compiled>, DocumentErrors) {
    let mut errors = DocumentErrors::default();
    let compiled = section::compile::<S>(documents, NOW, &mut errors).collect();
    (compiled, errors)
}

/// Compiles a readable document between damaged ones. `fails_closed`: the damaged ones have a fallback.
#[track_caller]
fn check<S: Section>(good: &Value, fails_closed: bool) {
    let kind = section::kind::<S>();
    let sealed = RawDocument { broken: Some("sealed with another key".into()), ..document::<S>("d", "{}") };
    let documents = vec![
        document::<S>("a", "{\"secret\": \"s3cret\", oops"),
        document::<S>("b", &good.to_string()),
        document::<S>("c", "\"s3cret\""),
        sealed,
    ];
    let (compiled, errors) = compile::<S>(documents);
    let expected: &[&str] = if fails_closed { &["a", "b", "c", "d"] } else { &["b"] };
    assert_eq!(compiled.keys().collect::<Vec<_>>(), expected, "{kind}");
    let reported: Vec<_> = errors.iter().map(|error| (error.kind, error.name, error.since)).collect();
    assert_eq!(reported, [(kind, "a", NOW), (kind, "c", NOW), (kind, "d", NOW)]);
    for error in errors.iter() {
        assert!(!error.error.contains("s3cret") && !error.error.is_empty(), "{error:?}");
    }
    let reasons: Vec<&str> = errors.iter().map(|error| error.error).collect();
    assert!(reasons[0].starts_with(&format!("not a valid {kind} (line 1, column ")), "{reasons:?}");
    assert_eq!(reasons[2], "sealed with another key");
}

#[test]
fn one_document_that_does_not_compile_is_reported_and_affects_no_other() {
    let digest = "0".repeat(64);
    let budget = json!({"name": "b", "user_path": "/team", "period_seconds": 86400, "amount": 1});
    check::<AuthKeys>(&key(&digest), true);
    check::<providers::Providers>(&json!({"name": "b", "type": "openai"}), false);
    check::<model_overrides::ModelOverrides>(&json!({"selector": "b/c", "enabled": true}), true);
    check::<model_prices::ModelPrices>(&json!({"selector": "b/c", "input_per_mtok": 1}), false);
    check::<AsStored<Pool>>(&json!({"name": "b", "members": ["x"]}), false);
    check::<AsStored<Combo>>(&json!({"name": "b", "selectors": ["x/y"]}), false);
    let workflow =
        json!({"id": "b", "scope": {}, "version": 1, "name": "b", "workflow_payload": {}, "created_by": "x"});
    check::<AsStored<Workflow>>(&workflow, false);
    let activation = json!({"scope": "path=/team", "versions": 1, "active": "b"});
    check::<workflow_activations::WorkflowActivations>(&activation, true);
    check::<AsStored<Alias>>(&json!({"name": "b", "target": "x/y"}), false);
    check::<budgets::Budgets>(&budget, true);
    check::<budget_settings::Settings>(&json!({"daily_reset_hour": 3}), true);
}

fn key(digest: &str) -> Value {
    json!({"id": "b", "name": "b", "digest": digest, "redacted_value": "gk_", "scopes": ["inference"]})
}

#[test]
fn a_document_that_decodes_may_still_not_compile() {
    let (keys, errors) = compile::<AuthKeys>(vec![document::<AuthKeys>("b", &key("12").to_string())]);
    assert_eq!(keys["b"].len(), 0);
    let found: Vec<_> = errors.iter().map(|error| (error.name, error.error)).collect();
    assert_eq!(found, [("b", "its digest is not 64 hex digits")]);

    let body = json!({"scope": "colour=red", "versions": 1, "active": "b"}).to_string();
    let documents = vec![document::<workflow_activations::WorkflowActivations>("colour=red", &body)];
    let (_, errors) = compile::<workflow_activations::WorkflowActivations>(documents);
    assert_eq!(errors.iter().map(|error| error.error).collect::<Vec<_>>(), ["not the key of a scope"]);

    let body = json!({"name": "/team|5", "user_path": "/team", "period_seconds": 5, "amount": 1}).to_string();
    let (found, errors) =
        compile::<budgets::Budgets>(vec![document::<budgets::Budgets>("/team|86400", &body)]);
    let scope = ClosedScope { user_path: UserPath::parse("/team").unwrap(), tenant: None };
    assert_eq!(found["/team|86400"], StoredBudget::Closed(scope));
    assert_eq!(errors.iter().map(|error| error.error).collect::<Vec<_>>(), ["not a valid period"]);
}

#[test]
fn a_document_in_force_in_part_is_reported() {
    let body = json!({"name": "later", "type": "made_by_a_newer_version"}).to_string();
    let (found, errors) =
        compile::<providers::Providers>(vec![document::<providers::Providers>("later", &body)]);
    assert_eq!((found["later"].name.as_str(), errors.len()), ("later", 1));

    let body = json!({"selector": "a/b", "enabled": true, "user_paths": ["/team", "/a/../b"]}).to_string();
    let documents = vec![document::<model_overrides::ModelOverrides>("a/b", &body)];
    let (found, errors) = compile::<model_overrides::ModelOverrides>(documents);
    assert!(found["a/b"].enabled);
    let reasons: Vec<&str> = errors.iter().map(|error| error.error).collect();
    assert_eq!(reasons, ["user_paths[1] is not a user path and is ignored"]);
}

#[test]
fn fallbacks_deny_what_a_document_would_have_limited() {
    let denied = model_overrides::ModelOverrides::fallback("a/b").unwrap();
    assert!(!denied.enabled && denied.selector == "a/b");
    assert_eq!(budget_settings::Settings::fallback("settings"), Some(StoredSettings::Unknown));
    let everything = ClosedScope { user_path: UserPath::root(), tenant: None };
    assert_eq!(budgets::Budgets::fallback("no name"), Some(StoredBudget::Closed(everything)));
}

#[test]
fn a_kind_is_in_one_list() {
    let all: Vec<&str> =
        [RouteSections::KINDS, BudgetSections::KINDS, WorkflowSections::KINDS, &[AuthKey::KIND]].concat();
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    assert!(all.contains(&Budget::KIND));
}
