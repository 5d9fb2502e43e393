//! `GET /health` (is it alive) and `GET /ready` (should it get calls).

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;

use crate::{App, PING_LIMIT};

type Words = BTreeMap<&'static str, String>;

/// Liveness; needs no credential.
#[utoipa::path(get, path = "/health", tag = "health", responses((status = 200, description = "Alive", body = BTreeMap<String, String>)))]
pub async fn health(State(app): State<Arc<App>>) -> Json<Words> {
    Json(Words::from([
        ("status", "ok".to_owned()),
        ("version", app.config.version.to_owned()),
        ("edition", app.gateway.capabilities.edition.as_str().to_owned()),
    ]))
}

/// Readiness; a dependency that is down degrades the answer, because inference goes on without it.
#[utoipa::path(get, path = "/ready", tag = "health",
    responses((status = 200, description = "Ready", body = BTreeMap<String, String>), (status = 503, description = "Draining")))]
pub async fn ready(State(app): State<Arc<App>>) -> (StatusCode, Json<Words>) {
    let ping = tokio::time::timeout(PING_LIMIT, app.refresher.store().ping()).await;
    // A database may be read and not written: locked, full, or read-only.
    let storage = match ping {
        Ok(Ok(())) if app.gateway.journal.is_stuck() => "degraded",
        Ok(Ok(())) => "ok",
        _ => "down",
    };
    let snapshot = app.gateway.snapshot();
    let configuration = if snapshot.broken.is_empty() { "ok" } else { "degraded" };
    let routes = snapshot.routes.clone();
    let providers = match (
        routes.instances.len(),
        routes.instances.values().filter(|instance| instance.is_usable()).count(),
    ) {
        (0, _) | (_, 0) => "down",
        (all, working) if working < all => "degraded",
        _ => "ok",
    };
    let journal = if app.gateway.unwritten.is_empty() { "ok" } else { "degraded" };
    let (code, status) = match (app.is_draining(), storage == "ok" && configuration == "ok") {
        (true, _) => (StatusCode::SERVICE_UNAVAILABLE, "draining"),
        (false, true) => (StatusCode::OK, "ok"),
        (false, false) => (StatusCode::OK, "degraded"),
    };
    let words = Words::from([
        ("status", status.to_owned()),
        ("storage", storage.to_owned()),
        // One process keeps its limits to itself: there is no shared store to lose.
        ("shared_store", "ok".to_owned()),
        ("providers", providers.to_owned()),
        ("journal", journal.to_owned()),
        // Degraded while a stored document cannot be read.
        ("configuration", configuration.to_owned()),
    ]);
    (code, Json(words))
}
