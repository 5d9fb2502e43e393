//! Tests of tenants.

use http::Method;
use serde_json::json;

use crate::app::{self, TestSettings};

const TENANTS: &str = "/admin/api/v1/tenants";

#[tokio::test]
async fn a_suspended_tenant_is_refused_everywhere() {
    app::each_with(TestSettings::with_identity, async |app| {
        let made = app.post(TENANTS, json!({"slug": "acme", "name": "Acme", "metadata": {"plan": "gold"}}));
        let made = made.send().await.expect_status(201).json();
        assert_eq!(
            (&made["id"], &made["slug"], &made["status"]),
            (&json!("acme"), &json!("acme"), &json!("active"))
        );
        let key = json!({"name": "k", "scopes": ["inference", "admin:usage:read"], "tenant_id": "acme"});
        let (id, key) = app.key(key).await;
        let other = app.key_with(&["inference"]).await;
        app.chat("openai/text").key(&key).send().await.expect_status(200);
        let suspended =
            app.post(format!("{TENANTS}/acme/suspend"), json!({})).send().await.expect_status(200);
        assert_eq!(
            (&suspended.json()["status"], &suspended.json()["metadata"]["plan"]),
            (&json!("suspended"), &json!("gold"))
        );
        for call in [app.chat("openai/text"), app.get("/v1/models"), app.get("/admin/api/v1/usage/summary")] {
            let refused = call.key(&key).refusal().await;
            assert_eq!((refused.0, &*refused.1), (403, "tenant_suspended"));
        }
        app.chat("openai/text").key(&other).send().await.expect_status(200);
        let edited =
            app.put(format!("{TENANTS}/acme"), json!({"name": "New"})).send().await.expect_status(200).json();
        assert_eq!((&edited["name"], &edited["status"]), (&json!("New"), &json!("suspended")));
        app.post(format!("{TENANTS}/acme/activate"), json!({})).send().await.expect_status(200);
        app.chat("openai/text").key(&key).send().await.expect_status(200);

        let in_use = app.call(Method::DELETE, format!("{TENANTS}/acme")).send().await;
        assert_eq!((in_use.status, in_use.text().contains(&id)), (409, true));
        app.put(format!("/admin/api/v1/auth-keys/{id}"), json!({"tenant_id": null}))
            .send()
            .await
            .expect_status(200);
        app.call(Method::DELETE, format!("{TENANTS}/acme")).send().await.expect_status(204);
        assert_eq!(app.get(format!("{TENANTS}/acme")).send().await.status, 404);
    })
    .await;
}

/// A key with all rights on the admin API and a tenant reaches what belongs to its tenant.
#[tokio::test]
async fn callers_of_a_tenant_are_confined_to_it() {
    let audited = || {
        let mut settings = TestSettings::with_identity();
        settings.policy.audit.enabled = true;
        settings
    };
    app::each_with(audited, async |app| {
        for slug in ["acme", "other"] {
            app.post(TENANTS, json!({"slug": slug})).send().await.expect_status(201);
        }
        let of =
            |tenant: &str| json!({"name": "k", "scopes": ["inference", "admin:write"], "tenant_id": tenant});
        let (own, key) = app.key(of("acme")).await;
        let (foreign, foreign_key) = app.key(of("other")).await;
        for key in [&key, &foreign_key, &foreign_key] {
            app.chat("openai/text").key(key).send().await.expect_status(200);
        }
        app.receipts(3).await;
        for path in ["identity/users", "identity/roles", "tenants", "config/export", "runtime/status"] {
            let refused = app.get(format!("/admin/api/v1/{path}")).key(&key).refusal().await;
            assert_eq!((refused.0, &*refused.1), (403, "user_path_denied"), "{path}");
        }
        let user = json!({"email": "a@b.example", "password": "long enough secret", "roles": ["admin"]});
        let refused = app.post("/admin/api/v1/identity/users", user).key(&key).refusal().await;
        assert_eq!(refused.1, "user_path_denied");
        let change = app.call(Method::PATCH, "/admin/api/v1/settings").json(json!({"log.level": "debug"}));
        assert_eq!(change.key(&key).refusal().await.1, "user_path_denied");

        let summary = app.get("/admin/api/v1/usage/summary").key(&key).send().await.expect_status(200).json();
        assert_eq!(summary["total_requests"], json!(1));
        let log = app.get("/admin/api/v1/audit/log").key(&key).send().await.expect_status(200).json();
        assert_eq!(log["total"], json!(1));
        let events = "/admin/api/v1/console/recent?event=request";
        let events = app.get(events).key(&key).send().await.expect_status(200).json();
        assert_eq!(events["events"].as_array().map(Vec::len), Some(1));
        let keys = app.get("/admin/api/v1/auth-keys").key(&key).send().await.expect_status(200).text();
        assert!(keys.contains(&own) && !keys.contains(&foreign));
        let path = format!("/admin/api/v1/auth-keys/{foreign}");
        assert_eq!(app.get(&path).key(&key).send().await.status, 404);
        assert_eq!(app.call(Method::DELETE, &path).key(&key).send().await.status, 404);
    })
    .await;
}

#[tokio::test]
async fn tenants_are_checked_where_they_are_named() {
    app::each_with(TestSettings::with_identity, async |app| {
        let unknown = json!({"name": "k", "tenant_id": "nobody"});
        let refused = app.post("/admin/api/v1/auth-keys", unknown).refusal().await;
        assert_eq!((refused.0, refused.2.as_deref()), (400, Some("tenant_id")));
        let user = json!({"email": "a@b.c", "tenant_id": "nobody"});
        assert_eq!(app.post("/admin/api/v1/identity/users", user).refusal().await.0, 400);
        app.post(TENANTS, json!({"slug": "acme"})).send().await.expect_status(201);
        assert_eq!(app.post(TENANTS, json!({"slug": "acme"})).refusal().await.1, "conflict");
        for body in [
            json!({"slug": "Not A Slug"}),
            json!({"slug": ""}),
            json!({}),
            json!({"slug": "x", "status": "suspended"}),
        ] {
            assert_eq!(app.post(TENANTS, body.clone()).send().await.status, 400, "{body}");
        }
        let view = app.get(format!("{TENANTS}/acme")).send().await.expect_status(200).json();
        app.put(format!("{TENANTS}/acme"), view).send().await.expect_status(200);
        assert_eq!(app.post(format!("{TENANTS}/nobody/suspend"), json!({})).send().await.status, 404);
    })
    .await;
    app::each(async |app| {
        assert_eq!(app.get(TENANTS).refusal().await.1, "edition_restricted");
        app.key(json!({"name": "k", "tenant_id": "anything"})).await;
    })
    .await;
}
