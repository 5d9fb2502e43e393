//! Cached documents of OpenID Connect providers: discovery and key sets. Concurrent logins share one request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use egress::Egress;
use identity::key_set::KeySet;
use identity::oidc::{DISCOVERY_PATH, Discovery, OidcProvider};
use pipeline::services::json_document;

/// The time for which a document is used without a new request.
const TTL: Duration = Duration::from_secs(600);
/// The shortest time between two requests for the same document, after an error and for a key that is not known.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);
/// The time for which a document is used while a newer one cannot be requested.
const LONGEST_USE: Duration = Duration::from_secs(24 * 3600);

/// The documents of all providers, by issuer.
#[derive(Default)]
pub struct OidcDocuments {
    providers: Mutex<HashMap<String, Arc<ProviderDocuments>>>,
}

#[derive(Default)]
struct ProviderDocuments {
    // Held during a request, so that others wait for its result.
    discovery: tokio::sync::Mutex<Cached<Discovery>>,
    keys: tokio::sync::Mutex<Cached<KeySet>>,
}

/// A document with the times of its requests.
struct Cached<T> {
    current: Option<Arc<T>>,
    read_at: Duration,
    /// The last request, and the reason why it failed.
    asked_at: Option<Duration>,
    failure: Option<String>,
}

impl<T> Default for Cached<T> {
    fn default() -> Self {
        Self { current: None, read_at: Duration::ZERO, asked_at: None, failure: None }
    }
}

impl<T> Cached<T> {
    /// The document, unless it has to be requested: it is older than `longest`, and no request was made just before.
    fn usable(&self, now: Duration, longest: Duration) -> Option<Result<Arc<T>, String>> {
        let age = now.saturating_sub(self.read_at);
        let was_just_asked = self.asked_at.is_some_and(|at| now.saturating_sub(at) < RETRY_INTERVAL);
        match &self.current {
            Some(document) if age < longest || (was_just_asked && age < LONGEST_USE) => {
                Some(Ok(document.clone()))
            }
            _ if was_just_asked => Some(Err(self.failure.clone().unwrap_or_default())),
            _ => None,
        }
    }

    /// Keeps the result of a request. After an error, the known document stays in use for a day.
    fn keep(&mut self, result: Result<T, String>, now: Duration) -> Result<Arc<T>, String> {
        self.asked_at = Some(now);
        match result {
            Ok(document) => {
                let document = Arc::new(document);
                (self.read_at, self.failure) = (now, None);
                self.current = Some(document.clone());
                Ok(document)
            }
            Err(reason) => {
                self.failure = Some(reason.clone());
                let is_usable = now.saturating_sub(self.read_at) < LONGEST_USE;
                self.current.clone().filter(|_| is_usable).ok_or(reason)
            }
        }
    }
}

impl OidcDocuments {
    fn of(&self, provider: &OidcProvider) -> Arc<ProviderDocuments> {
        let mut providers = self.providers.lock().unwrap_or_else(PoisonError::into_inner);
        providers.entry(provider.issuer.clone()).or_default().clone()
    }

    /// The discovery document of a provider.
    pub async fn discovery(
        &self,
        egress: &Egress,
        provider: &OidcProvider,
        now: Duration,
    ) -> Result<Arc<Discovery>, String> {
        let documents = self.of(provider);
        let mut discovery = documents.discovery.lock().await;
        if let Some(usable) = discovery.usable(now, TTL) {
            return usable;
        }
        let address = format!("{}{DISCOVERY_PATH}", provider.issuer.trim_end_matches('/'));
        let document = json_document::get(egress, &address).await;
        discovery.keep(document.and_then(|json| Discovery::parse(&json, &provider.issuer)), now)
    }

    /// The key set of a provider, not older than `longest`: zero requests it again for a key that is not known, unless that
    /// was done just before.
    async fn keys_within(
        &self,
        egress: &Egress,
        provider: &OidcProvider,
        discovery: &Discovery,
        (now, longest): (Duration, Duration),
    ) -> Result<Arc<KeySet>, String> {
        let documents = self.of(provider);
        let mut keys = documents.keys.lock().await;
        if let Some(usable) = keys.usable(now, longest) {
            return usable;
        }
        let document = json_document::get(egress, &discovery.jwks_uri).await;
        keys.keep(document.and_then(|json| KeySet::parse(&json)), now)
    }

    /// The key set of a provider.
    pub async fn keys(
        &self,
        egress: &Egress,
        provider: &OidcProvider,
        discovery: &Discovery,
        now: Duration,
    ) -> Result<Arc<KeySet>, String> {
        self.keys_within(egress, provider, discovery, (now, TTL)).await
    }

    /// The key set of a provider after a token with a key that the known set lacks.
    pub async fn newer_keys(
        &self,
        egress: &Egress,
        provider: &OidcProvider,
        discovery: &Discovery,
        now: Duration,
    ) -> Result<Arc<KeySet>, String> {
        self.keys_within(egress, provider, discovery, (now, Duration::ZERO)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    #[test]
    fn documents_are_requested_when_they_are_old_and_not_more_often() {
        let mut cached = Cached::default();
        assert!(cached.usable(seconds(0), TTL).is_none(), "there is none yet");
        assert_eq!(cached.keep(Ok(1), seconds(0)), Ok(Arc::new(1)));
        assert_eq!(cached.usable(seconds(599), TTL), Some(Ok(Arc::new(1))));
        assert!(cached.usable(seconds(600), TTL).is_none());
        // A key that is not known: at most every few seconds.
        assert_eq!(cached.usable(seconds(4), Duration::ZERO), Some(Ok(Arc::new(1))));
        assert!(cached.usable(seconds(5), Duration::ZERO).is_none());
    }

    #[test]
    fn a_known_document_outlives_errors_for_a_day() {
        let mut cached = Cached::default();
        assert_eq!(cached.keep(Err::<i32, _>("down".to_owned()), seconds(0)), Err("down".to_owned()));
        assert_eq!(
            cached.usable(seconds(4), TTL),
            Some(Err("down".to_owned())),
            "errors are kept for a moment"
        );
        assert!(cached.usable(seconds(5), TTL).is_none());
        assert_eq!(cached.keep(Ok(1), seconds(5)), Ok(Arc::new(1)));
        assert_eq!(cached.keep(Err("down".to_owned()), seconds(700)), Ok(Arc::new(1)));
        assert_eq!(cached.usable(seconds(704), TTL), Some(Ok(Arc::new(1))));
        assert!(cached.usable(seconds(705), TTL).is_none());
        assert_eq!(cached.keep(Err("down".to_owned()), seconds(90_000)), Err("down".to_owned()));
    }
}
