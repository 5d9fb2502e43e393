//! Tests of workflow documents: scopes, payloads and their bounds.

use super::*;
use crate::strategy::Strategy;

fn scope(provider: &str, model: &str, path: &str) -> WorkflowScope {
    let member = |text: &str| Some(text.to_owned());
    WorkflowScope {
        scope_provider_name: member(provider),
        scope_model: member(model),
        scope_user_path: member(path),
    }
    .normalized()
    .unwrap()
}

#[test]
fn scopes_have_types_and_distinct_keys() {
    let cases = [
        (scope("", "", ""), WorkflowScopeType::Global, "global"),
        (scope("openai", "", ""), WorkflowScopeType::Provider, "provider=openai"),
        (scope("openai", "gpt-4o", ""), WorkflowScopeType::ProviderModel, "provider=openai model=gpt-4o"),
        (scope("", "", "/team/"), WorkflowScopeType::Path, "path=/team"),
        (scope("openai", "", "/team"), WorkflowScopeType::ProviderPath, "provider=openai path=/team"),
        (
            scope("o", "m=1 %20", "/a b/c"),
            WorkflowScopeType::ProviderModelPath,
            "provider=o model=m=1%20%2520 path=/a%20b/c",
        ),
    ];
    for (scope, scope_type, key) in cases {
        scope.validate().unwrap();
        assert_eq!((scope.scope_type(), &*scope.key()), (scope_type, key));
        assert_eq!(WorkflowScope::from_key(key), Some(scope));
    }
}

#[test]
fn other_texts_are_not_keys() {
    for text in ["", "provider", "model=m provider=p", "path=team", "path=/ path=/", "colour=red"] {
        assert_eq!(WorkflowScope::from_key(text), None, "{text}");
    }
}

#[test]
fn a_scope_that_matches_nothing_is_refused() {
    let param = |scope: WorkflowScope| scope.validate().unwrap_err().param;
    assert_eq!(param(scope("", "gpt-4o", "")).as_deref(), Some("scope.scope_model"));
    assert_eq!(param(scope("a\n", "", "")).as_deref(), Some("scope.scope_provider_name"));
    let path = WorkflowScope { scope_user_path: Some("team".into()), ..WorkflowScope::default() };
    assert_eq!(path.normalized().unwrap_err().param.as_deref(), Some("scope.scope_user_path"));
}

#[test]
fn a_payload_has_defaults_and_bounds() {
    let payload: WorkflowPayload = serde_json::from_str("{}").unwrap();
    assert_eq!(payload, WorkflowPayload::default());
    let payload: WorkflowPayload = serde_json::from_str(
        r#"{"features": {"audit": false}, "routing": {"strategy": "cost", "retries": 0}}"#,
    )
    .unwrap();
    assert_eq!(payload.features, WorkflowFeatures { audit: false, ..WorkflowFeatures::default() });
    assert_eq!(payload.routing.unwrap().strategy, Some(Strategy::Cost));
    for (text, param) in [
        (r#"{"schema_version": 2}"#, "workflow_payload.schema_version"),
        (r#"{"routing": {"timeout_ms": 0}}"#, "workflow_payload.routing.timeout_ms"),
        (r#"{"routing": {"retries": 11}}"#, "workflow_payload.routing.retries"),
    ] {
        let payload: WorkflowPayload = serde_json::from_str(text).unwrap();
        assert_eq!(payload.validate().unwrap_err().param.as_deref(), Some(param));
    }
    assert!(serde_json::from_str::<WorkflowPayload>(r#"{"feature": {}}"#).is_err());
}

#[test]
fn budgets_need_usage() {
    let without_usage = WorkflowFeatures { usage: false, ..WorkflowFeatures::default() };
    let expected = WorkflowFeatures { budget: false, ..without_usage };
    assert_eq!(WorkflowFeatures::default().restricted_by(without_usage), expected);
}
