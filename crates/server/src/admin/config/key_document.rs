//! A managed key in configuration files: by its digest, or by its value.

use domain::clock::Timestamp;
use domain::fault::{self, Fault};
use domain::resources::auth_key::{self, AuthKey, Previous, RateLimits};
use domain::scope::Scope;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::admin::auth_keys;
use crate::admin::record;

/// A managed key. Its id is the name of the document.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyDocument {
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Default: inference
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scopes: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// Absent means no restriction, an empty list allows nothing
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_providers: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_models: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denied_models: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_pool_id: Option<String>,
    #[serde(default, skip_serializing_if = "is_unlimited")]
    pub rate_limits: RateLimits,
    /// ISO 8601, UTC
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// false for a deactivated key
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub enabled: bool,
    /// SHA-256 of the key in hex; absent keeps that of an existing key
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The key itself instead of its digest, as a reference such as `${CI_KEY}`; never exported
    #[serde(default, skip_serializing)]
    pub value: Option<String>,
    /// The part of the key that is shown, e.g. gk_abcd…wxyz
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redacted_value: Option<String>,
    /// Values from before a rotation that are still valid; absent keeps those of an existing key with this digest, an
    /// empty list ends them
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<Vec<PreviousDocument>>,
}

#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PreviousDocument {
    pub digest: String,
    pub redacted_value: String,
    pub valid_until: String,
}

fn yes() -> bool {
    true
}

fn is_unlimited(limits: &RateLimits) -> bool {
    *limits == RateLimits::default()
}

/// Shown of a key that is known by its digest only.
const UNKNOWN: &str = "gk_…";

impl KeyDocument {
    pub fn of(key: &AuthKey, now: Timestamp) -> Self {
        let valid = key.previous.iter().filter(|previous| now < previous.valid_until);
        let previous = valid.map(|previous| PreviousDocument {
            digest: previous.digest.clone(),
            redacted_value: previous.redacted_value.clone(),
            valid_until: record::time(previous.valid_until),
        });
        let previous: Vec<_> = previous.collect();
        Self {
            name: key.name.clone(),
            description: key.description.clone(),
            scopes: Some(key.scopes.iter().map(Scope::to_string).collect()),
            user_path: key.user_path.clone(),
            tenant_id: key.tenant_id.clone(),
            allowed_providers: key.allowed_providers.clone(),
            allowed_models: key.allowed_models.clone(),
            denied_models: key.denied_models.clone(),
            provider_pool_id: key.provider_pool_id.clone(),
            rate_limits: key.rate_limits.clone(),
            expires_at: key.expires_at.map(record::time),
            enabled: key.deactivated_at.is_none(),
            digest: Some(key.digest.clone()),
            value: None,
            redacted_value: Some(key.redacted_value.clone()),
            previous: (!previous.is_empty()).then_some(previous),
        }
    }

    /// The key that this document describes. Its value is kept if neither value nor digest are given.
    pub fn key(self, id: &str, known: Option<&AuthKey>, now: Timestamp) -> Result<AuthKey, Fault> {
        let given = |text: Option<String>| text.filter(|text| !text.is_empty());
        let expires_at = given(self.expires_at).map(|text| record::parse_time("expires_at", &text));
        let (digest, redacted_value) = identity(self.digest, self.value, self.redacted_value, known)?;
        let previous = match self.previous {
            Some(previous) => previous.into_iter().map(self::previous).collect::<Result<_, _>>()?,
            None => {
                let same = known.filter(|known| known.digest == digest);
                same.map(|known| known.previous.clone()).unwrap_or_default()
            }
        };
        let deactivated_at = known.and_then(|known| known.deactivated_at).unwrap_or(now);
        Ok(AuthKey {
            id: id.to_owned(),
            name: self.name.trim().to_owned(),
            description: self.description,
            scopes: auth_keys::scopes(self.scopes.as_deref())?,
            user_path: auth_keys::normal_path(self.user_path.as_deref())?,
            tenant_id: given(self.tenant_id),
            allowed_providers: self.allowed_providers,
            allowed_models: self.allowed_models,
            denied_models: self.denied_models,
            provider_pool_id: given(self.provider_pool_id),
            rate_limits: self.rate_limits,
            expires_at: expires_at.transpose()?,
            deactivated_at: (!self.enabled).then_some(deactivated_at),
            digest,
            redacted_value,
            previous,
        })
    }
}

fn previous(document: PreviousDocument) -> Result<Previous, Fault> {
    Ok(Previous {
        digest: checked_digest("previous", document.digest)?,
        redacted_value: document.redacted_value,
        valid_until: record::parse_time("previous", &document.valid_until)?,
    })
}

/// The digest of a key and the part of it that is shown.
fn identity(
    digest: Option<String>,
    value: Option<String>,
    shown: Option<String>,
    known: Option<&AuthKey>,
) -> Result<(String, String), Fault> {
    match (digest, value, known) {
        (Some(_), Some(_), _) => {
            Err(fault::invalid_parameter("value", "A key has a 'digest' or a 'value', not both."))
        }
        (None, Some(value), _) => {
            if value.len() < 16 {
                return Err(fault::invalid_parameter("value", "A key has at least 16 characters."));
            }
            Ok((auth_key::hex_digest(&value), auth_key::redact(&value)))
        }
        (Some(digest), None, known) => {
            let digest = checked_digest("digest", digest)?;
            let known =
                known.filter(|known| known.digest == digest).map(|known| known.redacted_value.clone());
            Ok((digest, shown.or(known).unwrap_or_else(|| UNKNOWN.to_owned())))
        }
        (None, None, Some(known)) => Ok((known.digest.clone(), known.redacted_value.clone())),
        (None, None, None) => {
            let message = "A key needs 'digest' (SHA-256 in hex) or 'value' (a reference such as ${CI_KEY}).";
            Err(fault::invalid_parameter("digest", message))
        }
    }
}

fn checked_digest(param: &str, digest: String) -> Result<String, Fault> {
    let digest = digest.trim().to_ascii_lowercase();
    if digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(digest);
    }
    Err(fault::invalid_parameter(param, "A digest is a SHA-256 of 64 hex digits."))
}
