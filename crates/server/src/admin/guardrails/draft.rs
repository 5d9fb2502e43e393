//! Request body of a guardrail. Its settings depend on its type; errors name them by their path.

use domain::fault::{self, Fault};
use domain::resources::guardrail::{
    Direction, Guardrail, GuardrailConfig, GuardrailMode, GuardrailType, OnError, OnUnreadable,
};
use domain::user_path::UserPath;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::body::{self, Patch};

/// Read-only members of the view.
const READ_ONLY: [&str; 3] = ["created_at", "updated_at", "error"];

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GuardrailBody {
    /// Optional, because the name is in the path.
    #[serde(default)]
    pub name: Option<String>,
    #[serde(rename = "type")]
    pub guardrail_type: GuardrailType,
    /// The settings of the type, as described by `/guardrails/types`.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub config: Map<String, Value>,
    /// Default: both.
    #[serde(default)]
    pub direction: Direction,
    /// Default: enforce.
    #[serde(default)]
    pub mode: GuardrailMode,
    #[serde(default)]
    pub description: Option<String>,
    /// The subtree whose calls it applies to, with a leading slash. Default: all.
    #[serde(default)]
    pub user_path: Option<String>,
    /// Default: block.
    #[serde(default)]
    pub on_error: OnError,
    /// Default: allow.
    #[serde(default)]
    pub on_unreadable: OnUnreadable,
}

impl GuardrailBody {
    /// The sent members over the stored ones. Stored settings are not kept if the type changes.
    pub fn over(known: Option<&Guardrail>, patch: &Patch) -> Result<Self, Fault> {
        let mut body: Self = patch.over(known, &READ_ONLY)?;
        let has_other_type = known.is_some_and(|known| known.config.guardrail_type() != body.guardrail_type);
        if has_other_type && patch.sent("config").is_none() {
            body.config.clear();
        }
        Ok(body)
    }

    pub fn guardrail(self, name: String) -> Result<Guardrail, Fault> {
        let given = |text: Option<String>| text.filter(|text| !text.is_empty());
        Ok(Guardrail {
            name,
            config: parse_config(self.guardrail_type, self.config)?,
            direction: self.direction,
            mode: self.mode,
            description: given(self.description),
            user_path: given(self.user_path).map(|path| parse_path(&path)).transpose()?,
            on_error: self.on_error,
            on_unreadable: self.on_unreadable,
        })
    }
}

/// Reads the settings of a type; unknown ones are refused.
pub fn parse_config(
    guardrail_type: GuardrailType,
    config: Map<String, Value>,
) -> Result<GuardrailConfig, Fault> {
    Ok(match guardrail_type {
        GuardrailType::SystemPrompt => GuardrailConfig::SystemPrompt(parse_settings(config)?),
        GuardrailType::RegexBlock => GuardrailConfig::RegexBlock(parse_settings(config)?),
        GuardrailType::PiiRedact => GuardrailConfig::PiiRedact(parse_settings(config)?),
        GuardrailType::PromptInjection => GuardrailConfig::PromptInjection(parse_settings(config)?),
        GuardrailType::LengthLimit => GuardrailConfig::LengthLimit(parse_settings(config)?),
    })
}

/// The settings below their name in the body, so that errors have the whole path.
#[derive(Deserialize)]
struct Members<T> {
    config: T,
}

fn parse_settings<T: DeserializeOwned>(config: Map<String, Value>) -> Result<T, Fault> {
    let read = body::read::<Members<T>>(json!({"config": config}));
    read.map(|members| members.config).map_err(|mut fault| {
        // A missing field is named without the object that lacks it.
        if let Some(param) = fault.param.take_if(|param| !param.starts_with("config")) {
            fault.param = Some(format!("config.{param}"));
        }
        fault
    })
}

fn parse_path(text: &str) -> Result<UserPath, Fault> {
    let path = match text.starts_with('/') {
        true => UserPath::parse(text),
        false => Err("A user path begins with '/'.".into()),
    };
    path.map_err(|reason| fault::invalid_parameter("user_path", reason))
}
