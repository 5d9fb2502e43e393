//! `GET /health` (is it alive) and `GET /ready` (should it get calls).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use pipeline::snapshot::routes::Routes;

use crate::admin::providers::readiness;
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

/// Readiness. A dependency that is down degrades the answer, because inference goes on without it; without any provider
/// the answer is 503 where READY_NEEDS_PROVIDER is set.
#[utoipa::path(get, path = "/ready", tag = "health",
    responses((status = 200, description = "Ready; each dependency is ok, degraded or down", body = BTreeMap<String, String>),
        (status = 503, description = "Draining, or no provider is available and READY_NEEDS_PROVIDER is set")))]
pub async fn ready(State(app): State<Arc<App>>) -> (StatusCode, Json<Words>) {
    let ping = tokio::time::timeout(PING_LIMIT, app.refresher.store().ping()).await;
    let room = room(&app).await;
    let snapshot = app.gateway.snapshot();
    // A database may be read and not written: locked, full, or read-only.
    let storage = match ping {
        Ok(Ok(())) if app.gateway.journal.is_stuck() || !room.database => DEGRADED,
        Ok(Ok(())) => OK,
        _ => DOWN,
    };
    let journal = if app.gateway.unwritten.is_empty() && room.journal { OK } else { DEGRADED };
    let configuration = if snapshot.broken.is_empty() { OK } else { DEGRADED };
    let providers = providers(&app, &snapshot.routes);
    let all_ok = [storage, journal, configuration, providers].iter().all(|state| *state == OK);
    let (code, status) = match app.is_draining() {
        true => (StatusCode::SERVICE_UNAVAILABLE, "draining"),
        false if app.config.ready_needs_provider && providers == DOWN => {
            (StatusCode::SERVICE_UNAVAILABLE, DOWN)
        }
        false => (StatusCode::OK, if all_ok { OK } else { DEGRADED }),
    };
    let words = Words::from([
        ("status", status.to_owned()),
        ("storage", storage.to_owned()),
        // One process keeps its limits to itself: there is no shared store to lose.
        ("shared_store", OK.to_owned()),
        ("providers", providers.to_owned()),
        ("journal", journal.to_owned()),
        // Degraded while a stored document cannot be read.
        ("configuration", configuration.to_owned()),
    ]);
    (code, Json(words))
}

const OK: &str = "ok";
const DEGRADED: &str = "degraded";
const DOWN: &str = "down";

/// Down when none can be called: breakers are open, cooldowns run, or there is none.
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

/// Whether the disks of database and journal take writes.
#[derive(Clone, Copy)]
pub struct Room {
    database: bool,
    journal: bool,
}

/// Probed at most once in this time: the route is open to everybody.
const PROBED_FOR: Duration = Duration::from_secs(2);

/// The last finding, renewed when it is old. A disk that does not answer in time takes no writes.
async fn room(app: &Arc<App>) -> Room {
    let now = app.gateway.clock.tick();
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
