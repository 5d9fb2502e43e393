//! Webhooks: messages are stored in an outbox until delivered, signed, sent under the rules for admin-set destinations,
//! and retried for a day.

mod delivery;
mod signature;

use std::sync::Arc;

use domain::clock::{Clock, Timestamp};
use domain::fault::{self, Fault};
use domain::ids::{self, Entropy};
use domain::resources::budget_settings::{self, BudgetSettings};
use egress::{Destination, Egress, EgressError, Trust};
use http::Uri;
use serde::Serialize;
use store::{Alert, Message, Store, StoreError};
use tokio::sync::Notify;

pub use signature::sign;

/// The outbox and its sender. Clones share the notification.
#[derive(Clone)]
pub struct Webhooks {
    store: Store,
    egress: Egress,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    trust: Trust,
    /// Notified when there is a new message.
    bell: Arc<Notify>,
}

#[derive(Serialize)]
struct Envelope<'a, T> {
    id: &'a str,
    event: &'a str,
    created_at: String,
    data: &'a T,
}

impl Webhooks {
    pub fn new(
        store: Store,
        egress: Egress,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        trust: Trust,
    ) -> Self {
        Self { store, egress, clock, entropy, trust, bell: Arc::default() }
    }

    /// Puts a message into the outbox, if a webhook is configured.
    pub async fn send(&self, event: &str, data: &impl Serialize) -> Result<(), StoreError> {
        if let Some(message) = self.message(event, data).await? {
            self.store.outbox().put(&message).await?;
            // Stores a permit if the sender is not waiting at the moment, so that no message is missed.
            self.bell.notify_one();
        }
        Ok(())
    }

    /// Sends an alert only once. Returns false if it was sent before.
    pub async fn alert(&self, alert: &Alert, event: &str, data: &impl Serialize) -> Result<bool, StoreError> {
        let message = self.message(event, data).await?;
        let first = self.store.outbox().alert(alert, message.as_ref()).await?;
        self.bell.notify_one();
        Ok(first)
    }

    async fn message(&self, event: &str, data: &impl Serialize) -> Result<Option<Message>, StoreError> {
        let Some(url) = self.settings().await?.webhook_url else { return Ok(None) };
        let now = self.clock.now();
        let id = ids::prefixed("evt", now, &*self.entropy);
        let envelope = Envelope { id: &id, event, created_at: time(now), data };
        let body = serde_json::to_string(&envelope).map_err(|error| StoreError::Failed(error.to_string()))?;
        Ok(Some(Message { id, created_at: now, event: event.to_owned(), url, body }))
    }

    async fn settings(&self) -> Result<BudgetSettings, StoreError> {
        let stored = self.store.collection::<BudgetSettings>().get(budget_settings::NAME).await?;
        Ok(stored.map(|stored| stored.value).unwrap_or_default())
    }
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
