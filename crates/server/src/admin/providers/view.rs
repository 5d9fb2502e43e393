//! A provider as it is shown: what is known about its key is that there is one.

use std::collections::BTreeMap;

use domain::resources::provider::Source;
use pipeline::snapshot::routes::Instance;
use serde::Serialize;
use utoipa::ToSchema;
use wire::vendors::{self, Credential};

use crate::App;
use crate::admin::record;

#[derive(Serialize, ToSchema)]
pub struct ProviderView {
    pub name: String,
    #[serde(rename = "type")]
    pub provider_type: String,
    pub base_url: String,
    pub api_version: String,
    pub models: Vec<String>,
    pub headers: BTreeMap<String, String>,
    pub enabled: bool,
    pub priority: i64,
    pub source: Source,
    pub api_key_set: bool,
    pub api_key_last4: Option<String>,
    pub health: HealthView,
}

#[derive(Serialize, ToSchema)]
pub struct HealthView {
    /// ok, disabled, incomplete or refused
    pub state: String,
    pub last_error: Option<String>,
    pub last_discovery_at: Option<String>,
    pub model_count: usize,
}

#[derive(Serialize, ToSchema)]
pub struct TypeView {
    #[serde(rename = "type")]
    pub name: String,
    pub title: String,
    pub base_url: Option<String>,
    pub base_url_required: bool,
    pub api_key_required: bool,
    pub takes_api_key: bool,
}

pub fn types() -> Vec<TypeView> {
    let show = |vendor: &&'static vendors::Vendor| TypeView {
        name: vendor.name.to_owned(),
        title: vendor.title.to_owned(),
        base_url: vendor.base_url.map(str::to_owned),
        base_url_required: vendor.base_url_required,
        api_key_required: vendor.key_required,
        takes_api_key: !matches!(vendor.credential, Credential::None),
    };
    vendors::list().iter().map(show).collect()
}

pub fn show(app: &App, instance: &Instance) -> ProviderView {
    let provider = &instance.provider;
    let last4 = provider.api_key.as_ref().and_then(|key| key.last4()).map(str::to_owned);
    ProviderView {
        name: provider.name.clone(),
        provider_type: provider.provider_type.clone(),
        base_url: provider.base_url.clone(),
        api_version: provider.api_version.clone(),
        models: provider.models.clone(),
        headers: provider.headers.clone(),
        enabled: provider.enabled,
        priority: provider.priority,
        source: instance.source,
        api_key_set: provider.api_key.is_some(),
        api_key_last4: last4,
        health: health(app, instance),
    }
}

/// How an instance is doing.
pub fn health(app: &App, instance: &Instance) -> HealthView {
    let provider = &instance.provider;
    let listing = app.refresher.inventory.listing(instance.name());
    let (state, problem) = match &instance.core.destination {
        _ if !provider.enabled => ("disabled", None),
        _ if instance.core.vendor.answer.is_some() => ("ok", None),
        Ok(_) if instance.core.vendor.key_required && provider.api_key.is_none() => {
            ("incomplete", Some("its api_key is not set".to_owned()))
        }
        Ok(_) => ("ok", None),
        Err(reason) if provider.base_url.is_empty() => ("incomplete", Some(reason.clone())),
        Err(reason) => ("refused", Some(reason.clone())),
    };
    HealthView {
        state: state.to_owned(),
        last_error: problem.or_else(|| listing.as_ref().and_then(|listing| listing.last_error.clone())),
        last_discovery_at: listing.as_ref().and_then(|listing| listing.at).map(record::time),
        model_count: instance.lanes.len(),
    }
}
