//! Webhooks: messages are stored in an outbox until delivered, signed, sent under the rules for admin-set destinations,
//! and retried for a day.

mod delivery;
mod events;
mod signature;

use std::sync::Arc;
use std::time::Duration;

use domain::clock::{Clock, Timestamp};
use domain::fault::{self, Fault};
use domain::ids::{self, Entropy};
use domain::resources::budget_settings::{self, BudgetSettings};
use domain::secret::Secret;
use egress::{Destination, Egress, EgressError, Trust};
use http::Uri;
use serde::Serialize;
use store::{Alert, Message, Store, StoreError};

pub use events::{ConfiguredReceiver, FailedLogin, PendingEvent, WebhookEvent, WebhookEvents};
pub use signature::sign;

/// The outbox and its sender. Clones share the notification.
#[derive(Clone)]
pub struct Webhooks {
    store: Store,
    egress: Egress,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    trust: Trust,
    events: Arc<WebhookEvents>,
    file_settings: FileBudgetSettings,
}

/// Reads the budget settings of the configuration file, which are in force while none are stored.
pub type FileBudgetSettings = Arc<dyn Fn() -> Option<BudgetSettings> + Send + Sync>;

#[derive(Serialize)]
struct Envelope<'a, T> {
    id: &'a str,
    event: &'a str,
    created_at: String,
    data: &'a T,
}

/// The address, secret and trust of a receiver.
struct Receiver {
    url: String,
    secret: Secret,
    trust: Trust,
}

/// The result of a test message.
#[derive(Debug)]
pub struct TestResult {
    pub id: String,
    /// The reason if the receiver did not take it.
    pub error: Option<String>,
    pub duration: Duration,
}

/// The event of test messages, which every receiver gets.
pub const TEST_EVENT: &str = "webhook.test";

impl Webhooks {
    pub fn new(
        store: Store,
        egress: Egress,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        trust: Trust,
        events: Arc<WebhookEvents>,
        file_settings: FileBudgetSettings,
    ) -> Self {
        Self { store, egress, clock, entropy, trust, events, file_settings }
    }

    /// Puts a message into the outbox, if a receiver wants the event.
    pub async fn send(
        &self,
        event: WebhookEvent,
        at: Timestamp,
        data: &impl Serialize,
    ) -> Result<(), StoreError> {
        let id = ids::prefixed("evt", at, &*self.entropy);
        self.send_once(&id, event, at, data).await
    }

    /// As [`Webhooks::send`], unless there is a message of this id.
    pub async fn send_once(
        &self,
        id: &str,
        event: WebhookEvent,
        at: Timestamp,
        data: &impl Serialize,
    ) -> Result<(), StoreError> {
        if let Some(message) = self.message(id.to_owned(), event, at, data).await? {
            self.store.outbox().put_once(&message).await?;
            // Stores a permit if the sender is not waiting at the moment, so that no message is missed.
            self.events.bell.notify_one();
        }
        Ok(())
    }

    /// Sends an alert only once. Returns false if it was sent before.
    pub async fn alert(
        &self,
        alert: &Alert,
        event: WebhookEvent,
        data: &impl Serialize,
    ) -> Result<bool, StoreError> {
        let now = self.clock.now();
        let id = ids::prefixed("evt", now, &*self.entropy);
        let message = self.message(id, event, now, data).await?;
        let first = self.store.outbox().alert(alert, message.as_ref()).await?;
        self.events.bell.notify_one();
        Ok(first)
    }

    /// Sends a message at once, without the outbox; `None` if no receiver is configured.
    pub async fn test(&self) -> Result<Option<TestResult>, StoreError> {
        let configured = self.configured();
        let receiver = match configured {
            Some(receiver) => Some(receiver),
            None => self.budget_receiver().await?,
        };
        let Some(receiver) = receiver else { return Ok(None) };
        let now = self.clock.now();
        let id = ids::prefixed("evt", now, &*self.entropy);
        let data = serde_json::json!({"message": "This is a test of the webhook."});
        let message = envelope(id.clone(), TEST_EVENT, now, &data)?;
        let started = self.clock.tick();
        let error = self.post(&message, &receiver).await.error();
        Ok(Some(TestResult { id, error, duration: self.clock.tick().saturating_sub(started) }))
    }

    /// Sends a finished message again. Returns false if there is no such message, or if it is still being delivered.
    pub async fn replay(&self, id: &str) -> Result<bool, StoreError> {
        let is_due = self.store.outbox().replay(id, self.clock.now()).await?;
        self.events.bell.notify_one();
        Ok(is_due)
    }

    async fn message(
        &self,
        id: String,
        event: WebhookEvent,
        at: Timestamp,
        data: &impl Serialize,
    ) -> Result<Option<Message>, StoreError> {
        match self.receiver(event.as_str()).await? {
            Some(_) => envelope(id, event.as_str(), at, data).map(Some),
            None => Ok(None),
        }
    }

    /// The receiver of an event at this moment: for budgets the one of the budget settings, if they name one.
    async fn receiver(&self, event: &str) -> Result<Option<Receiver>, StoreError> {
        let known = WebhookEvent::parse(event);
        if known == Some(WebhookEvent::BudgetThreshold)
            && let Some(receiver) = self.budget_receiver().await?
        {
            return Ok(Some(receiver));
        }
        let is_wanted = known.is_some_and(|event| self.events.receiver_of(event).is_some());
        Ok(self.configured().filter(|_| is_wanted))
    }

    fn configured(&self) -> Option<Receiver> {
        let receiver = self.events.receiver()?;
        let (url, secret) = (receiver.url.reveal().to_owned(), receiver.secret.clone());
        Some(Receiver { url, secret, trust: Trust::Operator })
    }

    async fn budget_receiver(&self) -> Result<Option<Receiver>, StoreError> {
        let stored = self.store.collection::<BudgetSettings>().get(budget_settings::NAME).await?;
        let (settings, trust) = match stored {
            Some(stored) => (stored.value, self.trust),
            None => ((self.file_settings)().unwrap_or_default(), Trust::Operator),
        };
        let named = settings.webhook_url.zip(settings.webhook_secret);
        Ok(named.map(|(url, secret)| Receiver { url, secret, trust }))
    }
}

fn envelope(id: String, event: &str, at: Timestamp, data: &impl Serialize) -> Result<Message, StoreError> {
    let envelope = Envelope { id: &id, event, created_at: time(at), data };
    let body = serde_json::to_string(&envelope).map_err(|error| StoreError::Failed(error.to_string()))?;
    // Sent to the receiver of the moment, so that no address is stored.
    Ok(Message { id, created_at: at, event: event.to_owned(), url: String::new(), body })
}

/// Formats a time as in all records.
pub fn time(at: Timestamp) -> String {
    let moment = jiff::Timestamp::from_microsecond(at.micros()).unwrap_or_default();
    format!("{moment:.3}")
}

/// Checks whether a URL, the value of a parameter, may be used for a webhook. Host names are checked again at every connection.
pub fn check(param: &str, url: &str, egress: &Egress, trust: Trust) -> Result<(), Fault> {
    if url.len() > 2000 {
        return Err(fault::invalid_parameter(param, "A URL has at most 2000 characters."));
    }
    let refused = |reason: String| {
        fault::invalid_parameter(param, format!("This cannot be a webhook's URL: {reason}."))
    };
    destination(url, egress, trust).map_err(refused)?;
    if needs_https(url, trust) {
        return Err(refused("a public address needs https".to_owned()));
    }
    Ok(())
}

/// Whether the URL uses plain http with a host that can only be public; such requests would always be refused.
fn needs_https(url: &str, trust: Trust) -> bool {
    let uri: Uri = url.trim().parse().unwrap_or_default();
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).trim_end_matches('.');
    let near = host.eq_ignore_ascii_case("localhost") || host.to_ascii_lowercase().ends_with(".localhost");
    let literal = host.parse::<std::net::IpAddr>().is_ok();
    let public = matches!(trust, Trust::Admin { allow_private: false, .. }) && !near && !literal;
    public && uri.scheme_str() == Some("http")
}

/// The destination of a URL, and its path and query. Unlike a provider's base URL, it may have a query.
pub fn destination(url: &str, egress: &Egress, trust: Trust) -> Result<(Arc<Destination>, String), String> {
    let uri: Uri = url.trim().parse().map_err(|_| "it cannot be read".to_owned())?;
    let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
        return Err("it must begin with https:// and a host".into());
    };
    if url.contains('#') {
        return Err("it must not have a fragment".into());
    }
    let reason = |error: EgressError| error.reason().to_owned();
    let found = egress.destination(&format!("{scheme}://{authority}"), trust).map_err(reason)?;
    let path_and_query = uri.path_and_query().map_or("/", |whole| whole.as_str());
    Ok((found, path_and_query.to_owned()))
}
