//! Issuers of tokens at run time: their public keys, and the tokens that were verified.

mod fetch;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use domain::clock::Timestamp;
use domain::principal::TokenFacts;
use egress::Egress;
use identity::key_set::KeySet;
use identity::token::{self, TokenRejection};
use identity::token_issuer::TokenIssuer;

/// The most memory for verified tokens: about 80,000 of common length.
const MOST_BYTES: u64 = 64 << 20;
/// The memory of a verified token beside its text.
const FACTS_BYTES: usize = 512;
/// The shortest time between two requests for the keys of an issuer.
const FETCH_INTERVAL: Duration = Duration::from_secs(10);
/// The time after which keys are requested again without a reason.
const REFRESH_INTERVAL: Duration = Duration::from_secs(300);
/// The time for which keys stay in force while they cannot be requested.
const LONGEST_USE: Duration = Duration::from_secs(24 * 3600);

/// The configured issuers. Their state is shared by all snapshots.
pub struct TokenIssuers {
    issuers: Vec<IssuerState>,
    /// By the text of the token, with the generation of the keys that it was verified with. The hash has a random key, and
    /// an entry is found only by the whole text: a cryptographic digest would cost more than the rest of a lookup.
    verified: moka::sync::Cache<Box<str>, (u64, Arc<TokenFacts>), foldhash::fast::RandomState>,
    /// Changes when an issuer withdraws a key: what was verified before must be verified again.
    generation: AtomicU64,
}

struct IssuerState {
    rules: TokenIssuer,
    keys: ArcSwap<KeySet>,
    /// Held during a request for keys, so that others wait for its result.
    fetched: tokio::sync::Mutex<Fetched>,
}

/// The times of requests for keys.
#[derive(Default)]
struct Fetched {
    last: Option<Duration>,
    last_success: Option<Duration>,
}

impl Default for TokenIssuers {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl TokenIssuers {
    pub fn new(issuers: Vec<TokenIssuer>) -> Self {
        let state = |rules| IssuerState { rules, keys: ArcSwap::default(), fetched: Default::default() };
        let verified = moka::sync::Cache::<Box<str>, (u64, Arc<TokenFacts>)>::builder()
            .max_capacity(MOST_BYTES)
            .weigher(|token, _| u32::try_from(token.len() + FACTS_BYTES).unwrap_or(u32::MAX))
            .build_with_hasher(foldhash::fast::RandomState::default());
        Self { issuers: issuers.into_iter().map(state).collect(), verified, generation: AtomicU64::new(0) }
    }

    pub fn is_empty(&self) -> bool {
        self.issuers.is_empty()
    }

    /// Whether an issuer of this name is configured.
    pub fn has(&self, issuer: &str) -> bool {
        self.issuers.iter().any(|known| known.rules.issuer == issuer)
    }

    /// A token that was verified before and is still valid.
    pub fn find_verified(&self, token: &str, now: Timestamp) -> Option<Arc<TokenFacts>> {
        if self.issuers.is_empty() || !token.starts_with(token::PREFIX) {
            return None;
        }
        let (verified_in, facts) = self.verified.get(token)?;
        let is_current = verified_in == self.generation.load(Ordering::Acquire);
        (is_current && facts.grant.expires_at.is_some_and(|end| now < end)).then_some(facts)
    }

    /// Verifies a token, and keeps it for [`find_verified`](Self::find_verified) until it expires.
    pub fn verify(
        &self,
        token: &str,
        digest: &[u8; 32],
        now: Timestamp,
    ) -> Result<Arc<TokenFacts>, TokenRejection> {
        // Read before the keys: a token that is verified with withdrawn keys meanwhile counts as one of before.
        let generation = self.generation.load(Ordering::Acquire);
        let facts = match self.verify_signature(token, digest, now) {
            Ok(facts) => Arc::new(facts),
            Err(rejection) => {
                self.verified.invalidate(token);
                return Err(rejection);
            }
        };
        self.verified.insert(token.into(), (generation, facts.clone()));
        Ok(facts)
    }

    fn verify_signature(
        &self,
        token: &str,
        digest: &[u8; 32],
        now: Timestamp,
    ) -> Result<TokenFacts, TokenRejection> {
        let issuer = self.issuer_of(token)?;
        let claims = token::verify(token, issuer.rules.rules(), &issuer.keys.load(), now)?;
        issuer.rules.grant(&claims, *digest)
    }

    fn issuer_of(&self, token: &str) -> Result<&IssuerState, TokenRejection> {
        let head = token::head(token)?;
        let known = self.issuers.iter().find(|issuer| issuer.rules.issuer == head.issuer);
        known.ok_or(TokenRejection::UnknownIssuer)
    }

    /// The end of a token that was verified here, by its id.
    pub fn expiry_of(&self, issuer: &str, jti: &str) -> Option<Timestamp> {
        let is_named = |facts: &TokenFacts| &*facts.issuer == issuer && facts.jti.as_deref() == Some(jti);
        let found = self.verified.iter().filter(|(_, (_, facts))| is_named(facts));
        found.filter_map(|(_, (_, facts))| facts.grant.expires_at).max()
    }

    /// Requests the keys of the issuer of a token whose key is not known, unless that was done just before. Waits for a
    /// request in progress.
    pub async fn learn_keys(&self, token: &str, egress: &Egress, now: Duration) {
        if let Ok(issuer) = self.issuer_of(token) {
            self.refresh(issuer, egress, now, FETCH_INTERVAL).await;
        }
    }

    /// Requests the keys of all issuers that have none, and those that are older than the interval of refreshes.
    pub async fn refresh_keys(&self, egress: &Egress, now: Duration) {
        for issuer in &self.issuers {
            let interval = if issuer.keys.load().is_empty() { FETCH_INTERVAL } else { REFRESH_INTERVAL };
            self.refresh(issuer, egress, now, interval).await;
        }
    }

    async fn refresh(&self, issuer: &IssuerState, egress: &Egress, now: Duration, interval: Duration) {
        if issuer.refresh(egress, now, interval).await {
            self.generation.fetch_add(1, Ordering::Release);
        }
    }
}

impl IssuerState {
    /// Requests the keys, unless that was done within the interval. Returns true if known ones were withdrawn.
    async fn refresh(&self, egress: &Egress, now: Duration, interval: Duration) -> bool {
        let mut fetched = self.fetched.lock().await;
        if fetched.last.is_some_and(|at| now.saturating_sub(at) < interval) {
            return false;
        }
        fetched.last = Some(now);
        let issuer = &*self.rules.issuer;
        match fetch::keys(egress, &self.rules).await {
            Ok(keys) => {
                fetched.last_success = Some(now);
                match keys.len() {
                    0 => tracing::warn!(issuer, "key set of a token issuer has no usable key"),
                    keys => tracing::debug!(issuer, keys, "keys of a token issuer read"),
                }
                self.replace(keys)
            }
            Err(reason) if fetched.last_success.is_some_and(|at| now.saturating_sub(at) < LONGEST_USE) => {
                tracing::warn!(
                    issuer,
                    reason,
                    "keys of a token issuer cannot be read, the known keys stay in force"
                );
                false
            }
            Err(reason) => {
                tracing::warn!(
                    issuer,
                    reason,
                    "keys of a token issuer cannot be read, its tokens are refused"
                );
                self.replace(KeySet::default())
            }
        }
    }

    /// Returns true if known keys are missing in the new set.
    fn replace(&self, keys: KeySet) -> bool {
        let is_withdrawn = keys.lacks_key_of(&self.keys.load());
        self.keys.store(Arc::new(keys));
        is_withdrawn
    }
}
