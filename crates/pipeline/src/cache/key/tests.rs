//! Keys: equal for callers that share answers, and for no others; different for everything that changes an answer.

use bytes::Bytes;
use domain::call::Format;
use wire::formats;

use super::*;

const CHAT: Surface = Surface::Converse(Format::Chat);

fn request(body: &'static str) -> Request {
    formats::native(CHAT).peek(Bytes::from_static(body.as_bytes())).unwrap()
}

fn parts(sharing: Sharing) -> KeyParts {
    let origin =
        Origin { instance: "openai".into(), address: "https://a.example/v1?".into(), model: "m".into() };
    KeyParts {
        sharing,
        surface: CHAT,
        requested_model: "m".into(),
        origin,
        forwarded: Vec::new(),
        guardrails: Vec::new(),
        form: None,
    }
}

fn owner(key: &str, user_path: &str, tenant: &str) -> Owner {
    let tenant = (!tenant.is_empty()).then(|| tenant.to_owned());
    Owner { key: key.into(), user_path: user_path.into(), tenant }
}

/// All callers of a few keys, paths and tenants. Some names could be confused if they were joined.
fn owners() -> Vec<Owner> {
    let mut owners = Vec::new();
    for key in ["master", "k", "k/a"] {
        for path in ["/", "/a", "/a/b", "k"] {
            for tenant in ["", "t", "t/a", "/a"] {
                owners.push(owner(key, path, tenant));
            }
        }
    }
    owners
}

/// Whether two callers share answers.
type Shares = fn(&Owner, &Owner) -> bool;

#[test]
fn only_callers_of_the_same_scope_share_answers() {
    let request = request(r#"{"model":"m","messages":[0]}"#);
    let shares: [(CacheScope, Shares); 4] = [
        (CacheScope::UserPath, |one, other| one.tenant == other.tenant && one.user_path == other.user_path),
        (CacheScope::Key, |one, other| one.tenant == other.tenant && one.key == other.key),
        (CacheScope::Tenant, |one, other| one.tenant == other.tenant),
        (CacheScope::Global, |one, other| one.tenant == other.tenant),
    ];
    let owners = owners();
    for (scope, shares) in shares {
        let keys: Vec<_> =
            owners.iter().map(|owner| key(&parts(Sharing::of(scope, owner)), &request, None)).collect();
        for (one, one_key) in owners.iter().zip(&keys) {
            for (other, other_key) in owners.iter().zip(&keys) {
                assert_eq!(one_key == other_key, shares(one, other), "{scope:?}: {one:?} {other:?}");
            }
        }
    }
}

#[test]
fn scopes_do_not_share_answers_with_each_other() {
    let request = request(r#"{"model":"m","messages":[0]}"#);
    let owner = owner("", "", "");
    let scopes = [CacheScope::UserPath, CacheScope::Key, CacheScope::Tenant, CacheScope::Global];
    let keys: std::collections::HashSet<_> =
        scopes.map(|scope| key(&parts(Sharing::of(scope, &owner)), &request, None)).into_iter().collect();
    assert_eq!(keys.len(), 4);
}

#[test]
fn every_part_changes_the_key() {
    let sharing = Sharing::of(CacheScope::Global, &owner("k", "/", ""));
    let plain = request(r#"{"model":"m","messages":[0]}"#);
    let mut changes: Vec<KeyParts> = Vec::new();
    let mut change = |edit: fn(&mut KeyParts)| {
        let mut changed = parts(sharing.clone());
        edit(&mut changed);
        changes.push(changed);
    };
    change(|_| {});
    change(|parts| parts.surface = Surface::Converse(Format::Messages));
    change(|parts| parts.surface = Surface::EmbedContent { batch: true });
    change(|parts| parts.surface = Surface::EmbedContent { batch: false });
    change(|parts| parts.requested_model = "alias".into());
    change(|parts| parts.origin.instance = "groq".into());
    change(|parts| parts.origin.address = "https://b.example/v1?".into());
    change(|parts| parts.origin.model = "n".into());
    change(|parts| {
        parts.forwarded = vec![(HeaderName::from_static("anthropic-beta"), HeaderValue::from_static("x"))];
    });
    change(|parts| parts.guardrails = vec!["hash".into()]);
    change(|parts| parts.guardrails = vec!["hash".into(), "pii".into()]);
    change(|parts| parts.form = Some((false, false)));
    change(|parts| parts.form = Some((true, false)));
    change(|parts| parts.form = Some((true, true)));
    let mut keys: Vec<_> = changes.iter().map(|parts| key(parts, &plain, None)).collect();
    keys.push(key(&changes[0], &request(r#"{"model":"m","messages":[0],"seed":1}"#), None));
    keys.push(key(&changes[0], &plain, Some(&plain)));
    let different: std::collections::HashSet<_> = keys.iter().collect();
    assert_eq!(different.len(), keys.len());
    let streamed = request(r#"{"stream":true,"messages": [0],"model":"m"}"#);
    assert_eq!(key(&changes[0], &streamed, None), keys[0], "whole and streamed answers are shared");
    assert_eq!(hex(&keys[0]).len(), 64);
}

#[test]
fn only_callers_of_the_same_scope_share_answers_to_similar_requests() {
    let requests = [
        r#"{"model":"m","messages":[{"role":"user","content":"one"}]}"#,
        r#"{"model":"m","messages":[{"role":"user","content":"another"}]}"#,
    ];
    let partition = |scope: CacheScope, owner: &Owner, body: &'static str| {
        let request = request(body);
        let text = wire::last_user_text::find(CHAT, &request).unwrap();
        semantic_keys(&parts(Sharing::of(scope, owner)), &request, &text.value).partition
    };
    let shares: [(CacheScope, Shares); 4] = [
        (CacheScope::UserPath, |one, other| one.tenant == other.tenant && one.user_path == other.user_path),
        (CacheScope::Key, |one, other| one.tenant == other.tenant && one.key == other.key),
        (CacheScope::Tenant, |one, other| one.tenant == other.tenant),
        (CacheScope::Global, |one, other| one.tenant == other.tenant),
    ];
    let owners = owners();
    for (scope, shares) in shares {
        let [here, there] =
            requests.map(|body| owners.iter().map(|owner| partition(scope, owner, body)).collect::<Vec<_>>());
        for (one, one_key) in owners.iter().zip(&here) {
            for (other, other_key) in owners.iter().zip(&there) {
                assert_eq!(one_key == other_key, shares(one, other), "{scope:?}: {one:?} {other:?}");
            }
        }
    }
}

#[test]
fn similar_requests_differ_in_the_last_text_alone() {
    let owner = owner("k", "/a", "");
    let keys = |parts: &KeyParts, body: &'static str| {
        let request = request(body);
        let text = wire::last_user_text::find(CHAT, &request).unwrap();
        semantic_keys(parts, &request, &text.value)
    };
    let plain = parts(Sharing::of(CacheScope::UserPath, &owner));
    let body = r#"{"model":"m","messages":[{"role":"user","content":"one"}]}"#;
    let same = keys(&plain, body);
    for other in [
        r#"{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"one"}]}"#,
        r#"{"model":"m","temperature":0,"messages":[{"role":"user","content":"one"}]}"#,
        r#"{"model":"m","user":"u","messages":[{"role":"user","content":"one"}]}"#,
    ] {
        let other = keys(&plain, other);
        assert!(other.params_hash != same.params_hash && other.partition != same.partition);
    }
    let changed: [fn(&mut KeyParts); 4] = [
        |parts| parts.origin.model = "n".into(),
        |parts| parts.origin.address = "https://b.example/v1?".into(),
        |parts| parts.requested_model = "alias".into(),
        |parts| parts.guardrails = vec!["hash".into()],
    ];
    for change in changed {
        let mut parts = plain.clone();
        change(&mut parts);
        let other = keys(&parts, body);
        assert_eq!(other.params_hash, same.params_hash);
        assert_ne!(other.partition, same.partition);
    }
}
