//! Tests of the translation of permissions into scopes.

use super::*;

#[track_caller]
fn check(permissions: &str, granted: &[&str], refused: &[&str]) {
    let permissions: Vec<Permission> = serde_json::from_str(permissions).unwrap();
    let scopes = scopes(&permissions);
    let may = |needed: &str| {
        let needed: Scope = needed.parse().unwrap();
        scopes.iter().any(|held| held.grants(needed))
    };
    for scope in granted {
        assert!(may(scope), "{scope} is not granted by {permissions:?}");
    }
    for scope in refused {
        assert!(!may(scope), "{scope} is granted by {permissions:?}");
    }
}

#[test]
fn permissions_become_scopes_and_deny_wins() {
    check("[]", &[], &["inference", "admin:read", "admin:usage:read"]);
    check(
        r#"[{"action":"*","resource":"*"}]"#,
        &["inference", "admin:write", "admin:read", "admin:identity:write"],
        &[],
    );
    check(
        r#"[{"action":"read","resource":"*"}]"#,
        &["admin:read", "admin:usage:read"],
        &["inference", "admin:write", "admin:usage:write"],
    );
    check(
        r#"[{"action":"write","resource":"usage"}]"#,
        &["admin:usage:write", "admin:usage:read"],
        &["admin:audit:read", "inference", "admin:read"],
    );
    check(
        r#"[{"action":"*","resource":"*"},{"action":"write","resource":"audit","effect":"deny"}]"#,
        &["admin:audit:read", "admin:usage:write", "admin:read", "inference"],
        &["admin:audit:write", "admin:write"],
    );
    check(
        r#"[{"action":"read","resource":"audit","effect":"deny"},{"action":"*","resource":"*"}]"#,
        &["admin:usage:write"],
        &["admin:audit:read", "admin:audit:write", "admin:read", "admin:write"],
    );
    check(
        r#"[{"action":"*","resource":"*"},{"action":"*","resource":"inference","effect":"deny"}]"#,
        &["admin:write"],
        &["inference"],
    );
    check(r#"[{"action":"write","resource":"inference"}]"#, &["inference"], &["admin:usage:read"]);
    check(r#"[{"action":"read","resource":"inference"}]"#, &[], &["inference"]);
}

#[test]
fn system_roles_grant_what_their_names_say() {
    let may = |role: &str, needed: &str| {
        let needed: Scope = needed.parse().unwrap();
        scopes(system_role(role).unwrap()).iter().any(|held| held.grants(needed))
    };
    for (role, scope, expected) in [
        ("admin", "admin:identity:write", true),
        ("admin", "inference", true),
        ("operator", "admin:providers:write", true),
        ("operator", "admin:identity:read", true),
        ("operator", "admin:identity:write", false),
        ("operator", "admin:tokens:write", false),
        ("operator", "inference", true),
        ("viewer", "admin:read", true),
        ("viewer", "admin:providers:write", false),
        ("viewer", "inference", false),
    ] {
        assert_eq!(may(role, scope), expected, "{role} {scope}");
    }
    assert_eq!(system_role("root"), None);
}

#[test]
fn unknown_words_are_refused() {
    for bad in [
        r#"{"action":"delete","resource":"*"}"#,
        r#"{"action":"read","resource":"nowhere"}"#,
        r#"{"action":"read","resource":"*","effect":"maybe"}"#,
        r#"{"action":"read","resource":"*","scope":"x"}"#,
    ] {
        assert!(serde_json::from_str::<Permission>(bad).is_err(), "{bad}");
    }
}
