//! One reader of a stream of events: where it is, and what it is told next.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use domain::caller::Caller;
use domain::fault::{self, Fault};
use domain::scope::Scope;
use futures_util::stream;
use http::HeaderMap;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use pipeline::authenticate;
use pipeline::feed::{BITE, Batch, Entry, Feed};
use pipeline::gateway::Gateway;
use serde_json::json;
use tokio::time::Instant;

use crate::App;
use crate::query::{self, Pairs};

const OPENED: Bytes = Bytes::from_static(b": open\n\n");
const HEARTBEAT: Bytes = Bytes::from_static(b": keep-alive\n\n");

/// A reader looks no more often than this: what happens in between comes together.
const PACE: Duration = Duration::from_millis(25);

/// What is watched, and what of it.
pub trait Watched: Send + Sync + 'static {
    type Event: Send + Sync + 'static;
    /// What whoever watches must hold, for as long as it does.
    const SCOPE: Scope;

    fn feed(gateway: &Gateway) -> &Feed<Self::Event>;
    fn concerns(&self, entry: &Entry<Self::Event>, caller: &Caller) -> bool;
    fn name(entry: &Entry<Self::Event>) -> &'static str;
    fn json(entry: &Entry<Self::Event>) -> &str;
}

/// The events as they happen, from where the reader left off.
pub fn answer<W: Watched>(
    app: Arc<App>,
    caller: Caller,
    watched: W,
    headers: &HeaderMap,
    pairs: &Pairs,
) -> Result<Response, Fault> {
    let position = last_event_id(headers, pairs)?.unwrap_or_else(|| W::feed(&app.gateway).last_id());
    let watch = Watch { app, caller, watched, position, dropped: 0, opened: false, resting: false };
    let body = Body::from_stream(stream::unfold(watch, Watch::next));
    Ok(([(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-cache")], body).into_response())
}

/// Where a reader left off: the header, as browsers send it, or else the query.
fn last_event_id(headers: &HeaderMap, pairs: &Pairs) -> Result<Option<u64>, Fault> {
    const HEADER: &str = "Last-Event-ID";
    let said =
        headers.get(HEADER).map(|value| value.to_str().unwrap_or("?").trim()).filter(|id| !id.is_empty());
    match said {
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
    caller: Caller,
    watched: W,
    position: u64,
    /// How many events this reader was too slow for.
    dropped: u64,
    opened: bool,
    /// It has read to the end a moment ago.
    resting: bool,
}

impl<W: Watched> Watch<W> {
    /// The next thing to say; the end when the process stops, or the caller may no longer listen.
    async fn next(mut self) -> Option<(Result<Bytes, std::convert::Infallible>, Self)> {
        if !self.opened {
            self.opened = true;
            return Some((Ok(OPENED), self));
        }
        let said = self.turn().await?;
        Some((Ok(said), self))
    }

    async fn turn(&mut self) -> Option<Bytes> {
        let app = self.app.clone();
        let feed = W::feed(&app.gateway);
        let silent_until = Instant::now() + self.patience();
        loop {
            if self.resting {
                self.resting = false;
                tokio::time::sleep(PACE).await;
            }
            // A change of a key is an event of the console, so that is listened to as well.
            let (news, changes) = (feed.listen(), app.gateway.console.listen());
            if feed.is_closed() || !self.is_welcome() {
                return None;
            }
            let batch = feed.read(self.position);
            self.position = batch.position;
            self.resting = (1..BITE).contains(&batch.events.len());
            let text = self.tell(&batch);
            if !text.is_empty() {
                return Some(Bytes::from(text));
            }
            let nothing_new = batch.events.is_empty();
            let either = async {
                tokio::select! { () = news => {}, () = changes => {} }
            };
            if Instant::now() >= silent_until
                || (nothing_new && tokio::time::timeout_at(silent_until, either).await.is_err())
            {
                // A key that ended with the silence is not kept company.
                return self.is_welcome().then_some(HEARTBEAT);
            }
        }
    }

    /// Asked at once when a key changes.
    fn is_welcome(&mut self) -> bool {
        let gateway = &self.app.gateway;
        match authenticate::again(&gateway.snapshot(), &self.caller, gateway.clock.now()) {
            Ok(caller) => {
                self.caller = caller;
                self.caller.may(W::SCOPE)
            }
            Err(_) => false,
        }
    }

    /// One heartbeat, or less if the caller's key expires before that.
    fn patience(&self) -> Duration {
        let gateway = &self.app.gateway;
        let expires_at = self.caller.key().and_then(|key| key.expires_at);
        let left = expires_at.map(|at| at.micros().saturating_sub(gateway.clock.now().micros()).max(0));
        let left = left.map(|micros| Duration::from_micros(micros.unsigned_abs()) + Duration::from_millis(1));
        left.unwrap_or(Duration::MAX).min(gateway.policy.stream_heartbeat)
    }

    fn tell(&mut self, batch: &Batch<W::Event>) -> String {
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
        for entry in batch.events.iter().filter(|entry| self.watched.concerns(entry, &self.caller)) {
            let (name, json) = (W::name(entry), W::json(entry));
            let _ = write!(text, "event: {name}\nid: {}\ndata: {json}\n\n", entry.id);
        }
        text
    }
}
