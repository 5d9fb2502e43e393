//! Authentication: resolves the token of a request to its principal. A pure function of the snapshot; every kind of invalid
//! key gets the same error.

use std::sync::Arc;

use domain::clock::Timestamp;
use domain::fault::{self, Fault, KeyRejection};
use domain::principal::{Principal, SessionFacts, SessionHolder, TokenFacts};
use domain::resources::auth_key;
use domain::session::{SessionKind, SessionOwner};
use futures_util::future::BoxFuture;
use http::HeaderMap;
use identity::token::{self, TokenRejection};

use crate::call::arrival::{self, Arrival};
use crate::call::constant_time;
use crate::call::credential_digest::CredentialDigest;
use crate::call::session_cookie;
use crate::gateway::Gateway;
use crate::snapshot::Snapshot;
use crate::snapshot::identities::sessions::LiveSession;

/// The parts of a request that authentication depends on.
#[derive(Clone, Copy)]
pub struct Presented<'a> {
    pub method: &'a str,
    pub headers: &'a HeaderMap,
    pub query: Option<&'a str>,
    pub at: Timestamp,
    pub request_id: Option<&'a str>,
    pub credential_digest: Option<&'a CredentialDigest>,
}

impl<'a> Presented<'a> {
    pub fn by(arrival: &'a Arrival) -> Self {
        Self {
            method: arrival.method,
            headers: &arrival.headers,
            query: arrival.query.as_deref(),
            at: arrival.at,
            request_id: Some(arrival.request_id.as_str()),
            credential_digest: arrival.credential_digest.as_deref(),
        }
    }
}

/// Authenticates a call. Its scopes are checked later: a call that lacks one counts against the key's request limits.
pub fn authenticate_call(snapshot: &Snapshot, arrival: &Arrival) -> Result<Principal, Fault> {
    authenticate(snapshot, Presented::by(arrival))
}

/// Authenticates a request, on the admin API and on inference alike. Checks no scope. A session cookie counts only if there
/// is no other credential.
pub fn authenticate(snapshot: &Snapshot, presented: Presented<'_>) -> Result<Principal, Fault> {
    let Presented { headers, query, at, request_id, credential_digest, .. } = presented;
    let digest = |token: &str| match credential_digest {
        Some(kept) => kept.of(token),
        None => auth_key::digest(token),
    };
    let identified = match credential(headers, query) {
        Some(token) => identify(snapshot, token, digest, at),
        None => match session_cookie::find(headers) {
            Some(value) if !headers.contains_key(http::header::AUTHORIZATION) => {
                session_cookie::refuse_cross_site(presented.method, headers)?;
                identify_cookie(snapshot, value, at)
            }
            _ => return Err(missing_credential(headers)),
        },
    };
    let principal = identified.map_err(|reason| {
        tracing::debug!(request_id, reason = reason.as_str(), "credential refused");
        fault::invalid_api_key().because(reason)
    })?;
    snapshot.identities.tenants.admit(&principal)?;
    Ok(principal)
}

/// The credential that a client sent. If there is an `Authorization` header, the others are ignored.
pub fn credential<'a>(headers: &'a HeaderMap, query: Option<&'a str>) -> Option<&'a str> {
    if let Some(value) = headers.get(http::header::AUTHORIZATION) {
        let (scheme, token) = value.to_str().ok()?.trim_ascii().split_at_checked("bearer ".len())?;
        let token = token.trim_ascii();
        return (scheme.eq_ignore_ascii_case("bearer ") && !token.is_empty()).then_some(token);
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
pub fn identify(
    snapshot: &Snapshot,
    token: &str,
    digest: impl FnOnce(&str) -> [u8; 32],
    now: Timestamp,
) -> Result<Principal, KeyRejection> {
    if let Some(facts) = snapshot.identities.token_issuers.find_verified(token, now) {
        return admit_token(snapshot, facts);
    }
    let digest = digest(token);
    match identify_digest(snapshot, &digest, now) {
        Err(KeyRejection::Unknown) => {}
        identified => return identified,
    }
    match token.starts_with(token::PREFIX) {
        true => verify_token(snapshot, token, &digest, now),
        false => identify_session(snapshot, &digest, SessionKind::Access, now),
    }
}

/// Resolves a token of a configured issuer.
fn verify_token(
    snapshot: &Snapshot,
    token: &str,
    digest: &[u8; 32],
    now: Timestamp,
) -> Result<Principal, KeyRejection> {
    let identities = &snapshot.identities;
    if identities.token_issuers.is_empty() {
        return Err(KeyRejection::Unknown);
    }
    admit_token(snapshot, identities.token_issuers.verify(token, digest, now).map_err(KeyRejection::Token)?)
}

/// The caller of a verified token, unless it is revoked.
fn admit_token(snapshot: &Snapshot, facts: Arc<TokenFacts>) -> Result<Principal, KeyRejection> {
    match snapshot.identities.revocations.refuse(&facts) {
        true => Err(KeyRejection::Token(TokenRejection::Revoked)),
        false => Ok(Principal::Token(facts)),
    }
}

const UNKNOWN_KEY: KeyRejection = KeyRejection::Token(TokenRejection::UnknownKey);

/// Requests the keys of the issuer of a token, if its key is the reason of a rejection. True if it is worth another try. The
/// type of the future is erased, because it is rare and would enlarge the future of every call.
pub fn learn_token_key<'a>(
    gateway: &'a Gateway,
    presented: Presented<'a>,
    rejection: &Fault,
) -> BoxFuture<'a, bool> {
    if rejection.reason != Some(UNKNOWN_KEY) {
        return Box::pin(std::future::ready(false));
    }
    Box::pin(async move {
        let Some(token) = credential(presented.headers, presented.query) else { return false };
        let issuers = gateway.snapshot().identities.token_issuers.clone();
        issuers.learn_keys(token, &gateway.egress, gateway.clock.tick()).await;
        true
    })
}

/// Like `authenticate_call`, and waits for the keys of an issuer if a token has one that is not known yet.
pub async fn authenticate_or_learn(
    gateway: &Gateway,
    snapshot: &Snapshot,
    arrival: &Arrival,
) -> Result<Principal, Fault> {
    match authenticate_call(snapshot, arrival) {
        Err(fault) if fault.reason == Some(UNKNOWN_KEY) => {
            match learn_token_key(gateway, Presented::by(arrival), &fault).await {
                true => authenticate_call(snapshot, arrival),
                false => Err(fault),
            }
        }
        authenticated => authenticated,
    }
}

/// Resolves the digest of the master key or of a managed key.
fn identify_digest(
    snapshot: &Snapshot,
    digest: &[u8; 32],
    now: Timestamp,
) -> Result<Principal, KeyRejection> {
    if constant_time::is_same(digest, &snapshot.master) {
        return Ok(Principal::Master);
    }
    verify_key(snapshot, digest, now)
}

/// Resolves the value of a session cookie.
pub fn identify_cookie(snapshot: &Snapshot, value: &str, now: Timestamp) -> Result<Principal, KeyRejection> {
    identify_session(snapshot, &auth_key::digest(value), SessionKind::Cookie, now)
}

fn identify_session(
    snapshot: &Snapshot,
    digest: &[u8; 32],
    kind: SessionKind,
    now: Timestamp,
) -> Result<Principal, KeyRejection> {
    let session = snapshot.identities.sessions.find(digest).filter(|session| session.kind == kind);
    resume(snapshot, digest, session.ok_or(KeyRejection::Unknown)?, now)
}

/// Looks up the owner of a session: it has the rights that its owner has now, and ends with it.
fn resume(
    snapshot: &Snapshot,
    digest: &[u8; 32],
    session: &LiveSession,
    now: Timestamp,
) -> Result<Principal, KeyRejection> {
    if now >= session.expires_at {
        return Err(KeyRejection::Expired);
    }
    let holder = match &session.owner {
        SessionOwner::Credential(key) => match identify_digest(snapshot, key, now)? {
            Principal::Key(key) => SessionHolder::Key(key),
            _ => SessionHolder::Master,
        },
        SessionOwner::User(id) => {
            let user = snapshot.identities.users.find(id).ok_or(KeyRejection::Deactivated)?;
            SessionHolder::User(user.clone())
        }
    };
    let (family, expires_at) = (session.family.clone(), session.expires_at);
    Ok(Principal::Session(Arc::new(SessionFacts { digest: *digest, family, holder, expires_at })))
}

/// Looks the caller up again in the current snapshot, for work that outlives the snapshot it was admitted with.
pub fn reauthenticate(
    snapshot: &Snapshot,
    principal: &Principal,
    now: Timestamp,
) -> Result<Principal, KeyRejection> {
    snapshot.identities.tenants.admit(principal).map_err(|_| KeyRejection::Deactivated)?;
    match principal {
        Principal::Master => Ok(Principal::Master),
        Principal::Key(key) => verify_key(snapshot, &key.digest, now),
        Principal::Session(session) => {
            let live = snapshot.identities.sessions.find(&session.digest).ok_or(KeyRejection::Unknown)?;
            resume(snapshot, &session.digest, live, now)
        }
        Principal::Token(token) => match token.grant.expires_at {
            Some(end) if now >= end => Err(KeyRejection::Expired),
            _ if snapshot.identities.revocations.refuse(token) => {
                Err(KeyRejection::Token(TokenRejection::Revoked))
            }
            _ => Ok(principal.clone()),
        },
    }
}

fn verify_key(snapshot: &Snapshot, digest: &[u8; 32], now: Timestamp) -> Result<Principal, KeyRejection> {
    let key = snapshot.keys.find(digest).ok_or(KeyRejection::Unknown)?;
    if !constant_time::is_same(digest, &key.digest) {
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
mod tests;
