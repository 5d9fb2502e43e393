//! Configuration reload on SIGHUP: applies the settings that can change without a restart.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use domain::resources::auth_key;
use domain::secret::Secret;
use pipeline::gateway::Gateway;
use pipeline::refresh::{Refresher, StaticConfig};
use tokio::signal::unix::Signal;

use super::assemble;
use crate::commands::{check, vendor_names};
use crate::logging::LogLevel;
use crate::master_key;
use crate::settings::{self, Settings};

/// Settings that a reload applies. Providers are reloaded too; every other setting needs a restart.
const LIVE: [&str; 5] =
    ["server.master_key", "log.level", "log.requests", "demo.enabled", "spending.budgets"];

/// The running configuration that a reload compares with, and the components it changes.
pub struct Reloader {
    pub config: Option<PathBuf>,
    pub settings: Settings,
    pub refresher: Arc<Refresher>,
    pub gateway: Arc<Gateway>,
    pub log_level: LogLevel,
}

/// The differences between the running and the new configuration.
#[derive(Debug, Default, PartialEq, Eq)]
struct Changes {
    live: Vec<&'static str>,
    needs_restart: Vec<&'static str>,
    providers: bool,
}

impl Reloader {
    /// Reloads on every signal, until it is dropped.
    pub async fn run(mut self, mut hangup: Signal) {
        while hangup.recv().await.is_some() {
            self.reload().await;
        }
    }

    /// Loads and applies the configuration; one with a fault changes nothing.
    async fn reload(&mut self) {
        let loaded = settings::load(
            settings::process_environment(),
            Path::new("."),
            self.config.as_deref(),
            &vendor_names(),
        );
        let settings = match loaded {
            Ok(settings) => settings,
            Err(faults) => {
                for fault in &faults {
                    tracing::error!(%fault, "configuration fault");
                }
                return tracing::error!("configuration not reloaded: the running one stays in force");
            }
        };
        let changes = Changes::between(&self.settings, &settings);
        if let Err(reason) = self.apply(&settings).await {
            return tracing::error!(%reason, "configuration not reloaded: the running one stays in force");
        }
        for warning in &settings.warnings {
            tracing::warn!("{warning}");
        }
        for fault in check::ineffective(&settings) {
            tracing::warn!("{fault}");
        }
        for setting in &changes.needs_restart {
            tracing::warn!(setting, "setting changed, restart required");
        }
        let changed = changes.live.join(", ");
        tracing::info!(changed, providers_changed = changes.providers, "configuration reloaded");
        self.keep(settings, &changes);
        if changes.providers {
            self.refresher.discover().await;
        }
    }

    async fn apply(&self, settings: &Settings) -> Result<(), String> {
        let data_dir = &self.settings.storage.data_dir;
        let master = settings.server.master_key.as_ref();
        let master = master_key::find_or_make(master, data_dir, &*self.gateway.entropy)
            .map_err(|error| format!("the master key cannot be read: {error}"))?;
        let mut secrets = self.refresher.configuration().secrets;
        // The old key stays on the redaction list: it may still be in use elsewhere.
        if !secrets.contains(&master.key) {
            secrets.push(master.key.clone());
        }
        let configuration = StaticConfig { secrets, ..self.configuration(settings) };
        let digest = auth_key::digest(master.key.reveal());
        self.refresher.reconfigure(configuration, digest).await.map_err(|error| error.to_string())?;
        self.log_level.set(&settings.log.level);
        // Relaxed is enough: a call that reads the old value logs or omits one line.
        self.gateway.policy.log_requests.store(settings.log.requests, Ordering::Relaxed);
        Ok(())
    }

    /// Reloadable values from the new settings, the rest from the running configuration.
    fn configuration(&self, settings: &Settings) -> StaticConfig {
        StaticConfig {
            providers: settings.providers.clone(),
            demo: assemble::demo(settings),
            budgets: settings.spending.budgets.0.clone(),
            ..self.refresher.configuration()
        }
    }

    /// Records the configuration in force. A setting that needs a restart keeps its old value, so that the next reload
    /// reports it again.
    fn keep(&mut self, new: Settings, changes: &Changes) {
        let new_values: Vec<(&str, Secret)> =
            new.sources.iter().map(|origin| (origin.setting.path, origin.value.clone())).collect();
        for origin in &mut self.settings.sources {
            let value = new_values.iter().find(|(path, _)| *path == origin.setting.path);
            if let Some((_, value)) = value.filter(|(path, _)| changes.live.contains(path)) {
                origin.value = value.clone();
            }
        }
        self.settings.providers = new.providers;
    }
}

impl Changes {
    fn between(old: &Settings, new: &Settings) -> Self {
        let mut changes = Self { providers: old.providers != new.providers, ..Self::default() };
        for origin in &new.sources {
            let path = origin.setting.path;
            let before = old.sources.iter().find(|before| before.setting.path == path);
            if before.is_none_or(|before| before.value == origin.value) {
                continue;
            }
            let list = if LIVE.contains(&path) { &mut changes.live } else { &mut changes.needs_restart };
            list.push(path);
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::TABLE;

    fn load(file: &str) -> Settings {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("gatehouse.yaml"), file).unwrap();
        settings::load(Default::default(), directory.path(), None, &["openai"]).unwrap()
    }

    #[test]
    fn live_settings_are_settings() {
        for path in LIVE {
            assert!(TABLE.iter().any(|setting| setting.path == path), "{path}");
        }
    }

    #[test]
    fn changes_that_need_a_restart_are_recognized() {
        let old = load("server: {port: 9000, master_key: gm_one}\nlog: {level: info}\n");
        let same = load("log:\n  level: info\nserver:\n  master_key: gm_one\n  port: 9000\n");
        assert_eq!(Changes::between(&old, &same), Changes::default());
        let new = load(
            "server: {port: 9001, master_key: gm_two}\nlog: {level: debug}\nproviders: {openai: {api_key: k}}\n",
        );
        let expected = Changes {
            live: vec!["server.master_key", "log.level"],
            needs_restart: vec!["server.port"],
            providers: true,
        };
        assert_eq!(Changes::between(&old, &new), expected);
    }
}
