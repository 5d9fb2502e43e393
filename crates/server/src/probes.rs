//! `GET /health` (liveness) and `GET /ready` (readiness).

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use crate::App;
use crate::dependencies::{DOWN, DRAINING, Dependencies};

/// Liveness probe; needs no credential.
#[utoipa::path(get, path = "/health", tag = "health", responses((status = 200, description = "Alive", body = BTreeMap<String, String>)))]
pub async fn health(State(app): State<Arc<App>>) -> Json<BTreeMap<&'static str, String>> {
    Json(BTreeMap::from([
        ("status", "ok".to_owned()),
        ("version", app.config.version.to_owned()),
        ("edition", app.gateway.capabilities.edition.as_str().to_owned()),
    ]))
}

/// The state of the gateway and of each dependency: ok, degraded or down.
#[derive(Serialize, ToSchema)]
pub struct Readiness {
    /// degraded while budgets that replicas share cannot be leased
    pub budget_leases: &'static str,
    pub configuration: &'static str,
    /// Number of stored documents that do not compile; the runtime status names them
    pub document_errors: usize,
    pub journal: &'static str,
    pub providers: &'static str,
    pub shared_store: &'static str,
    /// ok, degraded, down or draining
    pub status: &'static str,
    pub storage: &'static str,
}

/// Readiness probe. A dependency that is down makes the status degraded, because inference continues without it.
/// Without an available provider the answer is 503 if READY_NEEDS_PROVIDER is set.
#[utoipa::path(get, path = "/ready", tag = "health",
    responses((status = 200, description = "Ready; each dependency is ok, degraded or down", body = Readiness),
        (status = 503, description = "Draining, or no provider is available and READY_NEEDS_PROVIDER is set")))]
pub async fn ready(State(app): State<Arc<App>>) -> (StatusCode, Json<Readiness>) {
    let snapshot = app.gateway.snapshot();
    let states = Dependencies::check(&app, &snapshot).await;
    let status = states.status(&app);
    let code = match status {
        DRAINING | DOWN => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::OK,
    };
    let Dependencies { storage, journal, configuration, providers, budget_leases, shared_store } = states;
    let document_errors = snapshot.all_document_errors().count();
    let readiness = Readiness {
        budget_leases,
        status,
        storage,
        shared_store,
        providers,
        journal,
        configuration,
        document_errors,
    };
    (code, Json(readiness))
}
