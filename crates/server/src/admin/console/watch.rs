//! One reader of the console's stream: where it is, and what it is told next.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::caller::Caller;
use pipeline::authenticate;
use pipeline::console::{BITE, Batch};
use serde_json::json;
use tokio::time::Instant;

use super::concerns;
use crate::App;
use crate::principal::{Console, Needs as _, Read};

const OPENED: Bytes = Bytes::from_static(b": open\n\n");
const HEARTBEAT: Bytes = Bytes::from_static(b": keep-alive\n\n");

/// A reader looks no more often than this: what happens in between comes together.
const PACE: Duration = Duration::from_millis(25);

pub struct Watch {
    app: Arc<App>,
    caller: Caller,
    event: Option<&'static str>,
    position: u64,
    /// How many events this reader was too slow for.
    dropped: u64,
    opened: bool,
    /// It has read to the end a moment ago.
    resting: bool,
}

impl Watch {
    pub fn new(app: Arc<App>, caller: Caller, event: Option<&'static str>, position: u64) -> Self {
        Self { app, caller, event, position, dropped: 0, opened: false, resting: false }
    }

    /// The next thing to say; the end when the process stops, or the caller may no longer listen.
    pub async fn next(mut self) -> Option<(Result<Bytes, std::convert::Infallible>, Self)> {
        if !self.opened {
            self.opened = true;
            return Some((Ok(OPENED), self));
        }
        let said = self.turn().await?;
        Some((Ok(said), self))
    }

    async fn turn(&mut self) -> Option<Bytes> {
        let app = self.app.clone();
        let console = &app.gateway.console;
        let silent_until = Instant::now() + self.patience();
        loop {
            if self.resting {
                self.resting = false;
                tokio::time::sleep(PACE).await;
            }
            let news = console.listen();
            if console.is_closed() || !self.is_welcome() {
                return None;
            }
            let batch = console.read(self.position);
            self.position = batch.position;
            self.resting = (1..BITE).contains(&batch.events.len());
            let text = self.tell(&batch);
            if !text.is_empty() {
                return Some(Bytes::from(text));
            }
            let nothing_new = batch.events.is_empty();
            if Instant::now() >= silent_until
                || (nothing_new && tokio::time::timeout_at(silent_until, news).await.is_err())
            {
                // A key that ended with the silence is not kept company.
                return self.is_welcome().then_some(HEARTBEAT);
            }
        }
    }

    /// A change of a key is itself an event, so this is asked at once when there is one.
    fn is_welcome(&mut self) -> bool {
        let gateway = &self.app.gateway;
        match authenticate::again(&gateway.snapshot(), &self.caller, gateway.clock.now()) {
            Ok(caller) => {
                self.caller = caller;
                self.caller.may(Read::<Console>::SCOPE)
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

    fn tell(&mut self, batch: &Batch) -> String {
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
        for entry in batch.events.iter().filter(|entry| concerns(entry, self.event, &self.caller)) {
            let _ = write!(text, "event: {}\nid: {}\ndata: {}\n\n", entry.name(), entry.id, entry.json());
        }
        text
    }
}
