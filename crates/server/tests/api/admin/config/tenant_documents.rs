//! Tests of the documents of tenants in plans.

use serde_json::json;

use super::{apply, changes, documents, plan, settings};
use crate::app::{self, TestApp};

async fn tenant(app: &TestApp) {
    app.post("/admin/api/v1/tenants", json!({"slug": "acme"})).send().await.expect_status(201);
}

fn alias(target: &str) -> serde_json::Value {
    json!({"changes": [{"kind": "alias", "name": "fast", "tenant_id": "acme", "document": {"target": target}}]})
}

#[tokio::test]
async fn a_change_names_its_tenant() {
    app::each_with(settings, async |app| {
        tenant(&app).await;
        let planned = plan(&app, alias("openai/text")).await;
        assert_eq!(planned["changes"][0]["tenant_id"], "acme", "{planned}");
        apply(&app, alias("openai/text")).await.expect_status(200);
        assert_eq!(documents(&app).await["tenants"]["acme"]["documents"]["aliases"]["fast"]["target"], "openai/text");
        assert_eq!(app.get("/admin/api/v1/aliases/fast").send().await.status, 404);
        app.get("/admin/api/v1/aliases/fast?tenant_id=acme").send().await.expect_status(200);

        let typo = json!({"changes": [{"kind": "alias", "name": "fast", "tenant_id": "acme", "document": {"tagret": "x"}}]});
        let wrong = plan(&app, typo).await;
        assert_eq!((&wrong["errors"][0]["tenant_id"], &wrong["errors"][0]["field"]), (&json!("acme"), &json!("tagret")));
        let unknown = json!({"changes": [{"kind": "alias", "name": "fast", "tenant_id": "nobody", "document": {"target": "openai/text"}}]});
        let unknown = plan(&app, unknown).await;
        assert_eq!(unknown["errors"][0]["field"], "tenant_id", "{unknown}");
        let key = json!({"changes": [{"kind": "auth_key", "name": "k", "tenant_id": "acme", "document": {}}]});
        app.post(super::PLAN, key).send().await.expect_status(400);
    })
    .await;
}

#[tokio::test]
async fn a_tenant_is_created_and_deleted_with_its_documents() {
    app::each_with(settings, async |app| {
        let pool = json!({"members": ["openai"]});
        let both = json!({"documents": {
            "pools": {"all": pool},
            "tenants": {"acme": {"name": "Acme", "documents": {"aliases": {"fast": {"target": "all/text"}}}}},
        }, "prune": true});
        assert_eq!(plan(&app, both.clone()).await["errors"], json!([]));
        apply(&app, both).await.expect_status(200);
        // The default tenant's pool is in use by the tenant.
        let in_use = json!({"changes": [{"kind": "pool", "name": "all", "document": null}]});
        let refused = plan(&app, in_use).await;
        assert!(
            refused["errors"][0]["message"].as_str().unwrap().contains("of the tenant 'acme'"),
            "{refused}"
        );
        let none = json!({"documents": {"pools": {"all": pool}}, "prune": true});
        let planned = plan(&app, none.clone()).await;
        assert_eq!(changes(&planned), ["delete tenant acme", "delete alias fast"], "{planned}");
        apply(&app, none).await.expect_status(200);
        assert_eq!(app.get("/admin/api/v1/tenants/acme").send().await.status, 404);
    })
    .await;
}
