//! `/admin/api/v1/auth-keys`.

mod access;
mod edit;
mod limits;
mod list;
mod rotate;
mod uses;

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use crate::app::{self, TestApp};

const PATH: &str = "/admin/api/v1/auth-keys";

#[tokio::test]
async fn a_key_is_shown_once() {
    app::each(async |app| {
        let body = json!({
            "name": "ci", "description": "for the build", "user_path": "/team//ci/", "tenant_id": "acme",
            "scopes": ["inference", "admin:usage:read"], "allowed_models": ["openai/*"], "denied_models": ["*-mini"],
            "allowed_providers": ["openai"], "rate_limits": {"requests_per_minute": 60}, "expiry": "2999-12-31T23:59:59Z",
        });
        let created = app.post(PATH, body).send().await;
        created.snapshot("auth key created");
        let created = created.json();
        let raw = created["key"].as_str().unwrap();
        assert!(domain::resources::auth_key::is_well_formed(raw));
        assert_eq!(created["key"], created["value"]);
        assert!(created["redacted_value"].as_str().unwrap().ends_with(&raw[raw.len() - 4..]));

        let id = created["id"].as_str().unwrap();
        let read = app.get(format!("{PATH}/{id}")).send().await;
        read.snapshot("auth key read");
        let list = app.get(PATH).send().await.expect_status(200);
        let changes = app.get("/admin/api/v1/changes").send().await.expect_status(200);
        for answer in [&read, &list, &changes] {
            assert!(!answer.text().contains(raw), "the raw key is in {}", answer.text());
            let digest: String = domain::resources::auth_key::digest(raw).iter().map(|byte| format!("{byte:02x}")).collect();
            assert!(std::ptr::eq(answer, &changes) || !answer.text().contains(&digest));
        }
    })
    .await;
}

#[tokio::test]
async fn defaults_are_those_of_the_contract() {
    app::each(async |app| {
        let created = app.post(PATH, json!({"name": "plain"})).send().await.expect_status(201).json();
        assert_eq!(created["scopes"], json!(["inference"]));
        for absent in [
            "user_path",
            "tenant_id",
            "allowed_providers",
            "allowed_models",
            "denied_models",
            "expires_at",
            "deactivated_at",
        ] {
            assert_eq!(created[absent], Value::Null, "{absent}");
        }
        assert_eq!((&created["enabled"], &created["active"]), (&json!(true), &json!(true)));
        let aliased = json!({"name": "aliased", "expires_at": "2999-01-01T00:00:00Z"});
        let created = app.post(PATH, aliased).send().await.expect_status(201).json();
        assert_eq!(created["expires_at"], "2999-01-01T00:00:00.000Z");
    })
    .await;
}

#[tokio::test]
async fn bodies_are_checked_by_field() {
    app::each(async |app| {
        let cases = [
            (json!({}), "invalid_parameter", "name"),
            (json!({"name": " "}), "invalid_parameter", "name"),
            (json!({"name": "x".repeat(201)}), "invalid_parameter", "name"),
            (json!({"name": "a", "nmae": 1}), "unknown_parameter", "nmae"),
            (json!({"name": "a", "scopes": []}), "invalid_parameter", "scopes"),
            (json!({"name": "a", "scopes": ["inference", "root"]}), "invalid_parameter", "scopes"),
            (json!({"name": "a", "expiry": "tomorrow"}), "invalid_parameter", "expiry"),
            (json!({"name": "a", "user_path": "/a/../b"}), "invalid_parameter", "user_path"),
            (json!({"name": "a", "allowed_models": "gpt"}), "invalid_parameter", "allowed_models"),
            (
                json!({"name": "a", "rate_limits": {"requests_per_minute": -1}}),
                "invalid_parameter",
                "rate_limits.requests_per_minute",
            ),
            (json!({"name": "a", "provider_pool_id": "nowhere"}), "invalid_parameter", "provider_pool_id"),
        ];
        for (body, code, param) in cases {
            let shown = body.to_string();
            let found = app.post(PATH, body).refusal().await;
            assert_eq!((found.0, &*found.1, found.2.as_deref()), (400, code, Some(param)), "{shown}");
        }
        let found = app.post(PATH, json!({})).body(r#"{"name":"a","name":"b"}"#).refusal().await;
        assert_eq!(found, (400, "invalid_json".into(), Some("name".into())));
        let found = app
            .post(PATH, json!({"name": "a"}))
            .header("content-type", "multipart/form-data")
            .refusal()
            .await;
        assert_eq!(found.0, 415);
        assert_eq!(app.get(PATH).send().await.json()["total"], 0);
    })
    .await;
}

/// Nobody can make a key that may do more than its maker.
#[tokio::test]
async fn a_key_cannot_outgrow_its_maker() {
    app::each(async |app| {
        let maker = app.key_with(&["admin:auth-keys:write"]).await;
        let make = async |body: Value| app.post(PATH, body).key(&maker).send().await;
        for scope in ["inference", "admin:read", "admin:write", "admin:usage:read"] {
            let refused = make(json!({"name": "x", "scopes": [scope]})).await;
            assert_eq!(refused.refusal().1, "insufficient_scope", "{scope}");
            assert_eq!(refused.json()["error"]["required_scope"], scope);
        }
        // The default scope is a scope like any other.
        assert_eq!(make(json!({"name": "x"})).await.status, 403);
        assert_eq!(make(json!({"name": "x", "scopes": ["admin:auth-keys:read"]})).await.status, 201);
        let everything = app.key_with(&["admin:write", "inference"]).await;
        let made = app
            .post(PATH, json!({"name": "x", "scopes": ["admin:changes:read", "inference"]}))
            .key(&everything);
        made.send().await.expect_status(201);
    })
    .await;
}

#[tokio::test]
async fn an_admin_bound_to_a_path_cannot_leave_it() {
    app::each(async |app| {
        let (_, team) = app.key(json!({"name": "team", "scopes": ["admin:auth-keys:write", "inference"], "user_path": "/team"})).await;
        let (outside, _) = app.key(json!({"name": "other", "user_path": "/other"})).await;
        let make = async |path: Value| app.post(PATH, json!({"name": "x", "user_path": path})).key(&team).send().await;
        assert_eq!(make(json!("/other")).await.refusal(), (403, "user_path_denied".into(), Some("user_path".into())));
        assert_eq!(make(json!("/")).await.status, 403);
        assert_eq!(make(json!("/team/app")).await.expect_status(201).json()["user_path"], "/team/app");
        assert_eq!(make(Value::Null).await.expect_status(201).json()["user_path"], "/team", "its maker's, not the root");
        let seen = app.get(PATH).key(&team).send().await.json();
        assert_eq!(seen["total"], 3);
        assert!(seen["entries"].as_array().unwrap().iter().all(|key| key["user_path"].as_str().unwrap().starts_with("/team")));
        assert_eq!(app.get(format!("{PATH}/{outside}")).key(&team).refusal().await.0, 404);
        let off = app.post(format!("{PATH}/{outside}/deactivate"), json!({})).key(&team);
        assert_eq!(off.refusal().await.0, 404);
    })
    .await;
}

async fn works(app: &TestApp, key: &str) -> bool {
    app.get("/v1/models").key(key).send().await.status == 200
}

#[tokio::test]
async fn a_deactivated_key_is_refused_at_once() {
    app::each(async |app| {
        let (id, key) = app.key(json!({"name": "a"})).await;
        assert!(works(&app, &key).await);
        let off = app.post(format!("{PATH}/{id}/deactivate"), json!({})).send().await.expect_status(200);
        assert!(!works(&app, &key).await);
        assert_eq!(app.chat("text").key(&key).refusal().await.1, "invalid_api_key");
        assert_eq!((&off.json()["enabled"], &off.json()["active"]), (&json!(false), &json!(false)));
        let again = app.post(format!("{PATH}/{id}/deactivate"), json!({})).send().await.expect_status(200);
        assert_eq!(
            (again.header("etag"), again.json()),
            (off.header("etag"), off.json()),
            "repeating it changes nothing"
        );
        assert_eq!(app.post(format!("{PATH}/key_none/deactivate"), json!({})).refusal().await.0, 404);
    })
    .await;
}

#[tokio::test]
async fn concurrent_changes_are_detected() {
    app::each(async |app| {
        let (id, key) = app.key(json!({"name": "a"})).await;
        let etag = app.get(format!("{PATH}/{id}")).send().await.header("etag").unwrap().to_owned();
        let off =
            |etag: &str| app.post(format!("{PATH}/{id}/deactivate"), json!({})).header("if-match", etag);
        let refused = off("\"0\"").refusal().await;
        assert_eq!(refused, (412, "precondition_failed".into(), Some("If-Match".into())));
        assert!(works(&app, &key).await);
        off(&etag).send().await.expect_status(200);
    })
    .await;
}

#[tokio::test]
async fn an_expired_key_is_refused_without_anybody_writing() {
    app::each(async |app| {
        let (id, key) = app.key(json!({"name": "a", "expiry": "2098-01-01T00:00:00Z"})).await;
        assert!(works(&app, &key).await);
        app.clock.advance(Duration::from_secs(80 * 366 * 24 * 3600));
        assert!(!works(&app, &key).await);
        let view = app.get(format!("{PATH}/{id}")).send().await.json();
        assert_eq!((&view["enabled"], &view["active"]), (&json!(true), &json!(false)));
    })
    .await;
}

#[tokio::test]
async fn a_deleted_key_is_refused_at_once_and_its_usage_stays() {
    app::each(async |app| {
        let (id, key) = app.key(json!({"name": "a"})).await;
        app.chat("text").key(&key).send().await.expect_status(200);
        let path = format!("{PATH}/{id}");
        let delete = |key: &str| app.call(Method::DELETE, &path).key(key);
        let stale = delete(app::MASTER).header("if-match", "\"0\"").refusal().await;
        assert_eq!(stale, (412, "precondition_failed".into(), Some("If-Match".into())));
        let (_, team) =
            app.key(json!({"name": "team", "scopes": ["admin:auth-keys:write"], "user_path": "/team"})).await;
        assert_eq!(delete(&team).refusal().await.0, 404, "out of its sight");
        assert!(works(&app, &key).await);

        let deleted = delete(app::MASTER).send().await.expect_status(204);
        assert!(deleted.body.is_empty());
        assert!(!works(&app, &key).await);
        assert_eq!(delete(app::MASTER).refusal().await, (404, "not_found".into(), None));
        assert_eq!(app.get(&path).refusal().await.0, 404);
        assert_eq!(app.get(format!("{PATH}?search={id}")).send().await.json()["total"], 0);
        let receipts = app.receipts(1).await;
        assert_eq!(receipts[0]["auth_key_id"], id.as_str());
        let history = super::history(&app, "auth_key").await;
        assert_eq!(history[0], ("delete".to_owned(), id));
    })
    .await;
}

/// To take rights away is not to grant them.
#[tokio::test]
async fn a_key_writer_can_end_every_visible_key() {
    app::each(async |app| {
        let officer = app.key_with(&["admin:auth-keys:write"]).await;
        for ending in ["deactivate", "delete"] {
            let (id, key) = app.key(json!({"name": "a", "scopes": ["inference", "admin:write"]})).await;
            let call = match ending {
                "delete" => app.call(Method::DELETE, format!("{PATH}/{id}")),
                _ => app.post(format!("{PATH}/{id}/deactivate"), json!({})),
            };
            assert!(call.key(&officer).send().await.status < 300, "{ending}");
            assert!(!works(&app, &key).await, "{ending}");
        }
    })
    .await;
}
