//! Webhooks: messages are kept in storage until their receiver has taken them, signed, sent by the rules for admin-set
//! destinations, and tried again for a day.

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

/// Where messages are put, and whoever sends them. Clones share the bell.
#[derive(Clone)]
pub struct Webhooks {
    store: Store,
    egress: Egress,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    trust: Trust,
    /// Rung when there is a new message.
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

    /// Puts a message into the outbox, if anybody wants to hear.
    pub async fn send(&self, event: &str, data: &impl Serialize) -> Result<(), StoreError> {
        if let Some(message) = self.message(event, data).await? {
            self.store.outbox().put(&message).await?;
            self.bell.notify_one();
        }
        Ok(())
    }

    /// The same for what is to be told once: false when it was told before.
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

/// As in all records.
pub fn time(at: Timestamp) -> String {
    let moment = jiff::Timestamp::from_microsecond(at.micros()).unwrap_or_default();
    format!("{moment:.3}")
}

/// Whether a URL may be a receiver's; a name is judged again whenever it is dialled.
pub fn check(url: &str, egress: &Egress, trust: Trust) -> Result<(), Fault> {
    if url.len() > 2000 {
        return Err(fault::invalid_parameter("webhook_url", "A URL has at most 2000 characters."));
    }
    place(url, egress, trust).map(drop).map_err(|reason| {
        fault::invalid_parameter("webhook_url", format!("This cannot be a webhook's URL: {reason}."))
    })
}

/// The origin, and what stands behind it: unlike a provider's base URL, a receiver's may have a query.
fn place(url: &str, egress: &Egress, trust: Trust) -> Result<(Arc<Destination>, String), String> {
    let uri: Uri = url.trim().parse().map_err(|_| "it cannot be read".to_owned())?;
    let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
        return Err("it must begin with https:// and a host".into());
    };
    if url.contains('#') {
        return Err("it must not have a fragment".into());
    }
    let reason = |error: EgressError| error.reason().to_owned();
    let destination = egress.destination(&format!("{scheme}://{authority}"), trust).map_err(reason)?;
    let path_and_query = uri.path_and_query().map_or("/", |whole| whole.as_str());
    Ok((destination, path_and_query.to_owned()))
}
