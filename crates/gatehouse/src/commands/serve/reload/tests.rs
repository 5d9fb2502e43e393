//! Tests of the layers of settings with stored values, and of what the admin API shows of them.

use std::collections::BTreeMap;

use server::SettingLayer;

use super::*;

fn values(pairs: &[(&str, &str)]) -> SettingValues {
    let mut values = SettingValues::default();
    for (name, value) in pairs {
        let secret = TABLE.iter().any(|setting| setting.path == *name && setting.secret);
        values.set(name, secret, Some((*value).to_owned()));
    }
    values
}

fn load(environment: &[(&str, &str)], file: &str, stored: &SettingValues) -> Settings {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("gatehouse.yaml"), file).unwrap();
    let environment: BTreeMap<String, String> =
        environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    settings::load_with(environment, directory.path(), None, &["openai"], &usable(stored)).unwrap()
}

/// The settings of a file alone.
pub(super) fn load_file(file: &str) -> Settings {
    load(&[], file, &SettingValues::default())
}

fn state(states: &[SettingState], name: &str) -> SettingState {
    states.iter().find(|state| state.name == name).unwrap().clone()
}

#[test]
fn stored_values_lie_between_file_and_environment() {
    let stored = values(&[("log.level", "debug"), ("server.port", "9001"), ("cache.ttl", "2h")]);
    let file = "log: {level: warn}\nserver: {port: 9000}\n";
    let settings = load(&[("PORT", "9002")], file, &stored);
    assert_eq!((&*settings.log.level, settings.server.port), ("debug", 9002));
    let states = listing::states(&settings, &settings);
    for (name, source, value) in [
        ("log.level", SettingLayer::Admin, "debug"),
        ("server.port", SettingLayer::Env, "9002"),
        ("cache.ttl", SettingLayer::Admin, "2h"),
        ("server.host", SettingLayer::Default, "127.0.0.1"),
    ] {
        let found = state(&states, name);
        assert_eq!((found.source, &*found.value), (source, value), "{name}");
    }
    assert!(state(&states, "server.port").locked_reason.unwrap().contains("PORT"));
    assert!(!state(&states, "log.level").locked && !state(&states, "log.level").restart_required);
    assert!(!state(&states, "cache.ttl").restart_required);
    let port = state(&states, "server.port");
    assert!(port.restart_required && port.restart_reason.unwrap().contains("listener"));
}

#[test]
fn a_value_that_needs_a_restart_is_marked_until_then() {
    let old = load(&[], "", &SettingValues::default());
    let new = load(&[], "", &values(&[("cache.max_bytes", "2M"), ("log.level", "debug")]));
    let mut in_force = old;
    let changes = Changes::between(&in_force, &new);
    assert_eq!(
        (changes.live.clone(), changes.needs_restart.clone()),
        (vec!["log.level"], vec!["cache.max_bytes"])
    );
    keep(&mut in_force, &new, &changes);
    let states = listing::states(&new, &in_force);
    assert!(
        state(&states, "cache.max_bytes").restart_pending && !state(&states, "log.level").restart_pending
    );
    assert_eq!(state(&states, "cache.max_bytes").value, "2M");
}

#[test]
fn locked_and_unknown_settings_are_not_read_from_storage() {
    let stored = values(&[
        ("server.master_key", "gm_other"),
        ("storage.type", "postgres"),
        ("upstream.allow_private", "true"),
    ]);
    assert_eq!(usable(&stored), SettingValues::default());
    let states = load(&[], "", &SettingValues::default());
    let states = listing::states(&states, &states);
    for name in [
        "server.master_key",
        "storage.data_dir",
        "admin.endpoints_enabled",
        "upstream.allow_private",
        "server.trusted_proxies",
        "cli_tools.apply_enabled",
        "tokens.issuers",
        "identity.oidc_providers",
        "edition.capabilities",
        "proxy.https",
        "webhooks.url",
        "webhooks.secret",
        "semantic_cache.qdrant_url",
        "semantic_cache.qdrant_api_key",
    ] {
        assert!(state(&states, name).locked && state(&states, name).never_stored, "{name}");
    }
    assert!(!state(&states, "webhooks.events").locked && !state(&states, "cli_tools.enabled").locked);
    assert_eq!(usable(&values(&[("no.setting", "x")])), SettingValues::default());
}

#[test]
fn secrets_are_shown_as_set_only() {
    let settings = load(&[("HTTPS_PROXY", "http://user:hidden@proxy:1")], "", &SettingValues::default());
    let found = state(&listing::states(&settings, &settings), "proxy.https");
    assert_eq!((&*found.value, found.secret), ("***", true));
}

#[test]
fn faults_name_their_setting() {
    let stored = values(&[("server.body_size_limit", "1G")]);
    let faults = SettingsInput { working_directory: "/nonexistent".into(), config: None }.load(&stored);
    let fault = listing::fault(&faults.unwrap_err()[0]);
    assert_eq!(fault.name, Some("server.body_size_limit"));
    assert!(fault.message.contains("between 1K and 100M"), "{}", fault.message);
}
