//! A model in the list of models.

use std::collections::BTreeMap;

use domain::model::{Category, Mode};
use domain::resources::model_price::ModelPrice;
use pipeline::routing::routes::{Access, Deployment};
use serde::Serialize;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
pub struct ModelEntry {
    /// `instance/model`, as a request names it.
    pub selector: String,
    pub provider_type: String,
    pub provider_name: String,
    pub model: ModelRecord,
    pub access: ModelAccess,
}

#[derive(Serialize, ToSchema)]
pub struct ModelRecord {
    pub id: String,
    pub object: &'static str,
    pub owned_by: String,
    /// Unix time in seconds; 0 when the provider does not report it.
    pub created: i64,
    pub metadata: ModelMetadata,
}

/// Metadata of a model; unknown values are left out.
#[derive(Serialize, ToSchema)]
pub struct ModelMetadata {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub family: Option<&'static str>,
    pub modes: Vec<Mode>,
    pub categories: Vec<Category>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    pub capabilities: BTreeMap<String, bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pricing: Option<ModelPrice>,
}

#[derive(Serialize, ToSchema)]
pub struct ModelAccess {
    /// The value of MODELS_ENABLED_BY_DEFAULT.
    pub default_enabled: bool,
    /// Whether the model is enabled, including its override; limited to `user_paths` unless that is empty.
    pub effective_enabled: bool,
    pub user_paths: Vec<String>,
    #[serde(rename = "override", skip_serializing_if = "Option::is_none")]
    pub applied: Option<AppliedOverride>,
}

/// The override in force.
#[derive(Serialize, ToSchema)]
pub struct AppliedOverride {
    /// The selector of the override: the instance, or its type.
    pub selector: String,
    pub enabled: bool,
    pub user_paths: Vec<String>,
}

pub fn show(deployment: &Deployment, default_enabled: bool) -> ModelEntry {
    let target = &deployment.target;
    let owned_by = deployment.owned_by.as_deref().unwrap_or(&target.provider_type);
    ModelEntry {
        selector: target.selector(),
        provider_type: target.provider_type.to_string(),
        provider_name: target.instance.to_string(),
        model: ModelRecord {
            id: target.model.to_string(),
            object: "model",
            owned_by: owned_by.to_owned(),
            created: deployment.created.unwrap_or(0),
            metadata: metadata(deployment),
        },
        access: access(deployment.access.as_deref(), default_enabled),
    }
}

fn metadata(deployment: &Deployment) -> ModelMetadata {
    let (facts, rule, mode) = (deployment.facts.as_deref(), deployment.access.as_deref(), deployment.mode());
    let abilities = facts.into_iter().flat_map(|facts| facts.abilities.names());
    let known = abilities.map(|name| (name.to_owned(), true));
    let extra = rule.into_iter().flat_map(|rule| rule.extra_capabilities.clone());
    ModelMetadata {
        display_name: rule.and_then(|rule| rule.display_name.clone()),
        family: deployment.family(),
        modes: vec![mode],
        categories: vec![mode.category()],
        context_window: facts.and_then(|facts| facts.context_window),
        max_output_tokens: facts.and_then(|facts| facts.max_output_tokens),
        capabilities: known.chain(extra).collect(),
        pricing: deployment.price().map(ModelPrice::from),
    }
}

fn access(rule: Option<&Access>, default_enabled: bool) -> ModelAccess {
    let paths = |rule: &Access| rule.user_paths.iter().map(|path| path.as_str().to_owned()).collect();
    ModelAccess {
        default_enabled,
        effective_enabled: rule.map_or(default_enabled, |rule| rule.enabled),
        user_paths: rule.map(paths).unwrap_or_default(),
        applied: rule.map(|rule| AppliedOverride {
            selector: rule.override_selector.clone(),
            enabled: rule.enabled,
            user_paths: paths(rule),
        }),
    }
}
