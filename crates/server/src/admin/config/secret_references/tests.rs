//! Tests of secrets in documents: references, masks, and texts that look like them.

use serde_json::json;

use super::*;

fn members(value: Value) -> Members {
    serde_json::from_value(value).unwrap()
}

#[test]
fn every_secret_has_a_variable_of_its_own() {
    let settings = SecretSettings::default();
    let mut references = SecretReferences::new(&settings);
    let provider = |key: &str| members(json!({"type": "openai", "api_key": key, "headers": {"x-team": "a"}}));
    let first = references.replace(ConfigKind::Provider, "my-lab", provider("sk-1"));
    let second = references.replace(ConfigKind::Provider, "my_lab", provider("sk-2"));
    assert_eq!(first["api_key"], "${MY_LAB_API_KEY}");
    assert_eq!(first["headers"]["x-team"], "${MY_LAB_HEADER_X_TEAM}");
    assert_eq!(second["api_key"], "${MY_LAB_API_KEY_2}");
    let keyless = references.replace(ConfigKind::Provider, "c", members(json!({"type": "ollama"})));
    assert_eq!(keyless, members(json!({"type": "ollama"})));
}

#[test]
fn a_text_that_looks_like_a_reference_is_escaped() {
    let settings = SecretSettings::default();
    let mut references = SecretReferences::new(&settings);
    let config = members(json!({"type": "system_prompt", "config": {"content": "Say ${HOME} and $${x}"}}));
    let exported = references.replace(ConfigKind::Guardrail, "g", config);
    assert_eq!(exported["config"]["content"], "Say $${HOME} and $$${x}");
}

#[test]
fn a_secret_setting_that_this_version_does_not_know_is_not_shown() {
    let mut values = SettingValues::default();
    values.set("later.token", true, Some("hidden".to_owned()));
    let settings = SecretSettings::new(&[], Some(&values));
    let stored = members(json!({"later.token": "hidden", "log.level": "debug"}));
    let exported = SecretReferences::new(&settings).replace(ConfigKind::Settings, "settings", stored.clone());
    assert_eq!(exported, members(json!({"later.token": "${LATER_TOKEN}", "log.level": "debug"})));
    let shown = masked(ConfigKind::Settings, &settings, &stored);
    assert_eq!(shown, members(json!({"later.token": "***", "log.level": "debug"})));
}

#[test]
fn secrets_that_are_not_values_are_named() {
    let settings = SecretSettings::default();
    let check = |kind, value: Value| {
        check_resolved(kind, &settings, &members(value)).err().and_then(|fault| fault.param)
    };
    for reference in ["${LAB_API_KEY}", "${LAB_API_KEY:-x}", "Bearer ${TOKEN}", "$${LAB}", "***"] {
        let found = check(ConfigKind::Provider, json!({"api_key": reference}));
        assert_eq!(found.as_deref(), Some("api_key"), "{reference}");
    }
    for value in ["sk-1", "a$b{c}", "${", "${}", "${a b}", "", "****"] {
        assert_eq!(check(ConfigKind::Provider, json!({"api_key": value})), None, "{value}");
    }
    let headers = json!({"headers": {"x-a": "plain", "x-b": "${B}"}});
    assert_eq!(check(ConfigKind::Provider, headers.clone()).as_deref(), Some("headers.x-b"));
    let config = json!({"config": headers});
    assert_eq!(check(ConfigKind::Guardrail, config).as_deref(), Some("config.headers.x-b"));
    assert_eq!(check(ConfigKind::AuthKey, json!({"value": "${CI_KEY}"})).as_deref(), Some("value"));
    let text = json!({"config": {"content": "Say ${HOME}"}});
    assert_eq!(check(ConfigKind::Guardrail, text), None, "only secrets are references");
}
