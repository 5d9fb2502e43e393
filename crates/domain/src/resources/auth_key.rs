//! Managed API keys as stored documents. The raw key is never part of the document.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use utoipa::ToSchema;

use super::{Resource, pool::Pool, tenant::Tenant};
use crate::clock::Timestamp;
use crate::fault::{self, Fault};
use crate::ids::Entropy;
use crate::scope::Scope;
use crate::secret::Secret;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RateLimits {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_day: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_minute: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_day: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_parallel_requests: Option<u64>,
    /// Also count tokens read from a provider's prompt cache.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub count_cached: bool,
}

impl RateLimits {
    /// Upper bound of every limit; keeps counters far from integer overflow.
    const MOST: u64 = 1_000_000_000_000;

    pub fn is_unlimited(&self) -> bool {
        self.named().iter().all(|(_, limit)| limit.is_none())
    }

    /// All limits with their names.
    pub fn named(&self) -> [(&'static str, Option<u64>); 5] {
        [
            ("requests_per_minute", self.requests_per_minute),
            ("requests_per_day", self.requests_per_day),
            ("tokens_per_minute", self.tokens_per_minute),
            ("tokens_per_day", self.tokens_per_day),
            ("max_parallel_requests", self.max_parallel_requests),
        ]
    }

    /// These limits, with missing ones taken from `other`.
    pub fn or(&self, other: &Self) -> Self {
        Self {
            requests_per_minute: self.requests_per_minute.or(other.requests_per_minute),
            requests_per_day: self.requests_per_day.or(other.requests_per_day),
            tokens_per_minute: self.tokens_per_minute.or(other.tokens_per_minute),
            tokens_per_day: self.tokens_per_day.or(other.tokens_per_day),
            max_parallel_requests: self.max_parallel_requests.or(other.max_parallel_requests),
            count_cached: self.count_cached || other.count_cached,
        }
    }

    /// The first limit of `other` that these limits exceed.
    pub fn beyond(&self, other: &Self) -> Option<(&'static str, u64)> {
        self.named().into_iter().zip(other.named()).find_map(|((name, own), (_, most))| {
            let most = most?;
            own.is_none_or(|own| own > most).then_some((name, most))
        })
    }

    fn validate(&self) -> Result<(), Fault> {
        for (name, limit) in self.named() {
            let Some(limit) = limit else { continue };
            let reason = match limit {
                0 => "A limit is at least 1. To stop a key, deactivate it; for no limit, leave this out.",
                1..=Self::MOST => continue,
                _ => "A limit is at most 1000000000000. For no limit, leave this out.",
            };
            return Err(fault::invalid_parameter(format!("rate_limits.{name}"), reason));
        }
        Ok(())
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuthKey {
    pub id: String,
    pub name: String,
    #[serde(default)]
    pub description: String,
    pub scopes: Vec<Scope>,
    #[serde(default)]
    pub user_path: Option<String>,
    #[serde(default)]
    pub tenant_id: Option<String>,
    #[serde(default)]
    pub allowed_providers: Option<Vec<String>>,
    #[serde(default)]
    pub allowed_models: Option<Vec<String>>,
    #[serde(default)]
    pub denied_models: Option<Vec<String>>,
    #[serde(default)]
    pub provider_pool_id: Option<String>,
    #[serde(default)]
    pub rate_limits: RateLimits,
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
    #[serde(default)]
    pub deactivated_at: Option<Timestamp>,
    /// SHA-256 of the raw key, in hex.
    pub digest: String,
    /// The part of the raw key that may be shown: `gk_abcd…wxyz`.
    pub redacted_value: String,
    /// Values from before rotations, each valid until its own expiry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub previous: Vec<Previous>,
}

/// An earlier value of a rotated key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Previous {
    pub digest: String,
    pub redacted_value: String,
    pub valid_until: Timestamp,
}

/// Maximum number of earlier values that may be valid at once.
pub const MOST_PREVIOUS: usize = 5;

impl Resource for AuthKey {
    const KIND: &'static str = "auth_key";
    // The digest does not reveal the key, but there is no reason to show it.
    const SECRETS: &'static [&'static str] = &["digest", "previous"];

    #[expect(
        clippy::misnamed_getters,
        reason = "a key is addressed by its id; its name is for people and may repeat"
    )]
    fn name(&self) -> &str {
        &self.id
    }

    fn validate(&self) -> Result<(), Fault> {
        let length = self.name.trim().chars().count();
        if length == 0 || length > 200 {
            return Err(fault::invalid_parameter("name", "A key needs a name of 1 to 200 characters."));
        }
        if self.scopes.is_empty() {
            return Err(fault::invalid_parameter("scopes", "A key needs at least one scope."));
        }
        self.tenant_id.as_deref().map_or(Ok(()), tenant_fits)?;
        if self.description.chars().count() > 2000 {
            return Err(fault::invalid_parameter(
                "description",
                "A description has at most 2000 characters.",
            ));
        }
        let lists = [
            ("allowed_providers", &self.allowed_providers),
            ("allowed_models", &self.allowed_models),
            ("denied_models", &self.denied_models),
        ];
        lists
            .into_iter()
            .try_for_each(|(name, list)| entries_fit(name, list.as_deref().unwrap_or_default()))?;
        self.rate_limits.validate()
    }

    /// A deactivated key refers to nothing, so it does not block deletions.
    fn references(&self) -> Vec<(&'static str, String)> {
        let pool = self.provider_pool_id.clone().filter(|_| self.deactivated_at.is_none());
        let tenant = self.tenant_id.clone().map(|tenant| (Tenant::KIND, tenant));
        pool.map(|pool| (Pool::KIND, pool)).into_iter().chain(tenant).collect()
    }
}

impl AuthKey {
    /// A key with this raw value, for inference and without limits.
    pub fn new(id: String, name: &str, raw: &Secret) -> Self {
        Self {
            id,
            name: name.trim().to_owned(),
            description: String::new(),
            scopes: vec![Scope::Inference],
            user_path: None,
            tenant_id: None,
            allowed_providers: None,
            allowed_models: None,
            denied_models: None,
            provider_pool_id: None,
            rate_limits: RateLimits::default(),
            expires_at: None,
            deactivated_at: None,
            digest: hex_digest(raw.reveal()),
            redacted_value: redact(raw.reveal()),
            previous: Vec::new(),
        }
    }

    /// Replaces the value of the key. The old value stays valid until `until`; if that is not in the future, it ends
    /// now. Earlier values keep their own expiry and are removed after it.
    pub fn rotate(&mut self, raw: &Secret, until: Timestamp, now: Timestamp) -> Result<(), Fault> {
        self.previous.retain(|previous| now < previous.valid_until);
        if now < until {
            if let (true, Some(next)) = (self.previous.len() >= MOST_PREVIOUS, self.next_end()) {
                let seconds = (next.micros() - now.micros()) / 1_000_000 + 1;
                return Err(fault::conflict(format!(
                    "{MOST_PREVIOUS} earlier values of this key are still valid; the first of them ends in {seconds} s. \
                     Rotate with overlap_seconds 0, or end them with \"previous\": null."
                )));
            }
            self.previous.push(Previous {
                digest: std::mem::take(&mut self.digest),
                redacted_value: std::mem::take(&mut self.redacted_value),
                valid_until: until,
            });
        }
        self.digest = hex_digest(raw.reveal());
        self.redacted_value = redact(raw.reveal());
        Ok(())
    }

    fn next_end(&self) -> Option<Timestamp> {
        self.previous.iter().map(|previous| previous.valid_until).min()
    }

    /// The digests of all its values, the current one first.
    pub fn digests(&self) -> impl Iterator<Item = &str> {
        let previous = self.previous.iter().map(|previous| &*previous.digest);
        std::iter::once(&*self.digest).chain(previous)
    }

    pub fn active(&self, now: Timestamp) -> bool {
        self.deactivated_at.is_none() && self.expires_at.is_none_or(|at| now < at)
    }
}

/// Validates a tenant id. It is part of database keys, in which `|` is the separator.
pub fn tenant_fits(tenant: &str) -> Result<(), Fault> {
    let plain = !tenant.chars().any(|character| character == '|' || character.is_control());
    if plain && (1..=200).contains(&tenant.len()) {
        return Ok(());
    }
    let message = "A tenant id has 1 to 200 bytes, on one line and without '|'.";
    Err(fault::invalid_parameter("tenant_id", message))
}

/// Maximum length of an access list; every call of the key scans its lists.
const MOST_ENTRIES: usize = 1000;

fn entries_fit(name: &str, list: &[String]) -> Result<(), Fault> {
    if list.len() > MOST_ENTRIES {
        let message = format!("'{name}' has at most {MOST_ENTRIES} entries.");
        return Err(fault::invalid_parameter(name, message));
    }
    match list.iter().position(|entry| entry.trim().is_empty() || entry.len() > 300) {
        None => Ok(()),
        Some(place) => {
            Err(fault::invalid_parameter(format!("{name}[{place}]"), "An entry has 1 to 300 characters."))
        }
    }
}

pub const KEY_PREFIX: &str = "gk_";
const RANDOM_LENGTH: usize = 43;
const CHECKSUM_LENGTH: usize = 6;

/// Generates a raw key: `gk_`, 43 random characters (256 bits) and a 6-character checksum, all URL-safe.
pub fn mint(entropy: &dyn Entropy) -> Secret {
    let mut random = [0u8; 32];
    entropy.fill(&mut random);
    let body = URL_SAFE_NO_PAD.encode(random);
    let checksum = checksum(&body);
    Secret::new(format!("{KEY_PREFIX}{body}{checksum}"))
}

/// True if a text has the form of a managed key, checksum included; detects typos without a lookup.
pub fn is_well_formed(raw: &str) -> bool {
    let Some(rest) = raw.strip_prefix(KEY_PREFIX) else { return false };
    rest.is_ascii()
        && rest.len() == RANDOM_LENGTH + CHECKSUM_LENGTH
        && checksum(&rest[..RANDOM_LENGTH]) == rest[RANDOM_LENGTH..]
}

pub fn digest(raw: &str) -> [u8; 32] {
    Sha256::digest(raw.as_bytes()).into()
}

pub fn hex_digest(raw: &str) -> String {
    digest_hex(&digest(raw))
}

/// A digest as 64 hex digits.
pub fn digest_hex(digest: &[u8; 32]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads a digest from 64 hex digits.
pub fn parse_digest(text: &str) -> Option<[u8; 32]> {
    let mut digest = [0u8; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (byte, pair) in digest.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(digest)
}

pub fn redact(raw: &str) -> String {
    let tail = raw.get(raw.len().saturating_sub(4)..).unwrap_or_default();
    format!("{}…{tail}", raw.get(..7).unwrap_or_default())
}

fn checksum(body: &str) -> String {
    let mut text = URL_SAFE_NO_PAD.encode(Sha256::digest(body.as_bytes()));
    text.truncate(CHECKSUM_LENGTH);
    text
}

#[cfg(test)]
mod tests;
