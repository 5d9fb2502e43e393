//! Managed API keys: the document that is stored. The raw key is never part of it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use utoipa::ToSchema;

use super::{Resource, pool::Pool};
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
}

impl RateLimits {
    /// Nobody means a larger one; and what is counted stays far from the end of its integers.
    const MOST: u64 = 1_000_000_000_000;

    pub fn is_unlimited(&self) -> bool {
        self.named().iter().all(|(_, limit)| limit.is_none())
    }

    /// Every limit by its name.
    pub fn named(&self) -> [(&'static str, Option<u64>); 5] {
        [
            ("requests_per_minute", self.requests_per_minute),
            ("requests_per_day", self.requests_per_day),
            ("tokens_per_minute", self.tokens_per_minute),
            ("tokens_per_day", self.tokens_per_day),
            ("max_parallel_requests", self.max_parallel_requests),
        ]
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
    /// SHA-256 of the raw key, hex.
    pub digest: String,
    /// What may be shown of the raw key: `gk_abcd…wxyz`.
    pub redacted_value: String,
}

impl Resource for AuthKey {
    const KIND: &'static str = "auth_key";
    // A digest is no key, but nobody needs to see it either.
    const SECRETS: &'static [&'static str] = &["digest"];

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
        self.rate_limits.validate()
    }

    /// A key that is over holds nothing back.
    fn references(&self) -> Vec<(&'static str, String)> {
        let pool = self.provider_pool_id.clone().filter(|_| self.deactivated_at.is_none());
        pool.map(|pool| (Pool::KIND, pool)).into_iter().collect()
    }
}

impl AuthKey {
    pub fn active(&self, now: Timestamp) -> bool {
        self.deactivated_at.is_none() && self.expires_at.is_none_or(|at| now < at)
    }
}

pub const KEY_PREFIX: &str = "gk_";
const RANDOM_LENGTH: usize = 43;
const CHECKSUM_LENGTH: usize = 6;

/// A new raw key: `gk_`, 43 random characters (256 bits) and a 6-character checksum, all URL-safe.
pub fn mint(entropy: &dyn Entropy) -> Secret {
    let mut random = [0u8; 32];
    entropy.fill(&mut random);
    let body = URL_SAFE_NO_PAD.encode(random);
    let checksum = checksum(&body);
    Secret::new(format!("{KEY_PREFIX}{body}{checksum}"))
}

/// Whether a text has the form of a managed key, checksum included: a typo is seen without a lookup.
pub fn is_well_formed(raw: &str) -> bool {
    let Some(rest) = raw.strip_prefix(KEY_PREFIX) else { return false };
    rest.is_ascii()
        && rest.len() == RANDOM_LENGTH + CHECKSUM_LENGTH
        && checksum(&rest[..RANDOM_LENGTH]) == rest[RANDOM_LENGTH..]
}

pub fn digest(raw: &str) -> [u8; 32] {
    Sha256::digest(raw.as_bytes()).into()
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
mod tests {
    use super::*;

    struct Fixed;
    impl Entropy for Fixed {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(7);
        }
    }

    #[test]
    fn a_minted_key_is_well_formed_and_a_typo_is_not() {
        let key = mint(&Fixed);
        assert_eq!(key.reveal().len(), 3 + 43 + 6);
        assert!(is_well_formed(key.reveal()));
        let mut typo = key.reveal().to_owned();
        typo.replace_range(10..11, "x");
        assert!(!is_well_formed(&typo));
        assert!(!is_well_formed("gk_short"));
    }

    #[test]
    fn a_limit_is_a_number_that_somebody_could_mean() {
        let limited = |requests_per_minute| RateLimits { requests_per_minute, ..RateLimits::default() };
        for (limit, fits) in [
            (None, true),
            (Some(0), false),
            (Some(1), true),
            (Some(1_000_000_000_000), true),
            (Some(1_000_000_000_001), false),
            (Some(u64::MAX), false),
        ] {
            let refused = limited(limit).validate().err().and_then(|fault| fault.param);
            let named = (!fits).then(|| "rate_limits.requests_per_minute".to_owned());
            assert_eq!(refused, named, "{limit:?}");
        }
        assert!(limited(None).is_unlimited() && !limited(Some(1)).is_unlimited());
    }
}
