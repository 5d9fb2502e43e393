//! The settings of a running gateway: reloaded on SIGHUP and after changes through the admin API, which apply those that
//! can change without a restart.

mod changes;
mod listing;
mod live_parts;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use domain::resources::auth_key;
use domain::resources::setting_values::{self, SettingValues};
use domain::secret::Secret;
use pipeline::refresh::{Refresher, StaticConfig};
use server::{RuntimeSettings, SettingFault, SettingState};
use store::{Store, StoreError};
use tokio::signal::unix::Signal;
use tokio::sync::Mutex;

use super::assemble;
use crate::commands::{check, vendor_names};
use crate::logging::LogLevel;
use crate::master_key;
use crate::settings::{self, Settings, SettingsFault, TABLE};
use changes::Changes;
pub use live_parts::LiveParts;

/// The files and variables that the settings are read from.
#[derive(Clone)]
pub struct SettingsInput {
    pub working_directory: PathBuf,
    pub config: Option<PathBuf>,
}

impl SettingsInput {
    pub fn new(config: Option<&Path>) -> Self {
        Self { working_directory: PathBuf::from("."), config: config.map(Path::to_owned) }
    }

    fn load(&self, stored: &SettingValues) -> Result<Settings, Vec<SettingsFault>> {
        let environment = settings::process_environment();
        settings::load_with(
            environment,
            &self.working_directory,
            self.config.as_deref(),
            &vendor_names(),
            &usable(stored),
        )
    }
}

/// The stored values of settings that this version has and that may be stored. Others are ignored, so that another
/// version can be started on the same storage.
fn usable(stored: &SettingValues) -> SettingValues {
    let mut values = SettingValues::default();
    for setting in TABLE.iter().filter(|setting| listing::lock(setting).is_none()) {
        if let Some(value) = stored.get(setting.path) {
            values.set(setting.path, setting.secret, Some(value.to_owned()));
        }
    }
    values
}

/// The values that were stored through the admin API.
async fn stored_values(store: &Store) -> Result<SettingValues, StoreError> {
    let stored = store.collection::<SettingValues>().get_readable(setting_values::NAME).await?;
    Ok(stored.map(|stored| stored.value).unwrap_or_default())
}

/// The settings of a start: those of file and environment, with the stored values. Stored values that are not valid are
/// logged and ignored, so that the gateway starts and they can be changed.
pub async fn at_start(settings: Settings, input: &SettingsInput, store: &Store) -> Result<Settings, String> {
    let stored = stored_values(store).await;
    let stored = stored.map_err(|error| format!("The settings cannot be read from storage: {error}"))?;
    if stored.names().next().is_none() {
        return Ok(settings);
    }
    Ok(input.load(&stored).unwrap_or_else(|faults| {
        for fault in &faults {
            tracing::error!(%fault, "stored settings ignored");
        }
        settings
    }))
}

/// The running configuration that a reload compares with, and the components it changes.
pub struct RunningSettings {
    pub input: SettingsInput,
    pub refresher: Arc<Refresher>,
    parts: LiveParts,
    pub log_level: LogLevel,
    /// The settings in force. A setting that needs a restart keeps the value of the start.
    in_force: Mutex<Settings>,
    shown: ArcSwap<Vec<SettingState>>,
}

impl RunningSettings {
    pub fn new(
        settings: Settings,
        input: SettingsInput,
        refresher: Arc<Refresher>,
        parts: LiveParts,
        log_level: LogLevel,
    ) -> Self {
        let shown = ArcSwap::from_pointee(listing::states(&settings, &settings));
        Self { input, refresher, parts, log_level, in_force: Mutex::new(settings), shown }
    }

    /// Reloads on every signal and on every change of the stored settings, until it is dropped.
    pub async fn run(self: Arc<Self>, mut hangup: Signal) {
        let mut stored = self.refresher.settings_revision();
        loop {
            tokio::select! {
                received = hangup.recv() => if received.is_none() { return },
                changed = stored.changed() => if changed.is_err() { return },
            }
            // Logged inside; the running settings stay in force.
            _ = self.reload_now().await;
        }
    }

    /// Loads and applies the configuration; one with a fault changes nothing.
    async fn reload_now(&self) -> Result<(), String> {
        let mut in_force = self.in_force.lock().await;
        let outcome = self.replace(&mut in_force).await;
        let providers_changed = outcome.inspect_err(|reason| {
            tracing::error!(%reason, "configuration not reloaded: the running one stays in force");
        })?;
        drop(in_force);
        if providers_changed {
            self.refresher.discover().await;
        }
        Ok(())
    }

    /// Replaces the settings in force; returns whether providers have changed.
    async fn replace(&self, in_force: &mut Settings) -> Result<bool, String> {
        let stored = stored_values(self.refresher.store()).await.map_err(|error| error.to_string())?;
        let settings = self.input.load(&stored).map_err(|faults| {
            for fault in &faults {
                tracing::error!(%fault, "configuration fault");
            }
            faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
        })?;
        let changes = Changes::between(in_force, &settings);
        self.apply(in_force, &settings, &changes).await?;
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
        let Changes { providers, resources, .. } = changes;
        tracing::info!(
            changed,
            providers_changed = providers,
            resources_changed = resources,
            "configuration reloaded"
        );
        keep(in_force, &settings, &changes);
        self.shown.store(Arc::new(listing::states(&settings, in_force)));
        Ok(changes.providers)
    }

    async fn apply(&self, in_force: &Settings, settings: &Settings, changes: &Changes) -> Result<(), String> {
        self.parts.check(&changes.live)?;
        let data_dir = &in_force.storage.data_dir;
        let master = settings.server.master_key.as_ref();
        let master = master_key::find_or_make(master, data_dir, &*self.parts.gateway.entropy)
            .map_err(|error| format!("the master key cannot be read: {error}"))?;
        let mut secrets = self.refresher.configuration().secrets;
        // The old ones stay on the redaction list: they may still be in use elsewhere.
        for secret in assemble::configured_secrets(settings).into_iter().chain([master.key.clone()]) {
            if !secrets.contains(&secret) {
                secrets.push(secret);
            }
        }
        let configuration = StaticConfig { secrets, ..self.configuration(settings) };
        let digest = auth_key::digest(master.key.reveal());
        self.refresher.reconfigure(configuration, digest).await.map_err(|error| error.to_string())?;
        self.log_level.set(&settings.log.level);
        self.parts.apply(settings, &changes.live)
    }

    /// Reloadable values from the new settings, the rest from the running configuration.
    fn configuration(&self, settings: &Settings) -> StaticConfig {
        StaticConfig {
            providers: settings.providers.clone(),
            demo: assemble::demo(settings),
            budgets: assemble::budgets(settings),
            documents: settings.resources.documents.clone(),
            combos: settings.combos.enabled,
            token_issuers: settings.tokens.issuers.list.clone(),
            ..self.refresher.configuration()
        }
    }
}

/// Records the configuration in force. A setting that needs a restart keeps its old value, so that the next reload
/// reports it again.
fn keep(in_force: &mut Settings, new: &Settings, changes: &Changes) {
    let new_values: Vec<(&str, Secret)> =
        new.sources.iter().map(|origin| (origin.setting.path, origin.value.clone())).collect();
    for origin in &mut in_force.sources {
        let value = new_values.iter().find(|(path, _)| *path == origin.setting.path);
        if let Some((_, value)) = value.filter(|(path, _)| changes.live.contains(path)) {
            origin.value = value.clone();
        }
    }
    in_force.providers = new.providers.clone();
    in_force.resources = new.resources.clone();
}

impl RuntimeSettings for RunningSettings {
    fn list(&self) -> Vec<SettingState> {
        (**self.shown.load()).clone()
    }

    fn check(&self, values: &SettingValues) -> Result<(), SettingFault> {
        match self.input.load(values) {
            Ok(_) => Ok(()),
            Err(faults) => Err(faults
                .first()
                .map(listing::fault)
                .unwrap_or(SettingFault { name: None, message: "The settings are not valid".to_owned() })),
        }
    }

    fn reload(&self) -> std::pin::Pin<Box<dyn Future<Output = Result<(), String>> + Send + '_>> {
        Box::pin(self.reload_now())
    }
}
