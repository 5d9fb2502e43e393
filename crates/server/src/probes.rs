//! `GET /health` (liveness) and `GET /ready` (readiness).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use pipeline::routing::routes::Routes;

use crate::admin::providers::readiness;
use crate::{App, PING_LIMIT};

type StatusFields = BTreeMap<&'static str, String>;

/// Liveness probe; needs no credential.
#[utoipa::path(get, path = "/health", tag = "health", responses((status = 200, description = "Alive", body = BTreeMap<String, String>)))]
pub async fn health(State(app): State<Arc<App>>) -> Json<StatusFields> {
    Json(StatusFields::from([
        ("status", "ok".to_owned()),
        ("version", app.config.version.to_owned()),
        ("edition", app.gateway.capabilities.edition.as_str().to_owned()),
    ]))
}

/// Readiness probe. A dependency that is down makes the status degraded, because inference continues without it.
/// Without an available provider the answer is 503 if READY_NEEDS_PROVIDER is set.
#[utoipa::path(get, path = "/ready", tag = "health",
    responses((status = 200, description = "Ready; each dependency is ok, degraded or down", body = BTreeMap<String, String>),
        (status = 503, description = "Draining, or no provider is available and READY_NEEDS_PROVIDER is set")))]
pub async fn ready(State(app): State<Arc<App>>) -> (StatusCode, Json<StatusFields>) {
    let ping = tokio::time::timeout(PING_LIMIT, app.refresher.store().ping()).await;
    let room = room(&app).await;
    let snapshot = app.gateway.snapshot();
    // A database may be readable and not writable: locked, full, or read-only.
    let storage = match ping {
        Ok(Ok(())) if app.gateway.journal.is_stuck() || !room.database => DEGRADED,
        Ok(Ok(())) => OK,
        _ => DOWN,
    };
    let journal = if app.gateway.pending_receipts.is_empty() && room.journal { OK } else { DEGRADED };
    let configuration = if snapshot.document_errors.is_empty() { OK } else { DEGRADED };
    let providers = providers(&app, &snapshot.routes);
    let all_ok = [storage, journal, configuration, providers].iter().all(|state| *state == OK);
    let (code, status) = match app.is_draining() {
        true => (StatusCode::SERVICE_UNAVAILABLE, "draining"),
        false if app.config.ready_needs_provider && providers == DOWN => {
            (StatusCode::SERVICE_UNAVAILABLE, DOWN)
        }
        false => (StatusCode::OK, if all_ok { OK } else { DEGRADED }),
    };
    let fields = StatusFields::from([
        ("status", status.to_owned()),
        ("storage", storage.to_owned()),
        // Limits are kept in this process: there is no shared store that could be down.
        ("shared_store", OK.to_owned()),
        ("providers", providers.to_owned()),
        ("journal", journal.to_owned()),
        // Degraded while a stored document does not compile.
        ("configuration", configuration.to_owned()),
    ]);
    (code, Json(fields))
}

const OK: &str = "ok";
const DEGRADED: &str = "degraded";
const DOWN: &str = "down";

/// The state of all providers: down when none can be called, because of open circuit breakers or cooldowns, or because
/// there is none.
fn providers(app: &App, routes: &Routes) -> &'static str {
    let states: Vec<&str> =
        routes.instances.values().filter_map(|instance| readiness(app, instance)).collect();
    if states.iter().all(|state| *state == DOWN) {
        DOWN
    } else if states.iter().all(|state| *state == OK) {
        OK
    } else {
        DEGRADED
    }
}

/// Whether the disks of database and journal accept writes.
#[derive(Clone, Copy)]
pub struct Room {
    database: bool,
    journal: bool,
}

/// Minimum time between two disk probes: the route is public.
const PROBED_FOR: Duration = Duration::from_secs(2);

/// Returns the latest probe result, renewed when it is old. A disk that does not respond in time counts as full.
async fn room(app: &Arc<App>) -> Room {
    let now = app.gateway.clock.tick();
    // The lock is held across the probe, so that concurrent requests wait for one result instead of starting more
    // probes.
    let mut last = app.room.lock().await;
    if let Some((at, room)) = *last
        && now.saturating_sub(at) < PROBED_FOR
    {
        return room;
    }
    let (store, journal) = (app.refresher.store().clone(), app.gateway.journal.clone());
    let probe = app
        .gateway
        .tasks
        .spawn_blocking(move || Room { database: store.has_room(), journal: journal.has_room() });
    let room = match tokio::time::timeout(PING_LIMIT, probe).await {
        Ok(Ok(room)) => room,
        _ => Room { database: false, journal: false },
    };
    *last = Some((now, room));
    room
}
