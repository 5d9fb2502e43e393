//! Guardrails: checks of the texts of calls. Workflows refer to them by name.

mod config;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Resource;
use super::provider::{is_header_name, is_header_value};
use crate::fault::{self, Fault};
use crate::user_path::UserPath;

pub use config::{
    AlteringConfig, ClassifierUse, GuardrailConfig, GuardrailType, InjectionAction, InjectionConfig,
    LengthConfig, MatchAction, PiiAction, PiiConfig, RegexConfig, Sensitivity, SystemPromptConfig,
    SystemPromptMode, TextRole, WebhookConfig,
};

const MAX_NAME: usize = 200;
const MAX_DESCRIPTION: usize = 2000;

/// A guardrail.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Guardrail {
    pub name: String,
    #[serde(flatten)]
    pub config: GuardrailConfig,
    #[serde(default)]
    pub direction: Direction,
    #[serde(default)]
    pub mode: GuardrailMode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The subtree whose calls it applies to; all if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_path: Option<UserPath>,
    #[serde(default)]
    pub on_error: OnError,
    #[serde(default)]
    pub on_unreadable: OnUnreadable,
    /// The headers of the requests of a webhook, which may have credentials.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
}

/// The texts that a guardrail inspects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Those of requests.
    Input,
    /// Those of answers.
    Output,
    #[default]
    Both,
    /// Those of records only: the audit log, traces and the console.
    Log,
}

impl Direction {
    pub fn includes_input(self) -> bool {
        matches!(self, Self::Input | Self::Both)
    }

    pub fn includes_output(self) -> bool {
        matches!(self, Self::Output | Self::Both)
    }
}

/// The effect of a verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum GuardrailMode {
    #[default]
    Enforce,
    /// Verdicts are recorded and have no effect.
    Monitor,
}

impl GuardrailMode {
    /// The name as it is shown, the same as when serialized.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Enforce => "enforce",
            Self::Monitor => "monitor",
        }
    }
}

/// The verdict when a guardrail fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    #[default]
    Block,
    Allow,
}

/// The verdict on content that cannot be inspected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnUnreadable {
    #[default]
    Allow,
    Block,
}

impl Resource for Guardrail {
    const KIND: &'static str = "guardrail";
    const SECRETS: &'static [&'static str] = &["headers"];

    fn name(&self) -> &str {
        &self.name
    }

    fn validate(&self) -> Result<(), Fault> {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ');
        let name = &self.name;
        if name.trim() != name || name.is_empty() || name.len() > MAX_NAME || !name.chars().all(fits) {
            let message = format!(
                "The name of a guardrail has 1 to {MAX_NAME} letters, digits, '-', '_', '.' or blanks between them."
            );
            return Err(fault::invalid_parameter("name", message));
        }
        if self.description.as_ref().is_some_and(|text| text.len() > MAX_DESCRIPTION) {
            let message = format!("A description has at most {MAX_DESCRIPTION} bytes.");
            return Err(fault::invalid_parameter("description", message));
        }
        for (name, value) in &self.headers {
            if !is_header_name(name) || !is_header_value(value) {
                let message = "A header has a name of letters, digits and '-', and a value of printable ASCII characters.";
                return Err(fault::invalid_parameter(format!("config.headers.{name}"), message));
            }
        }
        self.config.validate(self.direction)
    }
}
