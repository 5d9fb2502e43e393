//! The events that webhooks report, the receiver of the configuration, and events that wait to be stored.

use std::collections::VecDeque;

use domain::clock::Timestamp;
use domain::secret::Secret;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::Notify;

use crate::services::live_value::{LiveValue, TooManyVersions};

/// Events that wait for storage at most; the oldest ones are dropped.
const MOST_WAITING: usize = 1000;

/// Declares the events by their names.
macro_rules! events {
    ($($variant:ident = $name:literal;)*) => {
        /// A kind of event that a webhook can report.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum WebhookEvent {
            $($variant,)*
        }

        impl WebhookEvent {
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            pub fn parse(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

events! {
    BudgetThreshold = "budget.threshold";
    BreakerOpened = "breaker.opened";
    BreakerClosed = "breaker.closed";
    KeyCreated = "key.created";
    KeyRevoked = "key.revoked";
    KeyExpiring = "key.expiring";
    LoginFailed = "login.failed";
    ConfigChanged = "config.changed";
}

/// The receiver that the configuration names.
#[derive(Clone, Debug)]
pub struct ConfiguredReceiver {
    pub url: Secret,
    pub secret: Secret,
    pub events: Vec<WebhookEvent>,
}

/// An event that waits to be stored.
#[derive(Debug)]
pub struct PendingEvent {
    pub event: WebhookEvent,
    pub at: Timestamp,
    pub data: Value,
}

/// The configured receiver, and the events of this process that are not stored yet.
#[derive(Default)]
pub struct WebhookEvents {
    receiver: LiveValue<Option<ConfiguredReceiver>>,
    waiting: Mutex<VecDeque<PendingEvent>>,
    /// Notified when there is a new event.
    pub(super) arrived: Notify,
    /// Notified when there is a new message in the outbox.
    pub(super) bell: Notify,
}

impl WebhookEvents {
    pub fn new(receiver: Option<ConfiguredReceiver>) -> Self {
        Self { receiver: receiver.into(), ..Self::default() }
    }

    /// Whether the receiver can still be replaced.
    pub fn is_replaceable(&self) -> bool {
        self.receiver.is_replaceable()
    }

    /// Replaces the receiver when the settings change. Messages that wait are sent to the new one.
    pub fn set_receiver(&self, receiver: Option<ConfiguredReceiver>) -> Result<(), TooManyVersions> {
        self.receiver.replace(receiver)
    }

    /// The configured receiver, if it wants this event.
    pub fn receiver_of(&self, event: WebhookEvent) -> Option<&ConfiguredReceiver> {
        self.receiver.as_ref().filter(|receiver| receiver.events.contains(&event))
    }

    /// The configured receiver.
    pub fn receiver(&self) -> Option<&ConfiguredReceiver> {
        self.receiver.as_ref()
    }

    /// Reports an event. Costs nothing if nobody wants it, never waits, and fails without effect on the caller.
    pub fn emit(&self, event: WebhookEvent, at: Timestamp, data: &impl Serialize) {
        if self.receiver_of(event).is_none() {
            return;
        }
        let Ok(data) = serde_json::to_value(data) else { return };
        self.give_back(PendingEvent { event, at, data });
        self.arrived.notify_one();
    }

    /// The oldest event that waits.
    pub fn next(&self) -> Option<PendingEvent> {
        self.waiting.lock().pop_front()
    }

    /// Keeps an event that could not be stored.
    pub fn give_back(&self, event: PendingEvent) {
        let mut waiting = self.waiting.lock();
        if waiting.len() == MOST_WAITING {
            waiting.pop_front();
            tracing::warn!("too many webhook events wait for storage; the oldest was dropped");
        }
        waiting.push_back(event);
    }

    /// Waits for a new event.
    pub async fn arrived(&self) {
        self.arrived.notified().await;
    }
}

/// The data of `login.failed`. Never contains what was typed as a password.
#[derive(Debug, Serialize)]
pub struct FailedLogin<'a> {
    /// The account that was named, if any.
    pub email: Option<&'a str>,
    /// The OIDC provider, for a login through one.
    pub provider: Option<&'a str>,
    pub client_ip: Option<String>,
    /// A short reason, such as `wrong_password` or `throttled`.
    pub reason: &'a str,
    pub request_id: &'a str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_wanted_events_are_kept() {
        let receiver = ConfiguredReceiver {
            url: Secret::new("https://example.com"),
            secret: Secret::new("whsec_0123456789"),
            events: vec![WebhookEvent::KeyCreated],
        };
        let events = WebhookEvents::new(Some(receiver));
        events.emit(WebhookEvent::LoginFailed, Timestamp(1), &"x");
        events.emit(WebhookEvent::KeyCreated, Timestamp(2), &"y");
        let found = events.next().unwrap();
        assert_eq!((found.event, found.at, found.data), (WebhookEvent::KeyCreated, Timestamp(2), "y".into()));
        assert!(events.next().is_none());
        let off = WebhookEvents::default();
        off.emit(WebhookEvent::KeyCreated, Timestamp(2), &"y");
        assert!(off.next().is_none());
    }

    #[test]
    fn the_oldest_events_are_dropped() {
        let events = WebhookEvents::default();
        for at in 0..=MOST_WAITING as i64 {
            let (event, data) = (WebhookEvent::KeyCreated, Value::Null);
            events.give_back(PendingEvent { event, at: Timestamp(at), data });
        }
        assert_eq!(events.next().unwrap().at, Timestamp(1));
    }

    #[test]
    fn names_are_read_back() {
        for event in WebhookEvent::ALL {
            assert_eq!(WebhookEvent::parse(event.as_str()), Some(*event));
        }
        assert_eq!(WebhookEvent::parse("key.deleted"), None);
    }
}
