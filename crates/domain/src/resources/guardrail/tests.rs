//! Tests of guardrail documents: defaults and validation.

use serde_json::{Value, json};

use super::*;

fn read(value: Value) -> Guardrail {
    serde_json::from_value(value).unwrap()
}

#[test]
fn a_definition_has_defaults_and_reads_back() {
    let guardrail = read(json!({"name": "secrets", "type": "pii_redact", "config": {}}));
    assert_eq!((guardrail.direction, guardrail.mode), (Direction::Both, GuardrailMode::Enforce));
    assert_eq!((guardrail.on_error, guardrail.on_unreadable), (OnError::Block, OnUnreadable::Allow));
    guardrail.validate().unwrap();
    let written = serde_json::to_value(&guardrail).unwrap();
    assert_eq!(written["type"], "pii_redact");
    assert_eq!(read(written), guardrail);
}

#[test]
fn invalid_definitions_name_the_field() {
    let cases = [
        (json!({"name": "a/b", "type": "pii_redact", "config": {}}), "name"),
        (json!({"name": "a", "type": "regex_block", "config": {"patterns": []}}), "config.patterns"),
        (json!({"name": "a", "type": "length_limit", "config": {}}), "config"),
        (json!({"name": "a", "type": "system_prompt", "config": {"content": ""}}), "config.content"),
        (
            json!({"name": "a", "type": "system_prompt", "config": {"content": "x"}, "direction": "output"}),
            "direction",
        ),
        (json!({"name": "a", "type": "prompt_injection", "config": {}, "direction": "log"}), "direction"),
        (
            json!({"name": "a", "type": "length_limit", "config": {"max_chars": 1}, "direction": "log"}),
            "direction",
        ),
    ];
    for (body, param) in cases.into_iter().chain(altering_cases()) {
        assert_eq!(read(body.clone()).validate().unwrap_err().param.as_deref(), Some(param), "{body}");
    }
    let unknown = json!({"name": "a", "type": "pii_redact", "config": {"kind": []}});
    assert!(serde_json::from_value::<Guardrail>(unknown).is_err());
}

/// Definitions of the type `llm_based_altering` that are refused, with the field.
fn altering_cases() -> Vec<(Value, &'static str)> {
    let definition = |config: Value, direction: &str| json!({"name": "a", "type": "llm_based_altering", "config": config, "direction": direction});
    vec![
        (definition(json!({"model": "m", "prompt": "p"}), "log"), "direction"),
        (definition(json!({"model": " ", "prompt": "p"}), "both"), "config.model"),
        (definition(json!({"model": "m", "prompt": ""}), "both"), "config.prompt"),
        (definition(json!({"model": "m", "prompt": "p", "max_tokens": 0}), "both"), "config.max_tokens"),
        (
            definition(json!({"model": "m", "prompt": "p", "skip_content_prefix": "x".repeat(1001)}), "both"),
            "config.skip_content_prefix",
        ),
    ]
}
