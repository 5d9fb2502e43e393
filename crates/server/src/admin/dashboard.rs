//! `/admin/api/v1/dashboard`: the facts that the dashboard is laid out by, and requests that serve a whole page of it.

pub mod overview;
mod overview_usage;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use domain::capability::Capability;
use serde::Serialize;
use utoipa::ToSchema;

use super::auth::me::{self, Me};
use super::record;
use crate::App;
use crate::authorized::OptionalCaller;

#[derive(Serialize, ToSchema)]
pub struct DashboardConfig {
    /// oss or enterprise
    pub edition: &'static str,
    pub version: &'static str,
    /// Every capability, and whether it is enabled; empty without a credential
    pub capabilities: BTreeMap<&'static str, bool>,
    /// Features by name; empty without a credential
    pub features: BTreeMap<&'static str, Feature>,
    pub identity: IdentityFeature,
    /// Upper bounds of requests, by name; empty without a credential
    pub limits: BTreeMap<&'static str, u64>,
    /// The caller; null without a credential
    pub caller: Option<Me>,
    pub server_time: String,
}

#[derive(Serialize, ToSchema)]
pub struct Feature {
    /// Whether it is in use
    pub enabled: bool,
    /// Whether it can be turned on in this edition
    pub available: bool,
    /// The setting to change if it is not enabled
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// How users log in.
#[derive(Serialize, ToSchema)]
pub struct IdentityFeature {
    pub enabled: bool,
    /// Names of OpenID Connect providers
    pub oidc_providers: Vec<String>,
}

/// Get the edition, features and limits of this gateway, and the caller. Without a credential, or with a session that has
/// ended, only what the sign-in page needs: the edition, the version and how users log in.
#[utoipa::path(get, path = "/admin/api/v1/dashboard/config", operation_id = "dashboard_config", tag = "dashboard",
    responses((status = 200, description = "The configuration", body = DashboardConfig), (status = 400, description = "Invalid request"),
        (status = 401, description = "A credential was sent and is not valid"), (status = 403, description = "The caller's tenant is suspended")))]
pub async fn config(
    State(app): State<Arc<App>>,
    OptionalCaller(caller): OptionalCaller,
) -> Json<DashboardConfig> {
    let public = public_config(&app);
    Json(match caller {
        None => public,
        Some(caller) => DashboardConfig {
            capabilities: capabilities(&app),
            features: features(&app),
            limits: limits(&app),
            caller: Some(me::view(&caller)),
            ..public
        },
    })
}

/// The part that needs no credential.
fn public_config(app: &App) -> DashboardConfig {
    let has_identity = app.has_identity();
    let providers = app.config.identity.oidc_providers.iter().filter(|_| has_identity);
    DashboardConfig {
        edition: app.gateway.capabilities.edition.as_str(),
        version: app.config.version,
        capabilities: BTreeMap::new(),
        features: BTreeMap::new(),
        identity: IdentityFeature {
            enabled: has_identity,
            oidc_providers: providers.map(|provider| provider.name.clone()).collect(),
        },
        limits: BTreeMap::new(),
        caller: None,
        server_time: record::time(app.gateway.clock.now()),
    }
}

fn capabilities(app: &App) -> BTreeMap<&'static str, bool> {
    let enabled = &app.gateway.capabilities;
    Capability::ALL.iter().map(|one| (one.as_str(), enabled.has(*one))).collect()
}

fn limits(app: &App) -> BTreeMap<&'static str, u64> {
    BTreeMap::from([
        ("body_size_bytes", app.gateway.policy.body_limit),
        ("audit_log_page", 100),
        ("audit_conversation_page", 200),
        ("usage_log_page", 200),
        ("models", 10_000),
        ("report_days", 365),
    ])
}

fn features(app: &App) -> BTreeMap<&'static str, Feature> {
    let (policy, config) = (&app.gateway.policy, &app.config);
    let switches = [
        ("audit", policy.audit.enabled, "LOGGING_ENABLED=true"),
        ("cache", policy.cache.enabled, "RESPONSE_CACHE_ENABLED=true"),
        ("combos", config.combos_enabled, "COMBOS_ENABLED=true"),
        ("guardrails", policy.guardrails, "GUARDRAILS_ENABLED=true"),
        ("metrics", config.metrics_endpoint.is_some(), "METRICS_ENABLED=true"),
        ("passthrough", policy.passthrough.enabled, "ENABLE_PASSTHROUGH_ROUTES=true"),
        ("resume_streams", policy.resume_streams, "RESUME_STREAMS=true"),
        ("usage", config.usage_enabled, "USAGE_ENABLED=true"),
    ];
    let switched = switches.into_iter().map(|(name, enabled, setting)| {
        let reason =
            (!enabled).then(|| format!("Set {setting}, and reload the settings or restart the gateway."));
        (name, Feature { enabled, available: true, reason })
    });
    let gated = [
        ("budgets", Capability::AdvancedBudgets, true),
        ("identity", Capability::Identity, config.identity.is_configured()),
    ];
    let gated = gated.into_iter().map(|(name, capability, configured)| {
        let available = app.gateway.capabilities.has(capability);
        let reason = match (available, configured) {
            (true, true) => None,
            (true, false) => {
                Some("Set IDENTITY_ADMIN_EMAIL and IDENTITY_ADMIN_PASSWORD, or OIDC_PROVIDERS.".to_owned())
            }
            (false, _) => {
                let name = capability.as_str();
                Some(format!(
                    "Set GATEWAY_CAPABILITIES={name} or GATEWAY_EDITION=enterprise and restart the gateway."
                ))
            }
        };
        (name, Feature { enabled: available && configured, available, reason })
    });
    switched.chain(gated).collect()
}
