//! Tests of stored documents that do not compile: each fails closed within its own scope, and everything else works.

use http::Method;
use serde_json::{Value, json};

use crate::app::{self, TestApp, TestSettings};

const KEYS: &str = "/admin/api/v1/auth-keys";

pub async fn damage(app: &TestApp, kind: &str, name: &str) {
    app.sql(&format!("UPDATE documents SET body = '{{\"oops' WHERE kind = '{kind}' AND name = '{name}'"))
        .await;
}

/// Recompiles the routes: documents of one kind are compiled again when one of them changes.
pub async fn touch_routes(app: &TestApp) {
    app.put("/admin/api/v1/aliases/touched", json!({"target": "openai/text"})).send().await;
    app.call(Method::DELETE, "/admin/api/v1/aliases/touched").send().await.expect_status(204);
}

async fn readiness(app: &TestApp) -> (u16, String, String) {
    let answer = app.get("/ready").anonymous().send().await;
    let body = answer.json();
    let word = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    (answer.status, word("status"), word("configuration"))
}

/// The documents that the runtime status shows, as kind and name.
async fn failed(app: &TestApp) -> Vec<(String, String)> {
    let status = app.get("/admin/api/v1/runtime/status").send().await.expect_status(200).json();
    let text = |document: &Value, field: &str| document[field].as_str().unwrap().to_owned();
    let documents = status["documents"].as_array().unwrap().iter();
    documents.map(|document| (text(document, "kind"), text(document, "name"))).collect()
}

fn degraded() -> (u16, String, String) {
    (200, "degraded".into(), "degraded".into())
}

fn ok() -> (u16, String, String) {
    (200, "ok".into(), "ok".into())
}

#[tokio::test]
async fn an_unreadable_document_does_not_stop_revocations() {
    app::each(async |app| {
        let replica = app.neighbour().await;
        let (damaged_id, damaged) = app.key(json!({"name": "damaged"})).await;
        let (id, key) = app.key(json!({"name": "revoked"})).await;
        replica.refresher.refresh().await.unwrap();
        assert_eq!(readiness(&app).await, ok());

        damage(&app, "auth_key", &damaged_id).await;
        // Another process changed it: what follows the log reads it again.
        app.sql(&format!(
            "INSERT INTO changes (revision, at, actor, kind, name, action) \
             VALUES ((SELECT rev + 1 FROM meta WHERE id = 1), 0, 'x', 'auth_key', '{damaged_id}', 'update')"
        ))
        .await;
        app.sql("UPDATE meta SET rev = rev + 1 WHERE id = 1").await;
        app.post(format!("{KEYS}/{id}/deactivate"), json!({})).send().await.expect_status(200);
        replica.refresher.refresh().await.unwrap();

        for app in [&app, &replica] {
            assert_eq!(app.chat("text").key(&key).refusal().await.0, 401, "a revoked key");
            assert_eq!(app.chat("text").key(&damaged).refusal().await.0, 401, "a key that cannot be read");
            assert_eq!(readiness(app).await, degraded());
            assert_eq!(failed(app).await, [("auth_key".to_owned(), damaged_id.clone())]);
        }
        assert_eq!(app.get(format!("{KEYS}/{damaged_id}")).refusal().await.0, 409);
        app.call(Method::DELETE, format!("{KEYS}/{damaged_id}")).send().await.expect_status(204);
        assert_eq!(readiness(&app).await, ok());
    })
    .await;
}

#[tokio::test]
async fn an_unreadable_override_disables_its_model_and_names_are_skipped() {
    app::each(async |app| {
        let names = [
            ("model-overrides/openai/text", "model_override", "openai/text", json!({"enabled": true})),
            ("aliases/quick", "alias", "quick", json!({"target": "openai/other"})),
            ("pools/both", "pool", "both", json!({"members": ["openai"]})),
            ("providers/second", "provider", "second", json!({"type": "openai", "api_key": "sk-2"})),
        ];
        for (path, _, _, body) in &names {
            let put = app.put(format!("/admin/api/v1/{path}"), body.clone()).send().await;
            assert_eq!(put.status, 201, "{path}: {}", put.text());
        }
        app.chat("openai/text").send().await.expect_status(200);
        for (_, kind, name, _) in &names {
            damage(&app, kind, name).await;
        }
        touch_routes(&app).await;
        assert_eq!(readiness(&app).await, degraded());
        assert_eq!(app.chat("openai/text").refusal().await.1, "model_access_denied");
        app.chat("openai/long").send().await.expect_status(200);
        let listed = app.get("/v1/models").send().await.expect_status(200).text();
        for name in ["\"quick\"", "\"both\"", "\"second/"] {
            assert!(!listed.contains(name), "{name}: {listed}");
        }
        let replica = app.neighbour().await;
        assert_eq!(readiness(&replica).await, degraded(), "also after a start");
        for app in [&app, &replica] {
            let kinds: Vec<String> = failed(app).await.into_iter().map(|(kind, _)| kind).collect();
            assert_eq!(kinds, ["alias", "model_override", "pool", "provider"]);
        }
        assert_eq!(replica.chat("openai/text").refusal().await.1, "model_access_denied");

        for (path, ..) in &names {
            app.call(Method::DELETE, format!("/admin/api/v1/{path}")).send().await.expect_status(204);
        }
        assert_eq!(readiness(&app).await, ok());
        app.chat("openai/text").send().await.expect_status(200);
    })
    .await;
}

#[tokio::test]
async fn an_unreadable_budget_refuses_the_calls_of_its_scope() {
    app::each_with(TestSettings::enterprise, async |app| {
        let budgets = "/admin/api/v1/budgets";
        for path in ["%2Fteam%2Fa", "%2Fteam%2Fb"] {
            let put = app.put(format!("{budgets}/{path}/daily"), json!({"amount": 100}));
            put.send().await.expect_status(200);
        }
        damage(&app, "budget", "/team/a|86400").await;
        let touched = app.put(format!("{budgets}/%2Fteam%2Fb/daily"), json!({"amount": 90}));
        touched.send().await.expect_status(200);
        let (id, key) = app.key(json!({"name": "revoked"})).await;
        app.post(format!("{KEYS}/{id}/deactivate"), json!({})).send().await.expect_status(200);
        assert_eq!(app.chat("text").key(&key).refusal().await.0, 401);

        let at = async |path: &str| app.chat("text").header("x-gateway-user-path", path).send().await;
        let refused = at("/team/a/x").await.refusal();
        assert_eq!((refused.0, &*refused.1), (503, "budget_check_failed"));
        for path in ["/team/b", "/team", "/"] {
            at(path).await.expect_status(200);
        }
        assert_eq!(readiness(&app).await, degraded());
        assert_eq!(failed(&app).await, [("budget".to_owned(), "/team/a|86400".to_owned())]);
        let again = app.put(format!("{budgets}/%2Fteam%2Fa/daily"), json!({"amount": 100}));
        again.send().await.expect_status(200);
        at("/team/a/x").await.expect_status(200);
        assert_eq!(readiness(&app).await, ok());

        // Without settings it is not known when a budget begins anew.
        app.put(format!("{budgets}/settings"), json!({"daily_reset_hour": 3}))
            .send()
            .await
            .expect_status(200);
        damage(&app, "budget_settings", "settings").await;
        let replica = app.neighbour().await;
        let call = replica.chat("text").header("x-gateway-user-path", "/team/b");
        assert_eq!(call.refusal().await.0, 503);
        replica.chat("text").send().await.expect_status(200);
        replica.put(format!("{budgets}/settings"), json!({})).send().await.expect_status(200);
        let call = replica.chat("text").header("x-gateway-user-path", "/team/b");
        call.send().await.expect_status(200);
    })
    .await;
}
