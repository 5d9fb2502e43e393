//! The settings of the gateway: defaults, then the YAML file, then the values stored through the admin API, then the
//! environment. Nothing else reads the environment.

mod cache;
mod declare;
mod dotenv;
mod edition;
mod expand;
mod fault;
mod file;
mod identity;
mod json_value;
pub mod key_strength;
#[cfg(test)]
mod markdown;
mod nearest;
mod providers;
mod reader;
mod restart;
mod routing;
mod secret_files;
mod spending;
mod table;
mod value;
pub mod yaml;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use domain::resources::setting_values::SettingValues;
use domain::secret::Secret;

pub use cache::SemanticStore;
pub use fault::SettingsFault;
pub use json_value::to_json;
#[cfg(test)]
pub use markdown::settings_markdown;
pub use restart::restart_reason;
pub use table::*;
pub use value::{
    Demo, Edition, FailMode, LogFormat, PassthroughUnmetered, StorageType, UnpricedPolicy, Value, network,
};

use reader::Reader;

/// The configuration file that is read by default.
pub const DEFAULT_FILE: &str = "gatehouse.yaml";

/// One setting as declared in the table.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The name in YAML, as a dotted path.
    pub path: &'static str,
    /// The name of the environment variable.
    pub env: &'static str,
    /// The default as written in YAML; empty when there is none.
    pub default: &'static str,
    pub doc: &'static str,
    /// Description of valid values, as a noun: "a whole number".
    pub kind: &'static str,
    pub secret: bool,
    /// Whether the value is a list of maps in YAML, and JSON elsewhere.
    pub structured: bool,
}

/// A section of the YAML file.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    pub name: &'static str,
    pub doc: &'static str,
}

/// The layer that a setting's value comes from. Values from the environment cannot be changed at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingSource {
    Default,
    File,
    /// The admin API, whose values are in storage.
    Admin,
    Env,
}

/// A setting with the origin of its value and the part of it that may be shown.
#[derive(Clone, Debug)]
pub struct SettingOrigin {
    pub setting: &'static Setting,
    pub source: SettingSource,
    /// The place to edit the value: `environment`, `.env`, a `_FILE` variable, the admin API, or the configuration file.
    pub location: String,
    pub shown: String,
    /// The effective value, to detect changes on reload.
    pub value: Secret,
}

/// Loads the settings from file and environment; returns all faults, not only the first.
pub fn load(
    environment: BTreeMap<String, String>,
    working_directory: &Path,
    config: Option<&Path>,
    vendor_names: &[&str],
) -> Result<Settings, Vec<SettingsFault>> {
    load_with(environment, working_directory, config, vendor_names, &SettingValues::default())
}

/// Loads the settings from everything they depend on, with the values that were stored through the admin API.
pub fn load_with(
    environment: BTreeMap<String, String>,
    working_directory: &Path,
    config: Option<&Path>,
    vendor_names: &[&str],
    stored: &SettingValues,
) -> Result<Settings, Vec<SettingsFault>> {
    let mut faults = Vec::new();
    let (environment, locations) =
        complete_environment(environment, working_directory, vendor_names, &mut faults);
    let config_file = choose_file(&environment, working_directory, config);
    let contents = file::read(config_file.as_deref(), &environment, &mut faults);

    let mut reader = Reader::new(contents.values, stored, &environment, &locations, faults);
    let mut settings = Settings::read(&mut reader);
    let Reader { mut faults, origins, .. } = reader;
    check_together(&settings, &mut faults);
    check_provider_types(&settings, vendor_names, &mut faults);
    settings.providers = providers::gather(
        contents.providers,
        &environment,
        vendor_names,
        &mut settings.warnings,
        &mut faults,
    );
    settings.warnings.extend(nearest::suspicious_names(&environment, vendor_names));
    settings.resources = contents.resources;
    settings.sources = origins;
    settings.config_file = config_file;
    if faults.is_empty() { Ok(settings) } else { Err(faults) }
}

/// Completes the environment with `.env` and resolves `_FILE` variables; also returns the origin of each variable that
/// the process was not started with.
fn complete_environment(
    process: BTreeMap<String, String>,
    working_directory: &Path,
    vendor_names: &[&str],
    faults: &mut Vec<SettingsFault>,
) -> (BTreeMap<String, String>, BTreeMap<String, String>) {
    let mut environment = dotenv::overlay(process.clone(), working_directory, faults);
    let added = environment.keys().filter(|name| !process.contains_key(*name));
    let mut locations: BTreeMap<String, String> =
        added.map(|name| (name.clone(), ".env".to_owned())).collect();
    for name in secret_files::resolve(&mut environment, working_directory, vendor_names, faults) {
        locations.insert(name.clone(), format!("{name}_FILE"));
    }
    (environment, locations)
}

/// The variables of the process, completed by `.env` and `_FILE` variables.
pub fn variables(
    working_directory: &Path,
    vendor_names: &[&str],
) -> Result<BTreeMap<String, String>, Vec<SettingsFault>> {
    let mut faults = Vec::new();
    let (environment, _) =
        complete_environment(process_environment(), working_directory, vendor_names, &mut faults);
    if faults.is_empty() { Ok(environment) } else { Err(faults) }
}

/// Reads the environment of the process; nothing else does.
pub fn process_environment() -> BTreeMap<String, String> {
    let text = |name: std::ffi::OsString| name.into_string().ok();
    std::env::vars_os().filter_map(|(name, value)| Some((text(name)?, text(value)?))).collect()
}

/// The home directory of the user that runs this process.
pub fn home_directory() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| home.is_absolute())
}

impl StorageSettings {
    /// The database file, by default in the data directory.
    pub fn sqlite_file(&self) -> PathBuf {
        self.sqlite_path.clone().unwrap_or_else(|| self.data_dir.join("gatehouse.db"))
    }
}

fn choose_file(
    environment: &BTreeMap<String, String>,
    working_directory: &Path,
    config: Option<&Path>,
) -> Option<PathBuf> {
    let named = environment.get("GATEWAY_CONFIG").filter(|name| !name.is_empty()).map(Path::new);
    match config.or(named) {
        Some(path) => Some(working_directory.join(path)),
        None => Some(working_directory.join(DEFAULT_FILE)).filter(|path| path.exists()),
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    address.map_or(host.eq_ignore_ascii_case("localhost"), |address| address.is_loopback())
}

/// Checks the provider types that settings name.
fn check_provider_types(settings: &Settings, vendor_names: &[&str], faults: &mut Vec<SettingsFault>) {
    let named = settings.server.allow_client_credentials.iter();
    let named = named.map(|name| name.split_once('@').map_or(name.as_str(), |(name, _)| name));
    for name in named.filter(|name| !vendor_names.contains(name)) {
        let message =
            format!("names '{name}', which is not a provider type: use {}", vendor_names.join(", "));
        faults
            .push(SettingsFault::new("server.allow_client_credentials (ALLOW_CLIENT_CREDENTIALS)", message));
    }
}

/// Checks that involve several settings.
fn check_together(settings: &Settings, faults: &mut Vec<SettingsFault>) {
    if settings.storage.kind == StorageType::Postgres && settings.storage.postgres_url.is_none() {
        let message = "is needed because storage.type (STORAGE_TYPE) is postgres";
        faults.push(SettingsFault::new("storage.postgres_url (POSTGRES_URL)", message));
    }
    faults.extend(settings.capabilities().err());
    if settings.webhooks.url.is_some() && settings.webhooks.secret.is_none() {
        let message = "is needed because webhooks.url (WEBHOOKS_URL) is set";
        faults.push(SettingsFault::new("webhooks.secret (WEBHOOKS_SECRET)", message));
    }
    faults.extend(identity::faults(settings));
    let server = &settings.server;
    if let Some(weakness) = server.master_key.as_ref().and_then(key_strength::weakness)
        && !is_loopback(&server.host)
    {
        let message = format!("{weakness}; a gateway that listens on {} needs a strong one", server.host);
        faults.push(SettingsFault::new("server.master_key (GATEWAY_MASTER_KEY)", message));
    }
}

#[cfg(test)]
mod tests;
