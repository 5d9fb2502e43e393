//! A key that is about to be: what its creator asks for, as far as its creator may.

use domain::caller::Caller;
use domain::fault::{self, Fault};
use domain::resources::auth_key::{AuthKey, RateLimits};
use domain::scope::Scope;
use domain::secret::Secret;
use domain::user_path::UserPath;
use serde::Deserialize;
use utoipa::ToSchema;

use super::super::record;

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
    /// Absent is no limit, empty is nothing; `*` stands for any characters.
    #[serde(default)]
    pub allowed_providers: Option<Vec<String>>,
    #[serde(default)]
    pub allowed_models: Option<Vec<String>>,
    #[serde(default)]
    pub denied_models: Option<Vec<String>>,
    /// The pool whose members alone may serve its calls.
    #[serde(default)]
    pub provider_pool_id: Option<String>,
    #[serde(default)]
    pub rate_limits: Option<RateLimits>,
    /// ISO 8601, UTC.
    #[serde(default, alias = "expires_at")]
    pub expiry: Option<String>,
}

/// A key grants at most what its creator holds, in scope and in reach.
pub fn draft(request: CreateKey, id: String, raw: &Secret, creator: &Caller) -> Result<AuthKey, Fault> {
    let expires_at = request
        .expiry
        .filter(|text| !text.is_empty())
        .map(|text| record::parse_time("expiry", &text))
        .transpose()?;
    Ok(AuthKey {
        description: request.description.unwrap_or_default(),
        scopes: scopes(request.scopes.as_deref(), creator)?,
        user_path: reach(request.user_path.as_deref(), creator)?,
        tenant_id: request.tenant_id.filter(|tenant| !tenant.is_empty()),
        allowed_providers: request.allowed_providers,
        allowed_models: request.allowed_models,
        denied_models: request.denied_models,
        provider_pool_id: request.provider_pool_id,
        rate_limits: request.rate_limits.unwrap_or_default(),
        expires_at,
        ..AuthKey::new(id, &request.name, raw)
    })
}

/// The scopes of these names, which whoever grants them must hold.
pub fn scopes(names: Option<&[String]>, giver: &Caller) -> Result<Vec<Scope>, Fault> {
    let parse =
        |name: &String| name.parse().map_err(|reason: String| fault::invalid_parameter("scopes", reason));
    let scopes = match names {
        None => vec![Scope::Inference],
        Some(names) => names.iter().map(parse).collect::<Result<_, Fault>>()?,
    };
    hold(&scopes, giver)?;
    Ok(scopes)
}

pub fn hold(scopes: &[Scope], giver: &Caller) -> Result<(), Fault> {
    scopes.iter().try_for_each(|scope| giver.require(*scope))
}

/// The user path that is asked for, at or below the giver's own, which it is when none is.
pub fn reach(asked: Option<&str>, giver: &Caller) -> Result<Option<String>, Fault> {
    let own = giver.key().and_then(|key| key.user_path.clone());
    let asked = asked.filter(|path| !path.is_empty());
    let asked = asked
        .map(|path| UserPath::parse(path).map_err(|reason| fault::invalid_parameter("user_path", reason)))
        .transpose()?;
    match (own, asked) {
        (Some(own), Some(asked)) if !own.covers(&asked) => {
            Err(fault::user_path_denied(asked.as_str(), own.as_str()).param("user_path"))
        }
        (own, asked) => Ok(asked.or(own).map(|path| path.as_str().to_owned())),
    }
}
