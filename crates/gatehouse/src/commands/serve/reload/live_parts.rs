//! The parts of the running gateway that a reload replaces: settings of calls, of the server, of webhooks and of
//! background tasks. Values that need a restart stay as they are.

use std::sync::Arc;

use pipeline::gateway::Gateway;
use pipeline::policy::{CachePolicy, Policy, SemanticPolicy};
use pipeline::services::live_value::{LiveValue, TooManyVersions};
use server::{Config, IdentityConfig};
use tokio::sync::watch;

use super::super::assemble;
use super::super::background_tasks::BackgroundSettings;
use crate::settings::Settings;

/// The parts that are replaced.
pub struct LiveParts {
    pub gateway: Arc<Gateway>,
    pub config: Arc<LiveValue<Config>>,
    pub background: watch::Sender<BackgroundSettings>,
}

impl LiveParts {
    /// Fails if the settings whose names are in `changed` can no longer be applied. Called before a reload changes
    /// anything.
    pub fn check(&self, changed: &[&str]) -> Result<(), String> {
        let settings = self.gateway.policy.is_replaceable() && self.config.is_replaceable();
        let receiver = !changed.iter().any(|path| path.starts_with("webhooks."))
            || self.gateway.webhook_events.is_replaceable();
        if changed.is_empty() || (settings && receiver) { Ok(()) } else { Err(exhausted(TooManyVersions)) }
    }

    /// Applies the settings whose names are in `changed`.
    pub fn apply(&self, settings: &Settings, changed: &[&str]) -> Result<(), String> {
        if !changed.is_empty() {
            self.gateway.policy.replace(policy(settings, &self.gateway.policy)).map_err(exhausted)?;
            self.config.replace(config(settings, &self.config)).map_err(exhausted)?;
        }
        if changed.iter().any(|path| path.starts_with("webhooks.")) {
            let receiver = assemble::webhook_receiver(settings);
            self.gateway.webhook_events.set_receiver(receiver).map_err(exhausted)?;
        }
        self.background.send_if_modified(|running| {
            let new = BackgroundSettings::of(settings);
            let is_changed = *running != new;
            *running = new;
            is_changed
        });
        Ok(())
    }
}

fn exhausted(_: TooManyVersions) -> String {
    "the settings have changed too often since the start: restart the gateway".to_owned()
}

/// The settings of calls, with the running values of those that need a restart.
fn policy(settings: &Settings, running: &Policy) -> Policy {
    let new = assemble::policy(settings);
    let semantic = SemanticPolicy {
        enabled: running.cache.semantic.enabled,
        max_entries: running.cache.semantic.max_entries,
        ..new.cache.semantic
    };
    let cache = CachePolicy { max_bytes: running.cache.max_bytes, semantic, ..new.cache };
    Policy { cache, ..new }
}

/// The settings of the server, with the running values of those that need a restart.
fn config(settings: &Settings, running: &Config) -> Config {
    let new = assemble::server_config(settings);
    let has_first_admin = running.identity.has_first_admin;
    Config {
        base_path: running.base_path.clone(),
        metrics_endpoint: running.metrics_endpoint.clone(),
        admin_enabled: running.admin_enabled,
        dashboard_enabled: running.dashboard_enabled,
        swagger_enabled: running.swagger_enabled,
        identity: IdentityConfig { has_first_admin, ..new.identity },
        ..new
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::tests::load_file;
    use super::*;

    #[test]
    fn settings_of_calls_change_and_those_of_the_start_stay() {
        let running = assemble::policy(&load_file(""));
        let new = load_file(
            "server: {body_size_limit: 1M, body_timeout: 5s, enable_passthrough_routes: false}\n\
             logging: {enabled: true, body_limit: 2K}\n\
             upstream: {ttft_timeout: 3s, stream_heartbeat: 0}\n\
             routing: {retry_max_retries: 0, hedge_max_share: 0.5}\n\
             models: {enabled_by_default: false, keep_only_aliases: true}\n\
             guardrails: {enabled: false}\nusage: {enabled: false}\n\
             cache: {enabled: true, ttl: 5m, max_bytes: 1M}\n\
             semantic_cache: {enabled: true, mode: serve, threshold: 0.5, max_entries: 7}\n",
        );
        let policy = policy(&new, &running);
        assert_eq!((policy.body_limit, policy.body_timeout), (1 << 20, Duration::from_secs(5)));
        assert!(!policy.passthrough.enabled && policy.audit.enabled && policy.audit.body_limit == 2048);
        assert_eq!(policy.first_event_timeout, Duration::from_secs(3));
        assert_eq!((policy.retries.max, policy.hedge_max_share), (0, 0.5));
        assert!(!policy.models_enabled_by_default && policy.keep_only_aliases);
        assert!(!policy.guardrails && !policy.accounting);
        assert!(policy.cache.enabled && policy.cache.ttl == Duration::from_secs(300));
        assert_eq!((policy.cache.semantic.threshold, policy.cache.semantic.mode.as_str()), (0.5, "serve"));
        let kept = (policy.cache.max_bytes, policy.cache.semantic.enabled, policy.cache.semantic.max_entries);
        assert_eq!(kept, (64 << 20, false, 10_000), "these need a restart");
    }

    #[test]
    fn settings_of_the_server_change_and_routes_stay() {
        let running = assemble::server_config(&load_file(""));
        let new = load_file(
            "server: {base_path: /gw, cors_origins: ['https://a.example'], trusted_proxies: [10.0.0.0/8], \
             ready_needs_provider: true}\ncombos: {enabled: false}\ncli_tools: {enabled: false}\n\
             metrics: {enabled: false}\nadmin: {ui_enabled: false}\n",
        );
        let config = config(&new, &running);
        assert_eq!((config.cors_origins.len(), config.trusted_proxies.len()), (1, 1));
        assert!(config.ready_needs_provider && !config.combos_enabled && !config.cli_tools.enabled);
        let kept = (&*config.base_path, config.metrics_endpoint.as_deref(), config.dashboard_enabled);
        assert_eq!(kept, ("/", Some("/metrics"), true), "routes need a restart");
    }
}
