//! Validates a request for a new key against the rights of its creator.

use domain::clock::Timestamp;
use domain::fault::{self, Fault};
use domain::principal::Principal;
use domain::resources::auth_key::{AuthKey, RateLimits};
use domain::scope::Scope;
use domain::secret::Secret;
use pipeline::routing::names::Names;
use serde::Deserialize;
use utoipa::ToSchema;

use super::super::record;
use super::grant;
use super::replace::Edit;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateKey {
    pub name: String,
    #[serde(default)]
    pub description: Option<String>,
    /// Default: inference.
    #[serde(default)]
    pub scopes: Option<Vec<String>>,
    #[serde(default)]
    pub user_path: Option<String>,
    #[serde(default)]
    pub tenant_id: Option<String>,
    /// Absent means no restriction, an empty list allows nothing; `*` matches any characters.
    #[serde(default)]
    pub allowed_providers: Option<Vec<String>>,
    #[serde(default)]
    pub allowed_models: Option<Vec<String>>,
    #[serde(default)]
    pub denied_models: Option<Vec<String>>,
    /// The pool whose members alone may serve the key's calls.
    #[serde(default)]
    pub provider_pool_id: Option<String>,
    #[serde(default)]
    pub rate_limits: Option<RateLimits>,
    /// ISO 8601, UTC.
    #[serde(default)]
    pub expiry: Option<String>,
    /// Alias of `expiry`.
    #[serde(default)]
    pub expires_at: Option<String>,
}

/// Builds a key from a request. A key grants at most the rights of its creator.
pub fn draft(
    request: CreateKey,
    id: String,
    raw: &Secret,
    creator: &Principal,
    names: &Names,
) -> Result<AuthKey, Fault> {
    let expires_at = end(None, &Some(request.expiry), &Some(request.expires_at))?;
    let key = AuthKey {
        description: request.description.unwrap_or_default(),
        scopes: scopes(request.scopes.as_deref())?,
        user_path: grant::reach(request.user_path.as_deref(), creator)?,
        tenant_id: request.tenant_id.filter(|tenant| !tenant.is_empty()),
        allowed_providers: request.allowed_providers,
        allowed_models: request.allowed_models,
        denied_models: request.denied_models,
        provider_pool_id: request.provider_pool_id.filter(|pool| !pool.is_empty()),
        rate_limits: request.rate_limits.unwrap_or_default(),
        expires_at,
        ..AuthKey::new(id, &request.name, raw)
    };
    let key = grant::inherit(key, creator);
    grant::within(&key, creator, names)?;
    Ok(key)
}

/// Resolves the expiry of a key from its two field names. A field that repeats the stored value is no edit, so that a
/// client that read both fields may change only one.
pub fn end(
    known: Option<Timestamp>,
    expiry: &Edit<String>,
    expires_at: &Edit<String>,
) -> Result<Option<Timestamp>, Fault> {
    let mut edited: Option<Option<Timestamp>> = None;
    for (name, edit) in [("expiry", expiry), ("expires_at", expires_at)] {
        let Some(text) = edit else { continue };
        let text = text.as_deref().filter(|text| !text.is_empty());
        let at = text.map(|text| record::parse_time(name, text)).transpose()?;
        // The API shows times to the millisecond.
        let same = |other: Option<Timestamp>| at.map(Timestamp::millis) == other.map(Timestamp::millis);
        if same(known) {
            continue;
        }
        if edited.is_some_and(|edited| !same(edited)) {
            let message =
                "'expiry' and 'expires_at' mean the same and say different times: send one of them.";
            return Err(fault::invalid_parameter(name, message));
        }
        edited = Some(at);
    }
    Ok(edited.unwrap_or(known))
}

pub fn scopes(names: Option<&[String]>) -> Result<Vec<Scope>, Fault> {
    let parse =
        |name: &String| name.parse().map_err(|reason: String| fault::invalid_parameter("scopes", reason));
    match names {
        None => Ok(vec![Scope::Inference]),
        Some(names) => names.iter().map(parse).collect(),
    }
}
