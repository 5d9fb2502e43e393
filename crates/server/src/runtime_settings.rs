//! The settings of the process, as the admin API shows and changes them. The executable, which has the table of
//! settings and reads file and environment, implements them.

use domain::resources::setting_values::SettingValues;
use futures_util::future::BoxFuture;
use serde::Serialize;
use utoipa::ToSchema;

/// The layer that the value of a setting comes from; each layer overrides the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SettingLayer {
    Default,
    /// gatehouse.yaml
    File,
    /// The admin API
    Admin,
    /// The environment
    Env,
}

/// A setting with its value.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct SettingState {
    /// Name in YAML, as a dotted path
    pub name: &'static str,
    /// Name of the environment variable
    pub env: &'static str,
    /// As it is written in YAML; `***` for a secret that is set, empty without a value
    pub value: String,
    /// Empty without a default
    pub default: &'static str,
    pub source: SettingLayer,
    /// Whether the admin API cannot change it
    pub locked: bool,
    /// Whether it is locked whatever its source is: it cannot be stored
    #[serde(skip)]
    pub never_stored: bool,
    /// Why it is locked, and where it can be changed
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locked_reason: Option<String>,
    /// Whether a change takes effect after a restart only
    pub restart_required: bool,
    /// Why a change takes effect after a restart only
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart_reason: Option<&'static str>,
    /// Whether this value is not in force yet and waits for a restart
    pub restart_pending: bool,
    pub secret: bool,
    /// Valid values, e.g. `a whole number`
    pub kind: &'static str,
    pub description: &'static str,
}

/// The reason why a value cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingFault {
    /// The setting; `None` if the fault is not about one of them.
    pub name: Option<&'static str>,
    pub message: String,
}

pub trait RuntimeSettings: Send + Sync {
    /// All settings, in the order of the documentation.
    fn list(&self) -> Vec<SettingState>;

    /// Checks values of the admin API together with those of file and environment.
    fn check(&self, values: &SettingValues) -> Result<(), SettingFault>;

    /// Reads file, environment and stored values again, and applies those that can change without a restart. With a
    /// fault, nothing changes.
    fn reload(&self) -> BoxFuture<'_, Result<(), String>>;
}
