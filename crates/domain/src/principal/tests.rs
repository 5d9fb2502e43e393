//! Tests of the principal.

use super::*;
use crate::scope::Area;

#[test]
fn the_master_key_has_every_scope_and_no_path() {
    let master = Principal::Master;
    for action in [Action::Read, Action::Write] {
        let areas = Area::ALL.iter().map(|area| Scope::Admin(Some(*area), action));
        for scope in areas.chain([Scope::Admin(None, action), Scope::Inference]) {
            assert!(master.may(scope), "{scope}");
        }
    }
    assert_eq!((master.own_path(), master.tenant(), master.expires_at()), (None, None, None));
    assert_eq!((master.actor(), master.auth_method()), ("master", "master_key"));
}

#[test]
fn a_key_brings_its_own_scopes_path_and_tenant() {
    let path = UserPath::parse("/team").unwrap();
    let key = Principal::Key(facts("k1"));
    assert!(key.may(Scope::Admin(Some(Area::Usage), Action::Read)));
    assert!(!key.may(Scope::Admin(Some(Area::Usage), Action::Write)) && !key.may(Scope::Inference));
    assert_eq!((key.own_path(), key.subtree()), (Some(&path), Some(&path)));
    assert_eq!((key.tenant().map(|tenant| &**tenant), key.expires_at()), (Some("t"), Some(Timestamp(7))));
    assert_eq!((key.actor(), key.auth_method()), ("k1", "api_key"));
}

#[test]
fn callers_of_a_tenant_are_confined_to_it() {
    let facts = KeyFacts { user_path: None, ..(*facts("k1")).clone() };
    let free = Principal::Key(Arc::new(KeyFacts { tenant_id: None, ..facts.clone() }));
    let bound = Principal::Key(Arc::new(facts));
    assert!(bound.is_confined() && !free.is_confined() && !Principal::Master.is_confined());
    assert!(bound.sees_tenant(Some("t")) && !bound.sees_tenant(Some("u")) && !bound.sees_tenant(None));
    assert!(free.sees_tenant(Some("t")) && free.sees_tenant(None));
    let fault = bound.require_no_subtree().unwrap_err();
    assert_eq!((fault.status, fault.code.as_str()), (403, "user_path_denied"));
    assert!(free.require_no_subtree().is_ok() && free.require_no_tenant().is_ok());
}

fn facts(id: &str) -> Arc<KeyFacts> {
    Arc::new(KeyFacts {
        id: id.into(),
        name: "one".into(),
        searchable: "".into(),
        digest: [0; 32],
        scopes: vec![Scope::Admin(Some(Area::Usage), Action::Read)],
        user_path: Some(UserPath::parse("/team").unwrap()),
        tenant_id: Some("t".into()),
        lists: AccessLists::default(),
        provider_pool: None,
        rate_limits: RateLimits::default(),
        expires_at: Some(Timestamp(7)),
        active: true,
    })
}

fn session(holder: SessionHolder, end: i64) -> Principal {
    let facts = SessionFacts { digest: [1; 32], family: "f".into(), holder, expires_at: Timestamp(end) };
    Principal::Session(Arc::new(facts))
}

#[test]
fn a_session_has_the_rights_of_its_holder_and_ends_with_it() {
    let master = session(SessionHolder::Master, 5);
    assert!(master.may(Scope::Admin(None, Action::Write)) && master.may(Scope::Inference));
    assert_eq!(
        (master.actor(), master.auth_method(), master.expires_at()),
        ("master", "session", Some(Timestamp(5)))
    );
    for (end, expected) in [(5, 5), (9, 7)] {
        let of_key = session(SessionHolder::Key(facts("k1")), end);
        assert_eq!((of_key.actor(), of_key.expires_at()), ("k1", Some(Timestamp(expected))));
        assert!(!of_key.may(Scope::Inference) && of_key.subtree().is_some());
        assert_eq!(of_key.managed_key().map(|key| &*key.id), Some("k1"));
    }
    let user = UserFacts {
        email: "a@example.com".into(),
        display_name: "A".into(),
        roles: vec![],
        permissions: vec![],
        grant: facts("user_1"),
    };
    let of_user = session(SessionHolder::User(Arc::new(user)), 5);
    assert_eq!((of_user.actor(), of_user.managed_key().is_none()), ("user_1", true));
    assert_eq!(of_user.user().map(|user| &*user.email), Some("a@example.com"));
}

#[test]
fn a_token_is_a_caller_of_its_own() {
    let token = Principal::Token(Arc::new(TokenFacts {
        digest: [2; 32],
        issuer: "https://issuer".into(),
        subject: "alice".into(),
        jti: None,
        issued_at: None,
        grant: facts("token_1"),
    }));
    assert_eq!((token.actor(), token.auth_method(), token.subject()), ("token_1", "token", Some("alice")));
    assert!(token.managed_key().is_none() && token.user().is_none() && token.key().is_some());
}
