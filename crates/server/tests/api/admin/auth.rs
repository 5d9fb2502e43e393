//! Tests of dashboard sessions, `/auth/me` and `/dashboard/config`.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use crate::app::{self, Answer, Call, TestApp, TestSettings};

const SESSION: &str = "/admin/api/v1/auth/session";

/// The value of the session cookie that an answer sets.
#[track_caller]
pub fn cookie(answer: &Answer) -> String {
    let lines = answer.headers.get_all("set-cookie").iter().map(|line| line.to_str().unwrap());
    let mut found = lines.filter_map(|line| line.strip_prefix("gatehouse_session="));
    found.next().unwrap().split(';').next().unwrap().to_owned()
}

async fn open(app: &TestApp, key: &str) -> String {
    cookie(&app.post(SESSION, json!({})).key(key).send().await.expect_status(200))
}

/// A request with the cookie alone.
fn by_cookie<'a>(app: &'a TestApp, method: Method, path: &str, value: &str) -> Call<'a> {
    app.call(method, path).anonymous().header("cookie", &format!("other=1; gatehouse_session={value}"))
}

#[tokio::test]
async fn a_key_is_exchanged_for_a_session_with_its_rights() {
    app::each(async |app| {
        let answer = app.post(SESSION, json!({})).send().await.expect_status(200);
        let line = answer.header("set-cookie").unwrap().to_owned();
        for part in ["; Path=/;", "; HttpOnly;", "; SameSite=Strict;"] {
            assert!(line.contains(part), "{line}");
        }
        // 12 hours, less what a busy machine took to answer.
        let age: u64 = line.split_once("; Max-Age=").unwrap().1.parse().unwrap();
        assert!((43_140..=43_200).contains(&age), "{line}");
        assert!(!line.contains("Secure"), "{line}");
        assert_eq!(answer.json()["scopes"], json!(["inference", "admin:write"]));
        let value = cookie(&answer);
        assert!(!answer.text().contains(&value), "only the cookie has the value");
        by_cookie(&app, Method::GET, "/admin/api/v1/providers", &value).send().await.expect_status(200);

        let key = json!({"name": "k", "scopes": ["admin:usage:read"], "user_path": "/team"});
        let (_, key) = app.key(key).await;
        let narrow = open(&app, &key).await;
        let read = |path: &str| by_cookie(&app, Method::GET, path, &narrow);
        read("/admin/api/v1/usage/summary").send().await.expect_status(200);
        assert_eq!(read("/admin/api/v1/providers").refusal().await.1, "insufficient_scope");
        for bad in ["", "nonsense", &key, app::MASTER] {
            let status = by_cookie(&app, Method::GET, "/admin/api/v1/providers", bad).send().await.status;
            assert_eq!(status, 401, "a key is not a session");
        }
        // A session is not a key.
        assert_eq!(app.get("/admin/api/v1/providers").key(&value).send().await.status, 401);
        let again = app.call(Method::POST, SESSION).anonymous().header("sec-fetch-site", "same-origin");
        let again = again.header("cookie", &format!("gatehouse_session={value}")).refusal().await;
        assert_eq!((again.0, &*again.1), (400, "invalid_parameter"));
    })
    .await;
}

#[tokio::test]
async fn only_own_pages_change_something_by_cookie() {
    app::each(async |app| {
        let value = open(&app, app::MASTER).await;
        let put = || {
            let body = json!({"target": "openai/text"}).to_string();
            by_cookie(&app, Method::PUT, "/admin/api/v1/aliases/a", &value).body(body)
        };
        for (name, origin) in
            [("origin", "https://evil.example"), ("sec-fetch-site", "cross-site"), ("x-nothing", "1")]
        {
            let refused = put().header("host", "gateway.example").header(name, origin).refusal().await;
            assert_eq!((refused.0, &*refused.1), (401, "missing_api_key"), "{name}");
        }
        put().header("sec-fetch-site", "same-origin").send().await.expect_status(201);
        put()
            .header("host", "gateway.example")
            .header("origin", "https://gateway.example")
            .send()
            .await
            .expect_status(200);
        let chat =
            by_cookie(&app, Method::POST, "/v1/chat/completions", &value).json(app::question("openai/text"));
        assert_eq!(chat.send().await.status, 401);
    })
    .await;
}

#[tokio::test]
async fn a_session_ends_with_its_key() {
    app::each(async |app| {
        let status = async |value: &str| {
            by_cookie(&app, Method::GET, "/admin/api/v1/usage/summary", value).send().await.status
        };
        let (id, key) = app.key(json!({"name": "k", "scopes": ["admin:usage:read"]})).await;
        let value = open(&app, &key).await;
        assert_eq!(status(&value).await, 200);
        app.post(format!("/admin/api/v1/auth-keys/{id}/deactivate"), json!({}))
            .send()
            .await
            .expect_status(200);
        assert_eq!(status(&value).await, 401);

        let (id, key) = app.key(json!({"name": "k", "scopes": ["admin:usage:read"]})).await;
        let value = open(&app, &key).await;
        let rotated = app.post(format!("/admin/api/v1/auth-keys/{id}/rotate"), json!({"overlap_seconds": 0}));
        rotated.send().await.expect_status(200);
        assert_eq!(status(&value).await, 401, "the value that opened it is no longer valid");

        let value = open(&app, app::MASTER).await;
        app.clock.advance(Duration::from_secs(12 * 3600 - 60));
        assert_eq!(status(&value).await, 200);
        app.clock.advance(Duration::from_secs(120));
        assert_eq!(status(&value).await, 401);
    })
    .await;
}

#[tokio::test]
async fn logout_ends_the_session_everywhere() {
    app::each(async |app| {
        let (first, second) = (open(&app, app::MASTER).await, open(&app, app::MASTER).await);
        let neighbour = app.neighbour().await;
        let status = async |app: &TestApp, value: &str| {
            by_cookie(app, Method::GET, "/admin/api/v1/providers", value).send().await.status
        };
        assert_eq!(status(&neighbour, &first).await, 200, "loaded at the start");
        let third = open(&app, app::MASTER).await;
        neighbour.refresher.refresh_sessions().await.unwrap();
        assert_eq!(status(&neighbour, &third).await, 200, "read as a change");
        let logout = by_cookie(&app, Method::POST, "/admin/api/v1/auth/logout", &first);
        let answer = logout.header("sec-fetch-site", "same-origin").send().await.expect_status(204);
        assert!(answer.header("set-cookie").unwrap().contains("gatehouse_session=; "));
        assert!(answer.header("set-cookie").unwrap().contains("Max-Age=0"));
        assert_eq!((status(&app, &first).await, status(&app, &second).await), (401, 200));
        neighbour.refresher.refresh_sessions().await.unwrap();
        assert_eq!((status(&neighbour, &first).await, status(&neighbour, &second).await), (401, 200));
        app.post("/admin/api/v1/auth/logout", json!({})).send().await.expect_status(204);
        assert_eq!(app.get("/admin/api/v1/providers").send().await.status, 200, "the key stays valid");
    })
    .await;
}

#[tokio::test]
async fn the_cookie_is_secure_behind_a_proxy_with_tls() {
    let settings = |trusted: &'static str| {
        move || {
            let mut settings = TestSettings::default();
            settings.config.trusted_proxies = vec![trusted.parse().unwrap()];
            settings.config.base_path = "/gate".into();
            settings
        }
    };
    for (trusted, expected) in [("192.0.2.0/24", true), ("10.0.0.0/8", false)] {
        app::each_with(settings(trusted), async |app| {
            let call = app.call(Method::POST, format!("/gate{SESSION}")).header("x-forwarded-proto", "https");
            let answer = call.send().await.expect_status(200);
            let line = answer.header("set-cookie").unwrap();
            assert_eq!(line.ends_with("; Secure"), expected, "{line}");
            assert!(line.contains("; Path=/gate/;"), "{line}");
        })
        .await;
    }
}

#[tokio::test]
async fn calls_by_cookie_are_audited_as_a_session() {
    let settings = || {
        let mut settings = TestSettings::default();
        settings.policy.audit.enabled = true;
        settings
    };
    app::each_with(settings, async |app| {
        let (id, key) = app.key(json!({"name": "k", "scopes": ["inference"]})).await;
        let value = open(&app, &key).await;
        let call = by_cookie(&app, Method::POST, "/v1/chat/completions", &value);
        let call = call.json(app::question("openai/text")).header("sec-fetch-site", "same-origin");
        call.send().await.expect_status(200);
        app.receipts(1).await;
        let log = app.get("/admin/api/v1/audit/log").send().await.expect_status(200);
        let entry = log.json()["entries"][0].clone();
        assert_eq!((&entry["auth_method"], &entry["auth_key_id"]), (&json!("session"), &json!(id)));
        assert!(!log.text().contains(&value), "the cookie is not recorded");
        assert!(
            !app.upstream.requests().iter().any(|request| format!("{:?}", request.headers).contains(&value))
        );
    })
    .await;
}

#[tokio::test]
async fn me_needs_an_identity_system() {
    const ME: &str = "/admin/api/v1/auth/me";
    let unavailable = async |app: TestApp| {
        for call in [app.get(ME), app.get(ME).anonymous(), app.get(ME).key("nonsense")] {
            let refused = call.refusal().await;
            assert_eq!((refused.0, &*refused.1), (503, "feature_unavailable"));
        }
    };
    app::each(unavailable).await;
    app::each_with(TestSettings::enterprise, unavailable).await;
    app::each_with(TestSettings::with_identity, async |app| {
        assert_eq!(app.get(ME).anonymous().send().await.status, 401);
        let me = app.get(ME).send().await.expect_status(200).json();
        assert_eq!(
            (&me["principal"]["auth_method"], &me["user"], &me["user_path"]),
            (&json!("master_key"), &Value::Null, &json!("/"))
        );
        let login = app.admin_login().await;
        let token = login["tokens"]["access_token"].as_str().unwrap();
        let me = app.get(ME).key(token).send().await.expect_status(200).json();
        assert_eq!((&me["user"]["email"], &me["roles"]), (&json!(app::ADMIN_EMAIL), &json!(["admin"])));
        assert_eq!(me["scopes"], json!(["inference", "admin:write"]));
        assert_eq!(me["permissions"], json!([{"action": "*", "resource": "*", "effect": "allow"}]));
        assert_eq!(me["tenant_id"], Value::Null);
    })
    .await;
}

#[tokio::test]
async fn the_dashboard_learns_edition_features_and_limits() {
    const CONFIG: &str = "/admin/api/v1/dashboard/config";
    app::each(async |app| {
        let key = app.key_with(&["inference"]).await;
        let config = app.get(CONFIG).key(&key).send().await.expect_status(200).json();
        assert_eq!(
            (&config["caller"]["principal"]["auth_method"], &config["caller"]["scopes"]),
            (&json!("api_key"), &json!(["inference"]))
        );
        assert_eq!((&config["edition"], &config["version"]), (&json!("oss"), &json!("0.0.0-test")));
        assert_eq!(config["capabilities"]["identity"], false);
        assert_eq!(config["capabilities"].as_object().unwrap().len(), 8);
        let budgets = &config["features"]["budgets"];
        assert_eq!((&budgets["enabled"], &budgets["available"]), (&json!(false), &json!(false)));
        for name in ["GATEWAY_EDITION", "GATEWAY_CAPABILITIES=advancedBudgets"] {
            assert!(budgets["reason"].as_str().unwrap().contains(name), "{budgets}");
        }
        assert_eq!(config["features"]["usage"], json!({"enabled": true, "available": true}));
        assert_eq!(config["features"]["audit"]["enabled"], false);
        assert_eq!(config["identity"], json!({"enabled": false, "oidc_providers": []}));
        assert_eq!(config["limits"]["body_size_bytes"], app.gateway.policy.body_limit);
        assert!(config["server_time"].as_str().unwrap().ends_with('Z'));
    })
    .await;
    app::each_with(TestSettings::with_identity, async |app| {
        let config = app.get(CONFIG).send().await.expect_status(200).json();
        assert_eq!(config["edition"], "enterprise");
        assert_eq!(config["features"]["identity"], json!({"enabled": true, "available": true}));
        assert_eq!(config["identity"]["enabled"], true);
    })
    .await;
}

#[tokio::test]
async fn the_sign_in_page_learns_only_how_users_log_in() {
    const CONFIG: &str = "/admin/api/v1/dashboard/config";
    app::each_with(TestSettings::with_identity, async |app| {
        let config = app.get(CONFIG).anonymous().send().await.expect_status(200).json();
        let server_time = config["server_time"].clone();
        let expected = json!({
            "edition": "enterprise", "version": "0.0.0-test", "capabilities": {}, "features": {},
            "identity": {"enabled": true, "oidc_providers": []}, "limits": {}, "caller": null, "server_time": server_time,
        });
        assert_eq!(config, expected);
        let value = open(&app, app::MASTER).await;
        let by_session = by_cookie(&app, Method::GET, CONFIG, &value).send().await.expect_status(200).json();
        assert_eq!(by_session["caller"]["principal"]["auth_method"], "session");
        assert_eq!(by_session["caller"]["scopes"], json!(["inference", "admin:write"]));
        // A browser sends the cookie of a session that has ended; a client that sends a wrong key made a mistake.
        let ended = by_cookie(&app, Method::GET, CONFIG, "ended").send().await.expect_status(200).json();
        assert_eq!(ended["caller"], Value::Null);
        assert_eq!(app.get(CONFIG).key("no-such-key").send().await.status, 401);
        let bare = app.get(CONFIG).anonymous().header("authorization", "nonsense");
        assert_eq!(bare.send().await.status, 401);
    })
    .await;
}

#[tokio::test]
async fn streams_are_read_by_cookie() {
    let settings = || {
        let mut settings = TestSettings::default();
        settings.policy.audit.enabled = true;
        settings
    };
    app::each_with(settings, async |app| {
        let value = open(&app, app::MASTER).await;
        let narrow = open(&app, &app.key_with(&["inference"]).await).await;
        for path in ["/admin/api/v1/console/stream", "/admin/api/v1/audit/log/stream"] {
            let stream = by_cookie(&app, Method::GET, path, &value).glance().await;
            assert_eq!(stream.status, 200, "{path}");
            assert!(stream.header("content-type").unwrap().starts_with("text/event-stream"), "{path}");
            assert_eq!(by_cookie(&app, Method::GET, path, &narrow).refusal().await.0, 403, "{path}");
        }
    })
    .await;
}
