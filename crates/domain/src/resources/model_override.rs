//! Model access overrides: access rules and metadata of a model.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Resource, selector_fits};
use crate::fault::{self, Fault};
use crate::user_path::UserPath;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelOverride {
    /// `provider/model`, where the provider is an instance or a type; `provider/*` or `*/model`.
    pub selector: String,
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Subtrees that may use the model; everyone may if empty.
    #[serde(default)]
    pub user_paths: Vec<String>,
    #[serde(default)]
    pub metadata: Metadata,
}

/// Metadata that overrides the catalogue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Metadata {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// Abilities by name, e.g. `tools`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub capabilities: BTreeMap<String, bool>,
}

fn yes() -> bool {
    true
}

impl Resource for ModelOverride {
    const KIND: &'static str = "model_override";

    fn name(&self) -> &str {
        &self.selector
    }

    fn validate(&self) -> Result<(), Fault> {
        selector_fits("selector", &self.selector)?;
        if !self.selector.contains('/') {
            return Err(fault::invalid_parameter("selector", "An override is for a 'provider/model'."));
        }
        if !wildcards_fit(&self.selector) {
            let message = "'*' stands for every instance ('*/model') or for every model of an instance ('instance/*'), \
                           and for nothing else. What holds for all models is MODELS_ENABLED_BY_DEFAULT.";
            return Err(fault::invalid_parameter("selector", message));
        }
        for (index, path) in self.user_paths.iter().enumerate() {
            let param = format!("user_paths[{index}]");
            if !path.starts_with('/') {
                return Err(fault::invalid_parameter(param, format!("'{path}' does not begin with '/'.")));
            }
            UserPath::parse(path).map_err(|reason| fault::invalid_parameter(param, reason))?;
        }
        self.metadata.validate()
    }
}

fn wildcards_fit(selector: &str) -> bool {
    match selector.split_once('/') {
        Some(("*", model)) => !model.contains('*'),
        Some((provider, "*")) => !provider.contains('*'),
        _ => !selector.contains('*'),
    }
}

impl Metadata {
    fn validate(&self) -> Result<(), Fault> {
        let sizes = [("context_window", self.context_window), ("max_output_tokens", self.max_output_tokens)];
        if let Some((name, _)) = sizes.into_iter().find(|(_, size)| *size == Some(0)) {
            return Err(fault::invalid_parameter(
                format!("metadata.{name}"),
                format!("'{name}' is a number of tokens from 1 on; leave it out where it is not known."),
            ));
        }
        let too_long = |name: &String| name.chars().count() > 200;
        if self.display_name.as_ref().is_some_and(too_long) {
            return Err(fault::invalid_parameter(
                "metadata.display_name",
                "A name has at most 200 characters.",
            ));
        }
        Ok(())
    }
}
