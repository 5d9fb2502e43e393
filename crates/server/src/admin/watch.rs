//! Server-sent event streams over a feed, with resumption.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use domain::fault::{self, Fault};
use domain::principal::Principal;
use domain::scope::Scope;
use futures_util::stream;
use http::HeaderMap;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use pipeline::call::authenticate;
use pipeline::gateway::Gateway;
use pipeline::services::feed::{Batch, Entry, Feed, MAX_BATCH};
use serde_json::json;
use tokio::time::Instant;

use crate::App;
use crate::query::{self, Pairs};

const OPENED: Bytes = Bytes::from_static(b": open\n\n");
const HEARTBEAT: Bytes = Bytes::from_static(b": keep-alive\n\n");

/// Minimum interval between two reads of the feed: events in between are sent together.
const PACE: Duration = Duration::from_millis(25);

/// A feed that can be streamed, and the filter of its events.
pub trait Watched: Send + Sync + 'static {
    type Event: Send + Sync + 'static;
    /// The scope that the caller needs for as long as it reads.
    const SCOPE: Option<Scope>;

    fn feed(gateway: &Gateway) -> &Feed<Self::Event>;
    fn concerns(&self, entry: &Entry<Self::Event>, principal: &Principal) -> bool;
    fn name(entry: &Entry<Self::Event>) -> &'static str;
    fn json(entry: &Entry<Self::Event>) -> &str;
}

/// Streams events as they happen, starting after the last event that the client received.
pub fn answer<W: Watched>(
    app: Arc<App>,
    principal: Principal,
    watched: W,
    headers: &HeaderMap,
    pairs: &Pairs,
) -> Result<Response, Fault> {
    let position = last_event_id(headers, pairs)?.unwrap_or_else(|| W::feed(&app.gateway).last_id());
    let watch = Watch { app, principal, watched, position, dropped: 0, opened: false, resting: false };
    let body = Body::from_stream(stream::unfold(watch, Watch::next));
    Ok(([(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-cache")], body).into_response())
}

/// The position to resume from: the header, as browsers send it, else the query parameter.
fn last_event_id(headers: &HeaderMap, pairs: &Pairs) -> Result<Option<u64>, Fault> {
    const HEADER: &str = "Last-Event-ID";
    let header =
        headers.get(HEADER).map(|value| value.to_str().unwrap_or("?").trim()).filter(|id| !id.is_empty());
    match header {
        Some(id) => id.parse().map(Some).map_err(|_| {
            fault::invalid_parameter(
                HEADER,
                format!("'{HEADER}' must be the id of an event: a whole number."),
            )
        }),
        None => Ok(query::integer(pairs, "last_event_id", 0..=i64::MAX)?.map(i64::unsigned_abs)),
    }
}

struct Watch<W> {
    app: Arc<App>,
    principal: Principal,
    watched: W,
    position: u64,
    /// Number of events that were overwritten before this client read them.
    dropped: u64,
    opened: bool,
    /// Whether the last read reached the end of the feed, so that the next one waits for `PACE`.
    resting: bool,
}

impl<W: Watched> Watch<W> {
    /// Produces the next chunk; ends the stream when the process stops or the caller loses access.
    async fn next(mut self) -> Option<(Result<Bytes, std::convert::Infallible>, Self)> {
        if !self.opened {
            self.opened = true;
            return Some((Ok(OPENED), self));
        }
        let chunk = self.turn().await?;
        Some((Ok(chunk), self))
    }

    async fn turn(&mut self) -> Option<Bytes> {
        let app = self.app.clone();
        let feed = W::feed(&app.gateway);
        let heartbeat_at = Instant::now() + self.heartbeat_interval();
        loop {
            if self.resting {
                self.resting = false;
                tokio::time::sleep(PACE).await;
            }
            // Subscribes before reading, so that an event that arrives in between still wakes this task. The console is
            // watched too, because it reports changes of keys, which may end the caller's access.
            let (news, changes) = (feed.listen(), app.gateway.console.listen());
            if feed.is_closed() || !self.has_access() {
                return None;
            }
            let batch = feed.read(self.position);
            self.position = batch.position;
            self.resting = (1..MAX_BATCH).contains(&batch.events.len());
            let text = self.format_events(&batch);
            if !text.is_empty() {
                return Some(Bytes::from(text));
            }
            let nothing_new = batch.events.is_empty();
            let either = async {
                tokio::select! { () = news => {}, () = changes => {} }
            };
            if Instant::now() >= heartbeat_at
                || (nothing_new && tokio::time::timeout_at(heartbeat_at, either).await.is_err())
            {
                // Access may have ended during the wait.
                return self.has_access().then_some(HEARTBEAT);
            }
        }
    }

    /// Re-authenticates the caller against the current snapshot and checks its scope.
    fn has_access(&mut self) -> bool {
        let gateway = &self.app.gateway;
        match authenticate::reauthenticate(&gateway.snapshot(), &self.principal, gateway.clock.now()) {
            Ok(principal) => {
                self.principal = principal;
                W::SCOPE.is_none_or(|scope| self.principal.may(scope))
            }
            Err(_) => false,
        }
    }

    /// The heartbeat interval, or the time until the caller's key expires if that is shorter.
    fn heartbeat_interval(&self) -> Duration {
        let gateway = &self.app.gateway;
        let expires_at = self.principal.expires_at();
        let left = expires_at.map(|at| at.micros().saturating_sub(gateway.clock.now().micros()).max(0));
        let left = left.map(|micros| Duration::from_micros(micros.unsigned_abs()) + Duration::from_millis(1));
        left.unwrap_or(Duration::MAX).min(gateway.policy.stream_heartbeat)
    }

    fn format_events(&mut self, batch: &Batch<W::Event>) -> String {
        let mut text = String::new();
        if batch.missed > 0 || batch.restarted {
            self.dropped += batch.missed;
            let first = batch.events.first().map_or(batch.position + 1, |entry| entry.id);
            let data = json!({
                "event": "dropped",
                "count": batch.missed,
                "total": self.dropped,
                "reason": if batch.restarted { "restarted" } else { "overtaken" },
                "next_id": first,
            });
            let _ = write!(text, "event: dropped\nid: {}\ndata: {data}\n\n", first - 1);
        }
        for entry in batch.events.iter().filter(|entry| self.watched.concerns(entry, &self.principal)) {
            let (name, json) = (W::name(entry), W::json(entry));
            let _ = write!(text, "event: {name}\nid: {}\ndata: {json}\n\n", entry.id);
        }
        text
    }
}
