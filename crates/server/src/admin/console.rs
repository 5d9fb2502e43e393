//! `/admin/api/v1/console`: live events of this process.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use axum::response::Response;
use domain::fault::{self, Fault};
use domain::principal::Principal;
use domain::scope::Scope;
use domain::user_path::UserPath;
use http::HeaderMap;
use pipeline::gateway::Gateway;
use pipeline::services::console::{CAPACITY, Entry, Event, NAMES};
use pipeline::services::feed::Feed;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::watch::{self, Watched};
use crate::App;
use crate::authorized::{Authorized, Console, Needs as _, Read};
use crate::fault::Problem;
use crate::query::{self, Pairs};

#[derive(Serialize, ToSchema)]
pub struct RecentView {
    /// Oldest first. Each has `id`, `event`, `at` and the fields of its kind.
    #[schema(value_type = Vec<Object>)]
    pub events: Vec<Box<RawValue>>,
    /// Value of `after` for the next request.
    pub last_id: u64,
    /// Number of events after `after` that are no longer in the buffer.
    pub dropped: u64,
}

/// List the latest events.
#[utoipa::path(get, path = "/admin/api/v1/console/recent", tag = "console",
    params(("limit" = Option<i64>, Query, description = "1 to 500, default 100"),
        ("event" = Option<String>, Query, description = "Only request, fallback, breaker, budget or config"),
        ("after" = Option<i64>, Query, description = "Only events after the one of this id, the first ones of them")),
    responses((status = 200, description = "The events", body = RecentView), (status = 400, description = "Invalid parameters"),
        (status = 401, description = "Unauthorized")),
    security(("bearer" = ["admin:console:read"])))]
pub async fn recent(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Console>>,
    Query(pairs): Query<Pairs>,
) -> Result<Json<RecentView>, Problem> {
    let limit = query::integer(&pairs, "limit", 1..=CAPACITY as i64)?.unwrap_or(100);
    let limit = usize::try_from(limit).unwrap_or(CAPACITY);
    let event = event(&pairs)?;
    let after = query::integer(&pairs, "after", 0..=i64::MAX)?.map(i64::unsigned_abs);
    let batch = app.gateway.console.read_all(after.unwrap_or(0));
    let mut events = batch.events;
    events.retain(|entry| concerns(entry, event, &authorized.principal));
    let mut last_id = batch.position;
    if let Some(surplus) = events.len().checked_sub(limit).filter(|surplus| *surplus > 0) {
        // With `after`, the oldest events are returned, so that the client can read on; without it, the latest.
        match after {
            Some(_) => {
                events.truncate(limit);
                last_id = events.last().map_or(last_id, |entry| entry.id);
            }
            None => drop(events.drain(..surplus)),
        }
    }
    let dropped = if after.is_some() { batch.missed } else { 0 };
    let raw = |entry: &Arc<Entry>| RawValue::from_string(entry.json().to_owned()).ok();
    Ok(Json(RecentView { events: events.iter().filter_map(raw).collect(), last_id, dropped }))
}

/// Stream events as they happen, as server-sent events.
#[utoipa::path(get, path = "/admin/api/v1/console/stream", tag = "console",
    params(("event" = Option<String>, Query, description = "Only request, fallback, breaker, budget or config"),
        ("last_event_id" = Option<i64>, Query, description = "Begin after the event of this id, as far as it is still there"),
        ("Last-Event-ID" = Option<i64>, Header, description = "The same, and wins: what browsers send when they come back")),
    responses((status = 200, description = "The events", content_type = "text/event-stream", body = String),
        (status = 400, description = "Invalid parameters"), (status = 401, description = "Unauthorized")),
    security(("bearer" = ["admin:console:read"])))]
pub async fn stream(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Console>>,
    Query(pairs): Query<Pairs>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let event = event(&pairs)?;
    Ok(watch::answer(app, authorized.principal, EventNameFilter(event), &headers, &pairs)?)
}

/// Filter of the event stream: events of one name, or all.
struct EventNameFilter(Option<&'static str>);

impl Watched for EventNameFilter {
    type Event = Event;
    const SCOPE: Option<Scope> = Read::<Console>::SCOPE;

    fn feed(gateway: &Gateway) -> &Feed<Event> {
        &gateway.console
    }

    fn concerns(&self, entry: &Entry, principal: &Principal) -> bool {
        concerns(entry, self.0, principal)
    }

    fn name(entry: &Entry) -> &'static str {
        entry.name()
    }

    fn json(entry: &Entry) -> &str {
        entry.json()
    }
}

fn event(pairs: &Pairs) -> Result<Option<&'static str>, Fault> {
    let Some(asked) = query::text(pairs, "event") else { return Ok(None) };
    match NAMES.into_iter().find(|name| *name == asked) {
        Some(name) => Ok(Some(name)),
        None => Err(fault::invalid_parameter("event", format!("'event' is one of {}.", NAMES.join(", ")))),
    }
}

/// Whether an entry is visible: a caller bound to a user path or a tenant sees only the calls of those.
pub(super) fn concerns(entry: &Entry, event: Option<&str>, principal: &Principal) -> bool {
    if event.is_some_and(|event| event != entry.name()) {
        return false;
    }
    let is_below = |own: &UserPath| {
        entry.user_path().is_some_and(|path| UserPath::parse(path).is_ok_and(|path| own.covers(&path)))
    };
    principal.subtree().is_none_or(is_below) && principal.sees_tenant(entry.tenant())
}
