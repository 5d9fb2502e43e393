//! Tests of documents of the configuration file: shown, overridden and restored.

use http::Method;
use serde_json::{Map, Value, json};
use server::FileResources;

use super::{apply, documents, plan};
use crate::app::{self, TestSettings};

const RAW_KEY: &str = "gk_file_key_of_the_tests_0123456789";

fn with_files() -> TestSettings {
    let mut resources = FileResources::default();
    let mut add = |section: &str, name: &str, value: Value| {
        let members: Map<String, Value> = serde_json::from_value(value).unwrap();
        resources.add(section, name, members).unwrap();
    };
    add("pools", "pair", json!({"members": ["openai"]}));
    add("combos", "safe", json!({"selectors": ["openai/text", "openai/long"]}));
    add("aliases", "fast", json!({"target": "openai/text"}));
    add("model_overrides", "openai/long", json!({"enabled": false}));
    add("model_prices", "openai/text", json!({"input_per_mtok": 1.0, "output_per_mtok": 2.0}));
    add("guardrails", "length", json!({"type": "length_limit", "config": {"max_chars": 100000}}));
    add("workflows", "path=/team", json!({"name": "Team", "workflow_payload": {"guardrails": ["length"]}}));
    add("auth_keys", "ci", json!({"name": "CI", "value": RAW_KEY, "user_path": "/ci"}));
    let hook = json!({"daily_reset_hour": 5, "webhook_url": "http://127.0.0.1:9/hook", "webhook_secret": "secret-of-the-file"});
    add("budget_settings", "", hook);
    TestSettings { loopback_listener: true, documents: resources.documents, ..TestSettings::enterprise() }
}

#[tokio::test]
async fn documents_of_the_file_are_in_force_and_shown_with_their_source() {
    app::each_with(with_files, async |app| {
        app.chat("fast").key(RAW_KEY).send().await.expect_status(200);
        app.chat("safe").send().await.expect_status(200);
        app.chat("pair/text").send().await.expect_status(200);
        app.chat("openai/long").send().await.expect_status(403);
        for (path, name) in [
            ("pools/pair", "pair"),
            ("combos/safe", "safe"),
            ("aliases/fast", "fast"),
            ("guardrails/length", "length"),
            ("auth-keys/ci", "CI"),
        ] {
            let found = app.get(format!("/admin/api/v1/{path}")).send().await.expect_status(200).json();
            let shown = (&found["name"], &found["source"], &found["created_at"]);
            assert_eq!(shown, (&json!(name), &json!("file"), &Value::Null), "{path}: {found}");
        }
        let keys = app.get("/admin/api/v1/auth-keys").send().await.expect_status(200).text();
        assert!(keys.contains("\"ci\"") && !keys.contains(RAW_KEY), "{keys}");
        let workflows = app.get("/admin/api/v1/workflows").send().await.expect_status(200).json();
        assert!(
            workflows.as_array().unwrap().iter().any(|workflow| workflow["name"] == "Team"),
            "{workflows}"
        );
        let exported = documents(&app).await;
        assert_eq!(exported["aliases"]["fast"]["target"], "openai/text");
        let same =
            plan(&app, json!({"documents": {"aliases": {"fast": {"target": "openai/text"}}}, "prune": true}))
                .await;
        assert_eq!(same["changes"], json!([]), "documents of the file are not pruned: {same}");
    })
    .await;
}

#[tokio::test]
async fn a_document_of_the_file_is_overridden_and_restored() {
    app::each_with(with_files, async |app| {
        let path = "/admin/api/v1/aliases/fast";
        app.call(Method::DELETE, path).send().await.expect_status(409);
        let etag = app.get(path).send().await.header("etag").unwrap().to_owned();
        let put = app.put(path, json!({"description": "mine"})).header("if-match", &etag).send().await;
        let changed = put.expect_status(200).json();
        assert_eq!(
            (&changed["source"], &changed["overrides"]),
            (&json!("admin"), &json!("file")),
            "{changed}"
        );
        assert_eq!(changed["target"], "openai/text", "absent members are those of the file");
        app.call(Method::DELETE, path).send().await.expect_status(204);
        let restored = app.get(path).send().await.expect_status(200).json();
        assert_eq!(
            (&restored["source"], &restored["description"]),
            (&json!("file"), &json!("")),
            "{restored}"
        );
        app.chat("fast").send().await.expect_status(200);
    })
    .await;
}

#[tokio::test]
async fn a_key_of_the_file_is_deactivated_by_an_override() {
    app::each_with(with_files, async |app| {
        app.post("/admin/api/v1/auth-keys/ci/deactivate", json!({})).send().await.expect_status(200);
        app.chat("fast").key(RAW_KEY).send().await.expect_status(401);
        app.call(Method::DELETE, "/admin/api/v1/auth-keys/ci").send().await.expect_status(204);
        app.chat("fast").key(RAW_KEY).send().await.expect_status(200);
        app.call(Method::DELETE, "/admin/api/v1/auth-keys/ci").send().await.expect_status(409);
    })
    .await;
}

#[tokio::test]
async fn a_key_of_the_file_does_not_rotate_itself() {
    app::each_with(with_files, async |app| {
        let path = "/admin/api/v1/auth-keys/me/rotate";
        let refused = app.post(path, json!({})).key(RAW_KEY).send().await.expect_status(409);
        assert!(refused.text().contains("gatehouse.yaml"), "{}", refused.text());
        app.chat("fast").key(RAW_KEY).send().await.expect_status(200);
    })
    .await;
}

#[tokio::test]
async fn the_workflow_of_the_file_is_in_force_again_after_an_override() {
    app::each_with(with_files, async |app| {
        let body = json!({"name": "Mine", "scope": {"scope_user_path": "/team"}});
        let created = app.post("/admin/api/v1/workflows", body).send().await.expect_status(201).json();
        let active = async || {
            let list = app.get("/admin/api/v1/workflows").send().await.expect_status(200).json();
            let list = list.as_array().unwrap().clone();
            let of_team = list.into_iter().find(|workflow| workflow["scope"]["scope_user_path"] == "/team");
            of_team.unwrap()["name"].clone()
        };
        assert_eq!(active().await, "Mine");
        let id = created["id"].as_str().unwrap();
        app.post(format!("/admin/api/v1/workflows/{id}/deactivate"), json!({}))
            .send()
            .await
            .expect_status(200);
        assert_eq!(active().await, "Team");
    })
    .await;
}

#[tokio::test]
async fn budget_settings_of_the_file_are_in_force_everywhere() {
    app::each_with(with_files, async |app| {
        let path = "/admin/api/v1/budgets/settings";
        let read = app.get(path).send().await.expect_status(200);
        let (etag, shown) = (read.header("etag").unwrap().to_owned(), read.json());
        assert_eq!((&shown["daily_reset_hour"], &shown["updated_at"]), (&json!(5), &Value::Null), "{shown}");
        assert_eq!(shown["webhook_secret_set"], true);
        let tested = app.post("/admin/api/v1/webhooks/test", json!({})).send().await;
        assert_eq!(tested.status, 200, "the receiver of the file is known: {}", tested.text());
        let put = app.put(path, json!({"daily_reset_minute": 30})).header("if-match", &etag).send().await;
        let changed = put.expect_status(200).json();
        let times = (&changed["daily_reset_hour"], &changed["daily_reset_minute"]);
        assert_eq!(times, (&json!(5), &json!(30)), "absent members are those of the file");
        assert_eq!(changed["webhook_url"], "http://127.0.0.1:9/hook");
    })
    .await;
}

#[tokio::test]
async fn a_plan_that_deletes_an_override_has_the_document_of_the_file() {
    app::each_with(with_files, async |app| {
        let overridden = json!({"documents": {
            "pools": {"pair": {"members": ["openai"], "strategy": "random"}},
            "workflows": {"path=/team": {"name": "Mine"}},
        }});
        apply(&app, overridden).await.expect_status(200);
        // The new alias refers to the pool of the file.
        let restored = json!({"documents": {"aliases": {"paired": {"target": "pair/text"}}}, "prune": true});
        let planned = plan(&app, restored.clone()).await;
        assert_eq!(planned["errors"], json!([]), "{planned:#}");
        apply(&app, restored).await.expect_status(200);
        app.chat("paired").send().await.expect_status(200);
        let workflows = app.get("/admin/api/v1/workflows").send().await.expect_status(200).text();
        assert!(workflows.contains("\"Team\""), "{workflows}");
    })
    .await;
}
