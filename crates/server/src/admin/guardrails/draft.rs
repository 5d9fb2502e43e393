//! Request body of a guardrail. Its settings depend on its type; errors name them by their path.

use std::collections::BTreeMap;

use domain::fault::{self, Fault};
use domain::resources::guardrail::{
    Direction, Guardrail, GuardrailConfig, GuardrailMode, GuardrailType, OnError, OnUnreadable, WebhookConfig,
};
use domain::resources::provider::masked_header;
use domain::user_path::UserPath;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::body::{self, Patch};

/// Read-only members of the view.
const READ_ONLY: [&str; 6] = ["source", "tenant_id", "overrides", "created_at", "updated_at", "error"];

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
        // Headers are read by themselves: their values are not part of the settings.
        let shown = known.map(|known| Guardrail { headers: BTreeMap::new(), ..known.clone() });
        let mut body: Self = patch.over(shown.as_ref(), &READ_ONLY)?;
        let has_other_type = known.is_some_and(|known| known.config.guardrail_type() != body.guardrail_type);
        if has_other_type && patch.sent("config").is_none() {
            body.config.clear();
        }
        Ok(body)
    }

    /// The guardrail. Masked headers of its webhook are replaced by those of `known`, unless its address has changed.
    pub fn guardrail(mut self, name: String, known: Option<&Guardrail>) -> Result<Guardrail, Fault> {
        let given = |text: Option<String>| text.filter(|text| !text.is_empty());
        let headers = match self.guardrail_type {
            GuardrailType::Webhook => self.config.remove("headers"),
            _ => None,
        };
        let config = parse_config(self.guardrail_type, self.config)?;
        Ok(Guardrail {
            name,
            headers: webhook_headers(headers, &config, known)?,
            config,
            direction: self.direction,
            mode: self.mode,
            description: given(self.description),
            user_path: given(self.user_path).map(|path| parse_path(&path)).transpose()?,
            on_error: self.on_error,
            on_unreadable: self.on_unreadable,
        })
    }
}

/// Reads the headers of a webhook. Those that are not sent are kept, as long as its address is the same.
fn webhook_headers(
    sent: Option<Value>,
    config: &GuardrailConfig,
    known: Option<&Guardrail>,
) -> Result<BTreeMap<String, String>, Fault> {
    let GuardrailConfig::Webhook(WebhookConfig { url, .. }) = config else { return Ok(BTreeMap::new()) };
    let is_same =
        |known: &&Guardrail| matches!(&known.config, GuardrailConfig::Webhook(old) if old.url == *url);
    let stored = known.map(|known| &known.headers);
    let kept = known.filter(is_same).map(|known| &known.headers);
    let Some(sent) = sent else { return Ok(kept.cloned().unwrap_or_default()) };
    if sent.is_null() {
        return Ok(BTreeMap::new());
    }
    let refused = || fault::invalid_parameter("config.headers", "The headers are an object of strings.");
    let mut headers: BTreeMap<String, String> = serde_json::from_value(sent).map_err(|_| refused())?;
    for (name, value) in &mut headers {
        let is_masked =
            stored.and_then(|stored| stored.get(name)).is_some_and(|old| *value == masked_header(old));
        match kept.and_then(|kept| kept.get(name)) {
            _ if !is_masked => {}
            Some(old) => value.clone_from(old),
            None => {
                let message = "The webhook's address has changed: write the header's value again.";
                return Err(fault::invalid_parameter(format!("config.headers.{name}"), message));
            }
        }
    }
    Ok(headers)
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
        GuardrailType::LlmBasedAltering => GuardrailConfig::LlmBasedAltering(parse_settings(config)?),
        GuardrailType::Webhook => GuardrailConfig::Webhook(parse_settings(config)?),
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
