//! Response types of providers. API keys are never shown.

use std::collections::BTreeMap;

use domain::resources::provider::{ProviderSource, Resilience, masked_header};
use pipeline::routing::routes::Instance;
use serde::Serialize;
use utoipa::ToSchema;
use wire::vendors;

use super::health::{self, ModelHealth, ProviderHealth};
use super::recent_calls::RecentCalls;
use crate::App;

#[derive(Serialize, ToSchema)]
pub struct ProviderView {
    pub name: String,
    #[serde(rename = "type")]
    pub provider_type: String,
    pub base_url: String,
    pub api_version: String,
    pub models: Vec<String>,
    /// Values are masked; a masked value that is sent back keeps the stored one.
    pub headers: BTreeMap<String, String>,
    pub enabled: bool,
    pub priority: i64,
    pub source: ProviderSource,
    /// The tenant that it belongs to; absent for those of the default tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// Source of the provider that this one overrides: `file` or `env`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overrides: Option<&'static str>,
    pub api_key_set: bool,
    pub api_key_last4: Option<String>,
    /// Overrides of the resilience settings.
    pub resilience: Resilience,
    pub health: ProviderHealth,
}

/// Health of an instance without its configuration.
#[derive(Serialize, ToSchema)]
pub struct StatusView {
    pub name: String,
    #[serde(rename = "type")]
    pub provider_type: String,
    pub enabled: bool,
    pub source: ProviderSource,
    pub health: ProviderHealth,
    /// Only models that calls have used.
    pub models: Vec<ModelHealth>,
    /// Its calls in each of the last 60 minutes; null for a tenant that does not own the instance
    pub series: Option<RecentCalls>,
    /// Null for a tenant that does not own the instance
    pub calls_last_hour: Option<u64>,
    /// Null for a tenant that does not own the instance
    pub errors_last_hour: Option<u64>,
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
        takes_api_key: vendor.credentials.takes_api_key(),
    };
    vendors::list().iter().map(show).collect()
}

/// An instance as a tenant sees it.
pub fn show(app: &App, instance: &Instance, tenant: Option<&str>) -> ProviderView {
    let provider = &instance.provider;
    let last4 = provider.api_key.as_ref().and_then(|key| key.last4()).map(str::to_owned);
    ProviderView {
        name: provider.name.clone(),
        provider_type: provider.provider_type.clone(),
        base_url: provider.base_url.clone(),
        api_version: provider.api_version.clone(),
        models: provider.models.clone(),
        headers: provider.headers.iter().map(|(name, value)| (name.clone(), masked_header(value))).collect(),
        enabled: provider.enabled,
        priority: provider.priority,
        source: instance.source,
        tenant_id: instance.tenant.as_ref().map(|tenant| tenant.to_string()),
        overrides: overridden(app, instance),
        api_key_set: provider.api_key.is_some(),
        api_key_last4: last4,
        resilience: provider.resilience.clone(),
        health: health::of(app, instance, tenant).0,
    }
}

fn overridden(app: &App, instance: &Instance) -> Option<&'static str> {
    if instance.source != ProviderSource::Admin {
        return None;
    }
    match app.refresher.configured_source(&instance.provider.name)? {
        ProviderSource::Env => Some("env"),
        ProviderSource::Config => Some("file"),
        ProviderSource::Admin | ProviderSource::Default => None,
    }
}

/// The health of an instance as a tenant sees it.
pub fn status(app: &App, instance: &Instance, tenant: Option<&str>) -> StatusView {
    let (health, models) = health::of(app, instance, tenant);
    let series = health::shows_use(instance, tenant).then(|| RecentCalls::of(app, instance));
    StatusView {
        name: instance.provider.name.clone(),
        provider_type: instance.provider.provider_type.clone(),
        enabled: instance.provider.enabled,
        source: instance.source,
        health,
        models,
        calls_last_hour: series.as_ref().map(RecentCalls::calls),
        errors_last_hour: series.as_ref().map(RecentCalls::errors),
        series,
    }
}
