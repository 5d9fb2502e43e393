//! Tests of authentication: from a token to its caller.

use std::sync::Arc;

use domain::clock::Timestamp;
use domain::principal::KeyFacts;
use domain::resources::auth_key;
use domain::scope::Scope;
use domain::session::{SessionKind, SessionOwner, SessionRecord};
use http::HeaderMap;
use pipeline::call::arrival::{Arrival, RequestId};
use pipeline::call::authenticate::{authenticate_call, identify};
use pipeline::snapshot::Snapshot;
use pipeline::snapshot::identities::sessions::SessionTable;
use proptest::prelude::*;

use crate::snapshots::{MASTER, NOW, key, with_keys};

pub fn arrival(token: Option<&str>) -> Arrival {
    let mut headers = HeaderMap::new();
    if let Some(token) = token {
        headers.insert("authorization", format!("Bearer {token}").parse().unwrap());
    }
    Arrival {
        request_id: RequestId::accept(Some(&"test".parse().unwrap())).unwrap(),
        at: NOW,
        tick: Default::default(),
        method: "POST",
        endpoint: "/v1/chat/completions",
        surface: domain::call::Surface::Converse(domain::call::Format::Chat),
        addressed: None,
        path: None,
        query: None,
        client_ip: None,
        headers: headers.into(),
        client_credential: None,
        credential_digest: None,
    }
}

#[track_caller]
fn check(token: Option<&str>, needed: &str, expected: Result<&str, (u16, &str)>) {
    let after = |seconds: i64| Some(Timestamp(NOW.micros() + seconds * 1_000_000));
    let snapshot = with_keys(vec![
        key("plain"),
        KeyFacts { active: false, ..key("off") },
        KeyFacts { expires_at: after(-1), ..key("expired") },
        KeyFacts { expires_at: after(0), ..key("expires-now") },
        KeyFacts { expires_at: after(1), ..key("expires-soon") },
        KeyFacts { scopes: vec!["admin:usage:read".parse().unwrap()], ..key("auditor") },
    ]);
    let needed: Scope = needed.parse().unwrap();
    let found = authenticate_call(&snapshot, &arrival(token))
        .and_then(|principal| principal.require(needed).map(|()| principal));
    let found = found
        .as_ref()
        .map(|principal| principal.actor())
        .map_err(|fault| (fault.status, fault.code.as_str()));
    assert_eq!(found, expected, "{token:?} for {needed}");
}

#[test]
fn the_principal_is_found_by_its_key() {
    check(Some(MASTER), "inference", Ok("master"));
    check(Some(MASTER), "admin:write", Ok("master"));
    check(Some("plain"), "inference", Ok("key_plain"));
    check(Some("expires-soon"), "inference", Ok("key_expires-soon"));
    check(Some("auditor"), "admin:usage:read", Ok("key_auditor"));
    check(None, "inference", Err((401, "missing_api_key")));
    for bad in ["unknown", "off", "expired", "expires-now", "PLAIN", "plain.", "the-master-ke"] {
        check(Some(bad), "inference", Err((401, "invalid_api_key")));
    }
    check(Some("plain"), "admin:usage:read", Err((403, "insufficient_scope")));
    check(Some("auditor"), "inference", Err((403, "insufficient_scope")));
    check(Some("auditor"), "admin:usage:write", Err((403, "insufficient_scope")));
}

/// A session of each owner; the values are the names.
fn with_sessions() -> Snapshot {
    let after = |seconds: i64| Timestamp(NOW.micros() + seconds * 1_000_000);
    let record = |value: &str, kind, owner: &str, ends: i64| SessionRecord {
        digest: auth_key::digest(value),
        kind,
        family: "f".into(),
        owner: SessionOwner::Credential(auth_key::digest(owner)),
        created_at: NOW,
        expires_at: after(ends),
        ended_at: None,
    };
    let nobody = SessionRecord {
        owner: SessionOwner::User("user_gone".into()),
        ..record("gone", SessionKind::Cookie, "", 60)
    };
    let records = vec![
        record("of-master", SessionKind::Cookie, MASTER, 60),
        record("of-plain", SessionKind::Cookie, "plain", 60),
        record("of-off", SessionKind::Cookie, "off", 60),
        record("of-unknown", SessionKind::Cookie, "unknown", 60),
        record("ends", SessionKind::Cookie, "plain", 1),
        record("access", SessionKind::Access, "plain", 60),
        nobody,
    ];
    let mut snapshot = with_keys(vec![key("plain"), KeyFacts { active: false, ..key("off") }]);
    // As of a moment before, so that one can be expired now.
    let table = SessionTable::default().with(1, records, after(-10));
    snapshot.identities.sessions = Arc::new(table);
    snapshot
}

#[test]
fn a_session_is_resolved_to_its_owner() {
    let snapshot = with_sessions();
    let by_cookie = |value: &str, seconds: i64, more: &[(&'static str, &str)]| {
        let mut arrival = arrival(None);
        arrival.at = Timestamp(NOW.micros() + seconds * 1_000_000);
        arrival.headers.edit(|headers| {
            headers.insert("cookie", format!("gatehouse_session={value}").parse().unwrap());
            headers.insert("sec-fetch-site", "same-origin".parse().unwrap());
            for (name, value) in more {
                headers.insert(*name, value.parse().unwrap());
            }
        });
        authenticate_call(&snapshot, &arrival)
            .map(|principal| (principal.actor().to_owned(), principal.auth_method()))
    };
    assert_eq!(by_cookie("of-master", 0, &[]), Ok(("master".into(), "session")));
    assert_eq!(by_cookie("of-plain", 0, &[]), Ok(("key_plain".into(), "session")));
    assert_eq!(by_cookie("ends", 0, &[]), Ok(("key_plain".into(), "session")));
    for (value, seconds) in
        [("of-off", 0), ("of-unknown", 0), ("gone", 0), ("ends", 1), ("access", 0), ("plain", 0)]
    {
        let fault = by_cookie(value, seconds, &[]).unwrap_err();
        assert_eq!((fault.status, fault.code.as_str()), (401, "invalid_api_key"), "{value}");
    }
    // Another credential wins over the cookie, and the request must come from an own page.
    let other = by_cookie("of-master", 0, &[("authorization", "Bearer plain")]);
    assert_eq!(other, Ok(("key_plain".into(), "api_key")));
    assert!(by_cookie("of-master", 0, &[("authorization", "Basic x")]).is_err());
    assert!(by_cookie("of-master", 0, &[("sec-fetch-site", "cross-site")]).is_err());
    // An access token is a bearer, a cookie is not.
    assert_eq!(
        identify(&snapshot, "access", auth_key::digest, NOW).map(|found| found.auth_method()),
        Ok("session")
    );
    assert!(identify(&snapshot, "of-plain", auth_key::digest, NOW).is_err());
}

proptest! {
    /// Only the key itself is accepted, whatever is sent.
    #[test]
    fn no_other_text_is_a_key(token in "\\PC{0,80}") {
        prop_assume!(token != MASTER && token != "plain");
        prop_assert!(identify(&with_keys(vec![key("plain")]), &token, auth_key::digest, NOW).is_err());
    }

    /// A digest is not a credential: read access to the database does not allow calls.
    #[test]
    fn a_digest_is_not_accepted_as_a_key(raw in "[a-z]{1,20}") {
        let digest: String = auth_key::digest(&raw).iter().map(|byte| format!("{byte:02x}")).collect();
        prop_assert!(identify(&with_keys(vec![key(&raw)]), &digest, auth_key::digest, NOW).is_err());
        prop_assert!(identify(&with_keys(vec![key(&raw)]), &raw, auth_key::digest, NOW).is_ok());
    }
}
