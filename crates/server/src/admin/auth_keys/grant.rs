//! Checks that a key grants at most the rights of its creator: scopes, user path, allowed models, limits and expiry.

use domain::access;
use domain::fault::{self, Fault};
use domain::principal::{KeyFacts, Principal};
use domain::resources::auth_key::AuthKey;
use domain::user_path::UserPath;
use pipeline::routing::names::Names;

use super::super::record;

/// Resolves the user path of a key: the requested one, which must lie below the creator's, else the creator's own.
pub fn reach(asked: Option<&str>, giver: &Principal) -> Result<Option<String>, Fault> {
    let own = giver.own_path().cloned();
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

/// The user path of a key in its normal form; none if it is empty.
pub fn normal_path(asked: Option<&str>) -> Result<Option<String>, Fault> {
    let asked = asked.filter(|path| !path.is_empty());
    let path = asked.map(UserPath::parse).transpose();
    let path = path.map_err(|reason| fault::invalid_parameter("user_path", reason))?;
    Ok(path.map(|path| path.as_str().to_owned()))
}

/// Rejects a key that has any right or path that the caller lacks.
pub fn within_grant(giver: &Principal, key: &AuthKey, names: &Names) -> Result<(), Fault> {
    let reached = reach(key.user_path.as_deref(), giver)?;
    if reached != key.user_path {
        return Err(fault::user_path_denied("/", reached.as_deref().unwrap_or("/")).param("user_path"));
    }
    within(key, giver, names)
}

/// Fills in the creator's restrictions wherever a key has none of its own.
pub fn inherit(mut key: AuthKey, giver: &Principal) -> AuthKey {
    let Some(giver) = giver.key() else { return key };
    key.allowed_providers = key.allowed_providers.or_else(|| giver.lists.allowed_providers.clone());
    key.allowed_models = key.allowed_models.or_else(|| giver.lists.allowed_models.clone());
    key.provider_pool_id = key.provider_pool_id.or_else(|| giver.provider_pool.as_deref().map(str::to_owned));
    key.tenant_id = key.tenant_id.or_else(|| giver.tenant_id.as_deref().map(str::to_owned));
    key.rate_limits = key.rate_limits.or(&giver.rate_limits);
    key.expires_at = key.expires_at.or(giver.expires_at);
    for entry in &giver.lists.denied_models {
        let denied = key.denied_models.get_or_insert_default();
        if !denied.iter().any(|pattern| access::matches(pattern, entry)) {
            denied.push(entry.clone());
        }
    }
    key
}

/// Rejects a key that has any right that its creator lacks.
pub fn within(key: &AuthKey, giver: &Principal, names: &Names) -> Result<(), Fault> {
    key.scopes.iter().try_for_each(|scope| giver.require(*scope))?;
    let Some(giver) = giver.key() else { return Ok(()) };
    if let Some(entry) = beyond(key.allowed_providers.as_deref(), giver.lists.allowed_providers.as_deref()) {
        return Err(fault::key_provider_access_denied(entry).param("allowed_providers"));
    }
    let models = giver.lists.allowed_models.as_deref();
    let beyond_models = beyond(key.allowed_models.as_deref(), models);
    if let Some(entry) = beyond_models.or_else(|| beyond_names(key, models, names)) {
        return Err(fault::key_model_access_denied(entry).param("allowed_models"));
    }
    denials(key, giver)?;
    limits(key, giver)?;
    match &giver.provider_pool {
        Some(pool) if key.provider_pool_id.as_deref() != Some(pool) => {
            let asked = key.provider_pool_id.as_deref().unwrap_or("*");
            Err(fault::key_provider_access_denied(asked).param("provider_pool_id"))
        }
        _ => Ok(()),
    }
}

fn limits(key: &AuthKey, giver: &KeyFacts) -> Result<(), Fault> {
    if let Some((name, most)) = key.rate_limits.beyond(&giver.rate_limits) {
        let message =
            format!("Your own key has {most} {name}: you can grant, change or rotate no key with more.");
        return Err(fault::key_limit_denied(format!("rate_limits.{name}"), message));
    }
    if giver.rate_limits.count_cached && !key.rate_limits.count_cached {
        let message =
            "Cached tokens count for your own key: they must count for the keys you grant, change or rotate.";
        return Err(fault::key_limit_denied("rate_limits.count_cached", message));
    }
    if let Some(end) = giver.expires_at.filter(|end| key.expires_at.is_none_or(|at| at > *end)) {
        let end = record::time(end);
        let message =
            format!("Your own key ends at {end}: you can grant, change or rotate none that ends later.");
        return Err(fault::key_limit_denied("expiry", message));
    }
    match giver.tenant_id.as_deref().filter(|tenant| key.tenant_id.as_deref() != Some(tenant)) {
        Some(tenant) => {
            let message = format!(
                "Your own key is of the tenant '{tenant}', and so are those you can grant or change."
            );
            Err(fault::key_limit_denied("tenant_id", message))
        }
        None => Ok(()),
    }
}

/// Returns the first entry that no pattern of the creator covers. A pattern that matches another pattern's text,
/// wildcards included, matches everything that the other one matches.
fn beyond<'a>(asked: Option<&'a [String]>, held: Option<&[String]>) -> Option<&'a str> {
    let held = held?;
    let Some(asked) = asked else { return Some("*") };
    let covered = |entry: &&String| held.iter().any(|pattern| access::matches(pattern, entry));
    asked.iter().find(|entry| !covered(entry)).map(String::as_str)
}

/// Returns the first entry that names an alias, combo or pool and that the creator does not hold by name. Such an entry
/// allows every target behind the name, so a model pattern that happens to match the name does not cover it.
fn beyond_names<'a>(key: &'a AuthKey, held: Option<&[String]>, names: &Names) -> Option<&'a str> {
    let held = held?;
    let covered = |entry: &str| held.iter().any(|own| own == entry || own == "*");
    let mut asked = key.allowed_models.iter().flatten().map(String::as_str);
    asked.find(|entry| {
        let pool = entry.split_once('/').is_some_and(|(pool, _)| names.pools.contains_key(pool));
        (pool || names.holds(entry)) && !covered(entry)
    })
}

fn denials(key: &AuthKey, giver: &KeyFacts) -> Result<(), Fault> {
    let denied = key.denied_models.as_deref().unwrap_or_default();
    let kept = |entry: &&String| denied.iter().any(|pattern| access::matches(pattern, entry));
    match giver.lists.denied_models.iter().find(|entry| !kept(entry)) {
        Some(entry) => Err(fault::key_model_access_denied(entry).param("denied_models")),
        None => Ok(()),
    }
}
