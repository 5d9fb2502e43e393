//! Tests of logins, users and roles.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use super::auth::cookie;
use crate::app::{self, ADMIN_EMAIL, ADMIN_PASSWORD, TestApp, TestSettings};

const USERS: &str = "/admin/api/v1/identity/users";
const ROLES: &str = "/admin/api/v1/identity/roles";
const ME: &str = "/admin/api/v1/auth/me";

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

async fn status(app: &TestApp, token: &str) -> u16 {
    app.get(ME).key(token).send().await.status
}

async fn refresh(app: &TestApp, token: &Value) -> app::Answer {
    app.post("/admin/api/v1/auth/refresh", json!({"refresh_token": token})).anonymous().send().await
}

#[tokio::test]
async fn a_login_answers_with_tokens_and_a_cookie() {
    app::each_with(TestSettings::with_identity, async |app| {
        let login = app.admin_login().await;
        assert_eq!((&login["user"]["email"], &login["roles"]), (&json!(ADMIN_EMAIL), &json!(["admin"])));
        assert_eq!(login["permissions"][0]["action"], "*");
        assert_eq!(login["tokens"]["expires_in"], 900);
        let answer = app.login(" ADMIN@example.com ", ADMIN_PASSWORD).await.expect_status(200);
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        let value = cookie(&answer);
        let by_cookie = app.get(ME).anonymous().header("cookie", &format!("gatehouse_session={value}"));
        assert_eq!(by_cookie.send().await.expect_status(200).json()["principal"]["auth_method"], "session");
        let access = text(&login["tokens"]["access_token"]);
        assert_eq!(status(&app, access).await, 200);
        let chat = app.chat("openai/text").key(access).send().await;
        assert_eq!(chat.status, 200, "an administrator may call models");
        app.clock.advance(Duration::from_secs(901));
        assert_eq!(status(&app, access).await, 401, "an access token lasts 15 minutes");
        // Another start does not change the password.
        let other = domain::secret::Secret::new("another password".to_owned());
        server::create_first_admin(app.http_service.app(), ADMIN_EMAIL, &other).await.unwrap();
        assert_eq!(app.login(ADMIN_EMAIL, "another password").await.status, 401);
        // Nor does it create a second administrator.
        server::create_first_admin(app.http_service.app(), "second@example.com", &other).await.unwrap();
        assert_eq!(app.login("second@example.com", "another password").await.status, 401);
    })
    .await;
}

#[tokio::test]
async fn a_refresh_token_is_used_once() {
    app::each_with(TestSettings::with_identity, async |app| {
        let login = app.admin_login().await;
        let (first, access) = (&login["tokens"]["refresh_token"], text(&login["tokens"]["access_token"]));
        assert_eq!(status(&app, text(first)).await, 401, "a refresh token is not an access token");
        let second = refresh(&app, first).await.expect_status(200).json();
        assert_eq!(status(&app, access).await, 401, "the earlier access token has ended");
        let access = text(&second["tokens"]["access_token"]);
        assert_eq!(status(&app, access).await, 200);
        let refused = refresh(&app, first).await.refusal();
        assert_eq!((refused.0, &*refused.1), (401, "invalid_api_key"));
        assert_eq!(status(&app, access).await, 401, "reuse ends the whole login");
        assert_eq!(refresh(&app, &second["tokens"]["refresh_token"]).await.status, 401);
        assert_eq!(refresh(&app, &json!("nonsense")).await.status, 401);

        let login = app.login(ADMIN_EMAIL, ADMIN_PASSWORD).await.expect_status(200).json();
        app.clock.advance(Duration::from_secs(7 * 24 * 3600 + 1));
        assert_eq!(refresh(&app, &login["tokens"]["refresh_token"]).await.status, 401, "expired");
    })
    .await;
}

#[tokio::test]
async fn logout_ends_all_tokens_of_the_login() {
    app::each_with(TestSettings::with_identity, async |app| {
        let login = app.admin_login().await;
        let other = app.login(ADMIN_EMAIL, ADMIN_PASSWORD).await.json();
        let access = text(&login["tokens"]["access_token"]);
        app.post("/admin/api/v1/auth/logout", json!({})).key(access).send().await.expect_status(204);
        assert_eq!(status(&app, access).await, 401);
        assert_eq!(refresh(&app, &login["tokens"]["refresh_token"]).await.status, 401);
        assert_eq!(status(&app, text(&other["tokens"]["access_token"])).await, 200);
    })
    .await;
}

#[tokio::test]
async fn failed_logins_are_limited() {
    app::each_with(TestSettings::with_identity, async |app| {
        app.admin_login().await;
        let unknown = app.login("nobody@example.com", ADMIN_PASSWORD).await.refusal();
        let wrong = app.login(ADMIN_EMAIL, "a wrong password").await;
        assert_eq!(wrong.refusal(), unknown, "one answer for both");
        for _ in 0..9 {
            assert_eq!(app.login(ADMIN_EMAIL, "a wrong password").await.status, 401);
        }
        let limited = app.login(ADMIN_EMAIL, ADMIN_PASSWORD).await;
        assert_eq!(limited.refusal().1, "rate_limit_exceeded");
        assert!(limited.header("retry-after").is_some());
        app.clock.pass(Duration::from_secs(15 * 60));
        app.login(ADMIN_EMAIL, ADMIN_PASSWORD).await.expect_status(200);
        for body in [
            json!({}),
            json!({"email": "a@b.c"}),
            json!({"email": 1, "password": "x"}),
            json!({"email": "a", "password": "b", "x": 1}),
        ] {
            assert_eq!(app.post("/admin/api/v1/auth/login", body).anonymous().send().await.status, 400);
        }
    })
    .await;
}

#[tokio::test]
async fn pages_of_other_sites_log_nobody_in() {
    app::each_with(TestSettings::with_identity, async |app| {
        app.admin_login().await;
        for (site, status) in [("cross-site", 401), ("same-site", 401), ("same-origin", 200), ("none", 200)] {
            let body = json!({"email": ADMIN_EMAIL, "password": ADMIN_PASSWORD});
            let login = app.post("/admin/api/v1/auth/login", body).anonymous().header("sec-fetch-site", site);
            assert_eq!(login.send().await.status, status, "{site}");
        }
    })
    .await;
}

#[tokio::test]
async fn without_the_capability_logins_need_a_key_and_are_refused() {
    app::each(async |app| {
        for path in
            ["/admin/api/v1/auth/login", "/admin/api/v1/auth/refresh", "/admin/api/v1/auth/oidc/callback"]
        {
            assert_eq!(app.post(path, json!({})).anonymous().send().await.status, 401, "{path}");
            let refused = app.post(path, json!({})).send().await;
            assert_eq!((refused.status, &*refused.refusal().1), (403, "edition_restricted"), "{path}");
            assert_eq!(refused.json()["error"]["capability"], "identity");
            for name in ["GATEWAY_EDITION", "GATEWAY_CAPABILITIES"] {
                assert!(refused.text().contains(name), "{path}");
            }
        }
        assert_eq!(app.get("/admin/api/v1/auth/oidc/corp").anonymous().send().await.status, 401);
        assert_eq!(app.get("/admin/api/v1/auth/oidc/corp").refusal().await.1, "edition_restricted");
        for path in [USERS, ROLES, "/admin/api/v1/identity/permissions", "/admin/api/v1/identity/providers"] {
            assert_eq!(app.get(path).refusal().await.1, "edition_restricted", "{path}");
        }
    })
    .await;
    app::each_with(TestSettings::enterprise, async |app| {
        let refused = app.login(ADMIN_EMAIL, ADMIN_PASSWORD).await.refusal();
        assert_eq!((refused.0, &*refused.1), (503, "feature_unavailable"), "nothing is configured");
    })
    .await;
}

#[tokio::test]
async fn users_are_created_changed_and_deleted() {
    app::each_with(TestSettings::with_identity, async |app| {
        let body = json!({"email": "Ops@Example.com", "name": "Ops", "password": ADMIN_PASSWORD, "roles": ["operator"], "user_path": "/ops"});
        let made = app.post(USERS, body).send().await.expect_status(201);
        assert!(made.header("etag").is_some() && !made.text().contains("argon2") && !made.text().contains(ADMIN_PASSWORD));
        let user = made.json();
        assert_eq!((&user["email"], &user["password_set"], &user["active"]), (&json!("ops@example.com"), &json!(true), &json!(true)));
        let path = format!("{USERS}/{}", text(&user["id"]));
        let login = app.login("ops@example.com", ADMIN_PASSWORD).await.expect_status(200).json();
        let token = text(&login["tokens"]["access_token"]).to_owned();
        assert_eq!(app.get(ME).key(&token).send().await.json()["user_path"], "/ops");

        // GET, edit, PUT.
        let mut view = app.get(&*path).send().await.expect_status(200).json();
        view["name"] = json!("Operations");
        view["user_path"] = Value::Null;
        let changed = app.put(&*path, view).send().await.expect_status(200).json();
        assert_eq!((&changed["name"], &changed["user_path"], &changed["password_set"]), (&json!("Operations"), &Value::Null, &json!(true)));
        assert_eq!(status(&app, &token).await, 200, "a new name ends no session");
        app.put(&*path, json!({"password": "another password"})).send().await.expect_status(200);
        assert_eq!(status(&app, &token).await, 401, "a new password ends the sessions");
        assert_eq!(app.login("ops@example.com", ADMIN_PASSWORD).await.status, 401);
        let login = app.login("ops@example.com", "another password").await.expect_status(200).json();
        let token = text(&login["tokens"]["access_token"]).to_owned();
        app.put(&*path, json!({"active": false})).send().await.expect_status(200);
        assert_eq!(status(&app, &token).await, 401);
        assert_eq!(app.login("ops@example.com", "another password").await.status, 401);
        app.put(&*path, json!({"active": true})).send().await.expect_status(200);
        assert_eq!(status(&app, &token).await, 401, "a session that ended stays so");

        for (body, code) in [
            (json!({"email": "ops@example.com"}), "conflict"),
            (json!({"email": "nonsense"}), "invalid_parameter"),
            (json!({"email": "a@b.c", "password": "short"}), "invalid_parameter"),
            (json!({"email": "a@b.c", "roles": ["gone"]}), "invalid_parameter"),
            (json!({"email": "a@b.c", "user_path": "/a:b"}), "invalid_parameter"),
            (json!({"email": "a@b.c", "rolls": []}), "unknown_parameter"),
        ] {
            assert_eq!(app.post(USERS, body.clone()).refusal().await.1, code, "{body}");
        }
        let list = app.get(format!("{USERS}?limit=1")).send().await.expect_status(200);
        assert_eq!((list.header("x-total-count"), list.json().as_array().unwrap().len()), (Some("1"), 1));
        let stale = app.put(&*path, json!({"name": "x"})).header("if-match", "\"1\"").refusal().await;
        assert_eq!(stale.1, "precondition_failed");
        let changes = app.get("/admin/api/v1/changes?kind=user").send().await.expect_status(200);
        assert!(!changes.text().contains("argon2"), "passwords are not in the change log");
        app.call(Method::DELETE, &*path).send().await.expect_status(204);
        assert_eq!(app.get(&*path).send().await.status, 404);
    })
    .await;
}

#[tokio::test]
async fn roles_take_effect_at_once_and_deny_wins() {
    app::each_with(TestSettings::with_identity, async |app| {
        let role = json!({"name": "auditor", "permissions": [{"action": "read", "resource": "*"},
            {"action": "read", "resource": "usage", "effect": "deny"}]});
        app.post(ROLES, role).send().await.expect_status(201);
        let (id, token) = app.user("a@example.com", &["auditor"]).await;
        let read =
            async |path: &str| app.get(format!("/admin/api/v1/{path}")).key(&token).send().await.status;
        assert_eq!((read("providers").await, read("usage/summary").await), (200, 403));
        let more = app.put(
            format!("{ROLES}/auditor"),
            json!({"permissions": [{"action": "read", "resource": "usage"}]}),
        );
        more.send().await.expect_status(200);
        assert_eq!((read("providers").await, read("usage/summary").await), (403, 200));
        let path = format!("{USERS}/{id}/roles");
        assert_eq!(app.get(&*path).send().await.json(), json!({"roles": ["auditor"]}));
        let in_use = app.call(Method::DELETE, format!("{ROLES}/auditor")).send().await;
        assert_eq!((in_use.status, in_use.text().contains(&id)), (409, true));
        app.put(&*path, json!({"roles": ["viewer"]})).send().await.expect_status(200);
        assert_eq!(read("providers").await, 200);
        app.call(Method::DELETE, format!("{ROLES}/auditor")).send().await.expect_status(204);

        let roles = app.get(ROLES).send().await.expect_status(200).json();
        let names: Vec<&str> = roles.as_array().unwrap().iter().map(|role| text(&role["name"])).collect();
        assert_eq!(names, ["admin", "operator", "viewer"]);
        for (method, path) in
            [(Method::PUT, format!("{ROLES}/admin")), (Method::DELETE, format!("{ROLES}/viewer"))]
        {
            assert_eq!(app.call(method, path).json(json!({})).refusal().await.1, "conflict", "built in");
        }
        assert_eq!(app.post(ROLES, json!({"name": "admin"})).refusal().await.1, "conflict");
        let bad = json!({"name": "x", "permissions": [{"action": "read", "resource": "nowhere"}]});
        assert_eq!(app.post(ROLES, bad).send().await.status, 400);
        let words = app.get("/admin/api/v1/identity/permissions").send().await.expect_status(200).json();
        assert_eq!(words["actions"], json!(["read", "write", "*"]));
        assert!(words["resources"].as_array().unwrap().contains(&json!("auth-keys")));
    })
    .await;
}

#[tokio::test]
async fn nobody_grants_more_than_its_own_rights() {
    app::each_with(TestSettings::with_identity, async |app| {
        let role = json!({"name": "clerk", "permissions": [{"action": "*", "resource": "identity"}, {"action": "read", "resource": "usage"}]});
        app.post(ROLES, role).send().await.expect_status(201);
        let (_, clerk) = app.user("clerk@example.com", &["clerk"]).await;
        let (admin, _) = app.user("boss@example.com", &["admin"]).await;
        let refused = async |call: app::Call<'_>| call.key(&clerk).refusal().await.1;
        let put = |path: String, body: Value| app.put(path, body);
        let denied = "insufficient_scope";
        assert_eq!(refused(app.post(USERS, json!({"email": "x@y.z", "roles": ["admin"]}))).await, denied);
        assert_eq!(refused(put(format!("{USERS}/{admin}"), json!({"password": "taken over now"}))).await, denied);
        assert_eq!(refused(app.call(Method::DELETE, format!("{USERS}/{admin}"))).await, denied);
        assert_eq!(refused(put(format!("{USERS}/{admin}/roles"), json!({"roles": []}))).await, denied);
        let wide = json!({"name": "wide", "permissions": [{"action": "write", "resource": "providers"}]});
        assert_eq!(refused(app.post(ROLES, wide)).await, denied);
        let wider = json!({"permissions": [{"action": "*", "resource": "*"}]});
        assert_eq!(refused(put(format!("{ROLES}/clerk"), wider)).await, denied);
        let stronger = json!({"name": "stronger", "permissions": [{"action": "write", "resource": "providers"}]});
        app.post(ROLES, stronger).send().await.expect_status(201);
        assert_eq!(refused(app.call(Method::DELETE, format!("{ROLES}/stronger"))).await, denied);
        let deny = json!([{"action": "read", "resource": "usage", "effect": "deny"}]);
        assert_eq!(refused(put(format!("{ROLES}/clerk"), json!({"permissions": deny}))).await, denied);
        let own = app.post(USERS, json!({"email": "x@y.z", "roles": ["clerk"]})).key(&clerk).send().await;
        assert_eq!(own.status, 201, "{}", own.text());
        let key = app.post("/admin/api/v1/auth-keys", json!({"name": "k"})).key(&clerk);
        assert_eq!(key.send().await.status, 403);
    })
    .await;
}

/// Users have no lists, limits, pools or expiry, so that a key with one must not make users that call models.
#[tokio::test]
async fn a_restricted_key_makes_no_users_that_call_models() {
    app::each_with(TestSettings::with_identity, async |app| {
        let caller = json!({"name": "caller", "permissions": [{"action": "*", "resource": "inference"}]});
        app.post(ROLES, caller).send().await.expect_status(201);
        let reader = json!({"name": "reader", "permissions": [{"action": "read", "resource": "usage"}]});
        app.post(ROLES, reader).send().await.expect_status(201);
        let (known, _) = app.user("known@example.com", &["caller"]).await;
        for (number, restriction) in [
            json!({"allowed_models": ["openai/*"]}),
            json!({"denied_models": ["openai/text"]}),
            json!({"rate_limits": {"requests_per_minute": 100}}),
            json!({"expiry": "2099-01-01T00:00:00Z"}),
        ]
        .iter()
        .enumerate()
        {
            let mut body = json!({"name": "k", "scopes": ["inference", "admin:write"]});
            for (name, value) in restriction.as_object().unwrap() {
                body[name] = value.clone();
            }
            let (_, key) = app.key(body).await;
            let user = json!({"email": format!("u{number}@example.com"), "roles": ["caller"]});
            let takeover = json!({"password": "taken over now"});
            let wider = json!({"permissions": [{"action": "*", "resource": "inference"}]});
            for call in [
                app.post(USERS, user),
                app.put(format!("{USERS}/{known}"), takeover),
                app.put(format!("{ROLES}/reader"), wider),
            ] {
                assert_eq!(call.key(&key).refusal().await.1, "key_limit_denied", "{restriction}");
            }
            let other = json!({"email": format!("r{number}@example.com"), "roles": ["reader"]});
            app.post(USERS, other).key(&key).send().await.expect_status(201);
        }
    })
    .await;
}
