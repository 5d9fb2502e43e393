//! Tests of authentication: from a token to its caller.

use domain::clock::Timestamp;
use domain::principal::KeyFacts;
use domain::resources::auth_key;
use domain::scope::Scope;
use http::HeaderMap;
use pipeline::call::arrival::{Arrival, RequestId};
use pipeline::call::authenticate::{authenticate_call, identify};
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
        headers,
        client_credential: None,
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

proptest! {
    /// Only the key itself is accepted, whatever is sent.
    #[test]
    fn no_other_text_is_a_key(token in "\\PC{0,80}") {
        prop_assume!(token != MASTER && token != "plain");
        prop_assert!(identify(&with_keys(vec![key("plain")]), &token, NOW).is_err());
    }

    /// A digest is not a credential: read access to the database does not allow calls.
    #[test]
    fn a_digest_is_not_accepted_as_a_key(raw in "[a-z]{1,20}") {
        let digest: String = auth_key::digest(&raw).iter().map(|byte| format!("{byte:02x}")).collect();
        prop_assert!(identify(&with_keys(vec![key(&raw)]), &digest, NOW).is_err());
        prop_assert!(identify(&with_keys(vec![key(&raw)]), &raw, NOW).is_ok());
    }
}
