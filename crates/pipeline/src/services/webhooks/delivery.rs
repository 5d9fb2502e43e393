//! Webhook delivery: claims due messages, posts them and evaluates the answers.

use std::time::Duration;

use bytes::Bytes;
use domain::clock::Timestamp;
use domain::secret::Secret;
use egress::Outbound;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use store::{Delivery, Message, StoreError};

use super::{Receiver, Webhooks, sign};

const TIMEOUT: Duration = Duration::from_secs(10);
/// The lease on a claimed message. Longer than an attempt can take, so an expired lease means that its process died.
const LEASE: Duration = Duration::from_secs(60);
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LAST_RETRY: Duration = Duration::from_secs(3600);
/// The age at which an undelivered message is given up.
const LIFETIME: Duration = Duration::from_secs(24 * 3600);
/// The retention of finished messages.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3600);
/// The retention of alerts; longer than any named budget period.
const ALERTS_KEPT: Duration = Duration::from_secs(400 * 24 * 3600);
const LONGEST_SLEEP: Duration = Duration::from_secs(30);
const SHORTEST_SLEEP: Duration = Duration::from_millis(200);
const SWEEP: Duration = Duration::from_secs(3600);

/// The result of an attempt.
pub(super) enum Outcome {
    Taken,
    Failed(String),
    /// The receiver was removed, or answered 410 Gone.
    Gone,
}

impl Outcome {
    /// The reason if the message was not taken.
    pub(super) fn error(self) -> Option<String> {
        match self {
            Self::Taken => None,
            Self::Failed(reason) => Some(reason),
            Self::Gone => Some("the receiver answered 410".to_owned()),
        }
    }
}

impl Webhooks {
    /// Sends all due messages. Returns their number.
    pub async fn deliver(&self) -> Result<usize, StoreError> {
        let mut count = 0;
        loop {
            let now = self.clock.now();
            let Some(delivery) = self.store.outbox().claim(now, later(now, LEASE)).await? else {
                return Ok(count);
            };
            count += 1;
            self.attempt(&delivery).await?;
        }
    }

    async fn attempt(&self, delivery: &Delivery) -> Result<(), StoreError> {
        let Message { id, event, created_at, .. } = &delivery.message;
        // Sent to the current receiver, which may have changed since the message was created.
        let outcome = match self.receiver(event).await? {
            Some(receiver) => self.post(&delivery.message, &receiver).await,
            None => Outcome::Gone,
        };
        let (now, outbox) = (self.clock.now(), self.store.outbox());
        let next = later(now, pause(delivery.attempts));
        match outcome {
            Outcome::Taken => outbox.delivered(id, now).await,
            Outcome::Failed(reason) if next <= later(*created_at, LIFETIME) => {
                tracing::debug!(id, event, reason, "webhook delivery failed; will retry");
                outbox.postpone(id, next, &reason).await
            }
            Outcome::Failed(reason) => {
                tracing::warn!(id, event, reason, "webhook delivery given up");
                outbox.give_up(id, now, &reason).await
            }
            Outcome::Gone => {
                tracing::warn!(id, event, "webhook receiver gone; delivery given up");
                outbox.give_up(id, now, "its receiver is gone").await
            }
        }
    }

    /// Posts a message. Failure reasons never contain the URL, which may hold a credential.
    pub(super) async fn post(&self, message: &Message, receiver: &Receiver) -> Outcome {
        let Receiver { url, secret, trust } = receiver;
        let (destination, path_and_query) = match super::destination(url, &self.egress, *trust) {
            Ok(place) => place,
            Err(reason) => return Outcome::Failed(reason),
        };
        let request = Outbound {
            destination,
            method: Method::POST,
            path_and_query,
            headers: self.headers(message, secret).into(),
            body: vec![Bytes::from(message.body.clone())].into(),
        };
        let exchange = async {
            let answer = self.egress.send(request).await.map_err(|error| error.reason().to_owned())?;
            let status = answer.status;
            // Read to its end, so that the connection can be reused.
            let _ = answer.body.collect(64 * 1024).await;
            Ok::<_, String>(status)
        };
        match tokio::time::timeout(TIMEOUT, exchange).await {
            Err(_) => Outcome::Failed("no answer in time".into()),
            Ok(Err(reason)) => Outcome::Failed(reason),
            Ok(Ok(status)) if status.is_success() => Outcome::Taken,
            Ok(Ok(http::StatusCode::GONE)) => Outcome::Gone,
            Ok(Ok(status)) => Outcome::Failed(format!("the receiver answered {}", status.as_u16())),
        }
    }

    fn headers(&self, message: &Message, secret: &Secret) -> HeaderMap {
        let signature = sign(secret, self.clock.now().seconds(), &message.body);
        let own = [
            ("x-gatehouse-signature", signature.as_str()),
            ("x-gatehouse-event", &message.event),
            ("x-gatehouse-delivery", &message.id),
        ];
        let own = own.into_iter().filter_map(|(name, value)| {
            Some((HeaderName::from_static(name), HeaderValue::from_str(value).ok()?))
        });
        let mut headers: HeaderMap = own.collect();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::USER_AGENT, HeaderValue::from_static("gatehouse-webhooks"));
        headers
    }

    pub async fn keep_delivering(self) {
        let mut swept: Option<Duration> = None;
        loop {
            if let Err(error) = self.deliver().await {
                tracing::debug!(%error, "webhook outbox access failed");
            }
            let tick = self.clock.tick();
            if swept.is_none_or(|swept| tick.saturating_sub(swept) >= SWEEP) {
                swept = Some(tick);
                self.sweep().await;
            }
            let pause = self.until_due().await;
            // Wakes early for a new message of this process; messages of other processes wait for the timeout.
            _ = tokio::time::timeout(pause, self.events.bell.notified()).await;
        }
    }

    async fn until_due(&self) -> Duration {
        let next = self.store.outbox().next_due().await.ok().flatten();
        let wait = next.map(|next| next.micros().saturating_sub(self.clock.now().micros()).max(0));
        let wait = wait.map_or(LONGEST_SLEEP, |micros| Duration::from_micros(micros as u64));
        wait.clamp(SHORTEST_SLEEP, LONGEST_SLEEP)
    }

    async fn sweep(&self) {
        let (now, outbox) = (self.clock.now(), self.store.outbox());
        let forgotten = async {
            outbox.forget(earlier(now, KEPT)).await?;
            outbox.forget_alerts(earlier(now, ALERTS_KEPT)).await
        };
        if let Err(error) = forgotten.await {
            tracing::debug!(%error, "webhook cleanup failed");
        }
    }
}

/// The delay after this many attempts: four times as long each time, up to an hour.
fn pause(attempts: u32) -> Duration {
    FIRST_RETRY.saturating_mul(4u32.saturating_pow(attempts)).min(LAST_RETRY)
}

fn later(at: Timestamp, by: Duration) -> Timestamp {
    Timestamp(at.micros().saturating_add(by.as_micros() as i64))
}

fn earlier(at: Timestamp, by: Duration) -> Timestamp {
    Timestamp(at.micros().saturating_sub(by.as_micros() as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_an_hour() {
        let seconds: Vec<u64> = (0..8).map(|attempts| pause(attempts).as_secs()).collect();
        assert_eq!(seconds, [1, 4, 16, 64, 256, 1024, 3600, 3600]);
        assert_eq!(pause(u32::MAX), LAST_RETRY);
    }
}
