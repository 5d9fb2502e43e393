//! Authentication: resolves the token of a request to its principal. A pure function of the snapshot; every kind of invalid
//! key gets the same error.

use domain::clock::Timestamp;
use domain::fault::{self, Fault, KeyRejection};
use domain::principal::Principal;
use domain::resources::auth_key;
use http::HeaderMap;
use subtle::ConstantTimeEq as _;

use crate::call::arrival::{self, Arrival};
use crate::snapshot::Snapshot;

/// Authenticates a call. Its scopes are checked later: a call that lacks one counts against the key's request limits.
pub fn authenticate_call(snapshot: &Snapshot, arrival: &Arrival) -> Result<Principal, Fault> {
    let (query, request_id) = (arrival.query.as_deref(), Some(arrival.request_id.as_str()));
    authenticate(snapshot, &arrival.headers, query, arrival.at, request_id)
}

/// Authenticates a request by its headers and query, on the admin API and on inference alike. Checks no scope.
pub fn authenticate(
    snapshot: &Snapshot,
    headers: &HeaderMap,
    query: Option<&str>,
    now: Timestamp,
    request_id: Option<&str>,
) -> Result<Principal, Fault> {
    let token = credential(headers, query).ok_or_else(|| missing_credential(headers))?;
    identify(snapshot, token, now).map_err(|reason| {
        tracing::debug!(request_id, reason = reason.as_str(), "credential refused");
        fault::invalid_api_key().because(reason)
    })
}

/// The credential that a client sent. If there is an `Authorization` header, the others are ignored.
pub fn credential<'a>(headers: &'a HeaderMap, query: Option<&'a str>) -> Option<&'a str> {
    if let Some(value) = headers.get(http::header::AUTHORIZATION) {
        let (scheme, token) = value.to_str().ok()?.trim().split_once(' ')?;
        let token = token.trim();
        return (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token);
    }
    ["x-api-key", "api-key", "x-goog-api-key"]
        .iter()
        .find_map(|name| headers.get(*name)?.to_str().ok())
        .or_else(|| arrival::query_value(query?, "key"))
        .map(str::trim)
        .filter(|token| !token.is_empty())
}

/// The error for a request without a usable credential.
fn missing_credential(headers: &HeaderMap) -> Fault {
    let value = headers.get(http::header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let is_bare_key = |value: &str| {
        let value = value.trim();
        !value.is_empty() && !value.contains(char::is_whitespace) && !value.eq_ignore_ascii_case("bearer")
    };
    match value {
        Some(value) if is_bare_key(value) => fault::missing_bearer_scheme(),
        _ => fault::missing_api_key(),
    }
}

/// Resolves a token. The reason of a rejection is for the operator only; the client gets the same error for all of
/// them.
pub fn identify(snapshot: &Snapshot, token: &str, now: Timestamp) -> Result<Principal, KeyRejection> {
    let digest = auth_key::digest(token);
    if digest.ct_eq(&snapshot.master).into() {
        return Ok(Principal::Master);
    }
    verify_key(snapshot, &digest, now)
}

/// Looks the caller up again in the current snapshot, for work that outlives the snapshot it was admitted with.
pub fn reauthenticate(
    snapshot: &Snapshot,
    principal: &Principal,
    now: Timestamp,
) -> Result<Principal, KeyRejection> {
    match principal {
        Principal::Master => Ok(Principal::Master),
        Principal::Key(key) => verify_key(snapshot, &key.digest, now),
    }
}

fn verify_key(snapshot: &Snapshot, digest: &[u8; 32], now: Timestamp) -> Result<Principal, KeyRejection> {
    let key = snapshot.keys.find(digest).ok_or(KeyRejection::Unknown)?;
    if !bool::from(digest.ct_eq(&key.digest)) {
        return Err(KeyRejection::Unknown);
    }
    if !key.active {
        return Err(KeyRejection::Deactivated);
    }
    if key.expires_at.is_some_and(|at| now >= at) {
        return Err(KeyRejection::Expired);
    }
    Ok(Principal::Key(key.clone()))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (http::HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect()
    }

    #[test]
    fn credentials_are_read_in_the_order_of_the_contract() {
        for (pairs, query, expected) in [
            (&[("authorization", "Bearer a")][..], None, Some("a")),
            (&[("authorization", "bearer  a ")], None, Some("a")),
            (&[("authorization", "Basic a"), ("x-api-key", "b")], None, None),
            (&[("authorization", "Bearer a"), ("x-api-key", "b")], None, Some("a")),
            (&[("x-api-key", "b")], None, Some("b")),
            (&[("api-key", "c")], None, Some("c")),
            (&[("x-goog-api-key", "d")], None, Some("d")),
            (&[], Some("alt=sse&key=e"), Some("e")),
            (&[("x-api-key", "")], None, None),
            (&[], None, None),
        ] {
            assert_eq!(credential(&headers(pairs), query), expected, "{pairs:?} {query:?}");
        }
    }

    #[test]
    fn a_key_without_a_scheme_is_rejected_with_a_hint() {
        for (value, has_hint) in [
            ("gk_abc", true),
            (" gk_abc ", true),
            ("Bearer", false),
            ("Bearer ", false),
            ("Basic YTpi", false),
            ("", false),
        ] {
            let fault = missing_credential(&headers(&[("authorization", value)]));
            assert_eq!((fault.status, fault.code.as_str()), (401, "missing_api_key"));
            assert_eq!(fault.message.starts_with("Missing \"Bearer \" before the key"), has_hint, "{value}");
            assert!(!fault.message.contains("gk_abc"));
        }
    }
}
