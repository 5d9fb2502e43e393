//! Tests of workflows: their effect on calls.

use http::Method;
use serde_json::{Value, json};

use super::routing;
use crate::app::{self, TestApp, TestSettings};

async fn workflow(app: &TestApp, body: Value) -> String {
    let created = app.post("/admin/api/v1/workflows", body).send().await.expect_status(201).json();
    created["id"].as_str().unwrap().to_owned()
}

/// A workflow for all calls.
async fn everywhere(app: &TestApp, payload: Value) -> String {
    workflow(app, json!({"name": "test", "workflow_payload": payload})).await
}

async fn explained(app: &TestApp, model: &str) -> Value {
    let body = json!({"body": app::question(model)});
    app.post("/admin/api/v1/explain", body).send().await.expect_status(200).json()
}

#[tokio::test]
async fn without_fallback_a_call_is_made_at_one_target() {
    routing::each(TestSettings::default, json!({"max_retries": 0}), async |app| {
        routing::combo(&app, "best", &["one/error-500@alone", "two/text"]).await;
        app.chat("best").send().await.expect_status(200);
        let id = everywhere(&app, json!({"features": {"fallback": false}})).await;
        let explanation = explained(&app, "best").await;
        let workflow = &explanation["workflow"];
        assert_eq!(
            (&workflow["id"], &workflow["name"], &workflow["version"]),
            (&json!(id), &json!("test"), &json!(1))
        );
        assert_eq!(workflow["effective_features"]["fallback"], false);
        assert_eq!(explanation["candidates"].as_array().unwrap().len(), 1);
        app.chat("best").send().await.expect_status(500);
        app.call(Method::POST, "/admin/api/v1/workflows/default/activate").send().await.expect_status(200);
        app.chat("best").send().await.expect_status(200);
    })
    .await;
}

#[tokio::test]
async fn routing_options_come_before_those_of_gateway_and_provider() {
    routing::each(TestSettings::default, json!({"max_retries": 0}), async |app| {
        app.chat("one/flaky-2@a").send().await.expect_status(500);
        app.upstream.reset();
        everywhere(&app, json!({"routing": {"retries": 2}})).await;
        let answer = app.chat("one/flaky-2@a").send().await.expect_status(200);
        assert_eq!(answer.header("x-gateway-attempts"), Some("3"));
    })
    .await;
}

#[tokio::test]
async fn a_strategy_replaces_that_of_the_pool() {
    routing::each(TestSettings::default, json!({}), async |app| {
        routing::put(&app, "pools/both", json!({"members": ["one", "two"], "strategy": "primary_fallback"}))
            .await;
        everywhere(&app, json!({"routing": {"strategy": "round_robin"}})).await;
        let mut seen = Vec::new();
        for _ in 0..4 {
            let answer = app.chat("both/text").send().await.expect_status(200);
            seen.push(answer.header("x-gateway-model").unwrap().to_owned());
        }
        assert!(seen.windows(2).all(|pair| pair[0] != pair[1]), "{seen:?}");
    })
    .await;
}

#[tokio::test]
async fn a_timeout_bounds_the_whole_call() {
    routing::each(TestSettings::default, json!({"total_timeout_ms": 60_000}), async |app| {
        everywhere(
            &app,
            json!({"routing": {"timeout_ms": 300, "retries": 0}, "features": {"fallback": false}}),
        )
        .await;
        let refusal = app.chat("one/hang").refusal().await;
        assert_eq!((refusal.0, &*refusal.1), (504, "upstream_timeout"));
    })
    .await;
}

fn audited() -> TestSettings {
    let mut settings = TestSettings::default();
    settings.policy.audit.enabled = true;
    settings
}

/// Activates a workflow for the path `/quiet` whose calls are in neither log.
async fn switch_recording_off(app: &TestApp) {
    let quiet = json!({
        "scope": {"scope_user_path": "/quiet"}, "name": "quiet",
        "workflow_payload": {"features": {"audit": false, "usage": false}},
    });
    workflow(app, quiet).await;
}

#[tokio::test]
async fn recording_can_be_switched_off_for_a_path() {
    app::each_with(audited, async |app| {
        switch_recording_off(&app).await;
        let noted = json!({"scope": {"scope_user_path": "/noted"}, "name": "noted"});
        let noted = workflow(&app, noted).await;
        for path in ["/quiet/user", "/noted/user", "/quietly"] {
            app.chat("openai/text").header("x-gateway-user-path", path).send().await.expect_status(200);
        }
        let paths: Vec<_> = app.receipts(2).await.iter().map(|row| row["user_path"].clone()).collect();
        assert_eq!(paths, ["/noted/user", "/quietly"]);
        let log = app.get("/admin/api/v1/audit/log").send().await.expect_status(200).json();
        let entries: Vec<_> = log["entries"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|entry| entry["path"] == "/v1/chat/completions")
            .collect();
        let found: Vec<_> =
            entries.iter().map(|entry| (&entry["user_path"], &entry["workflow_version_id"])).collect();
        assert_eq!(found, [(&json!("/quietly"), &Value::Null), (&json!("/noted/user"), &json!(noted))]);
    })
    .await;
}

/// Calls that end before their targets are known, and repeated answers, have the workflow of their path.
#[tokio::test]
async fn calls_that_are_not_routed_are_not_recorded_either() {
    app::each_with(audited, async |app| {
        switch_recording_off(&app).await;
        let call =
            |body: Value| app.post("/v1/chat/completions", body).header("x-gateway-user-path", "/quiet");
        call(json!({"messages": []})).send().await.expect_status(400);
        for _ in 0..2 {
            let call = call(app::question("openai/text")).header("idempotency-key", "once");
            call.send().await.expect_status(200);
        }
        assert_eq!(app.upstream.requests().len(), 1);
        assert!(app.receipts(0).await.is_empty());
        let log =
            app.get("/admin/api/v1/audit/log?user_path=%2Fquiet").send().await.expect_status(200).json();
        assert_eq!(log["total"], 0, "{log}");
    })
    .await;
}

/// A call that is not recorded leaves nothing in the journal that the next process would have to close.
#[tokio::test]
async fn calls_without_a_record_are_not_open_in_the_journal() {
    app::each(async |app| {
        everywhere(&app, json!({"features": {"usage": false}})).await;
        app.chat("openai/text").send().await.expect_status(200);
        assert!(app.receipts(0).await.is_empty());
        let app = app.restart().await;
        assert!(app.receipts(0).await.is_empty(), "it would be booked as interrupted");
    })
    .await;
}

#[tokio::test]
async fn a_workflow_can_exempt_calls_from_budgets() {
    app::each_with(TestSettings::enterprise, async |app| {
        let budget = json!({"amount": 0.000_000_001});
        app.put("/admin/api/v1/budgets/%2Fteam/daily", budget).send().await.expect_status(200);
        let call = || app.chat("openai/gpt-4o-mini").header("x-gateway-user-path", "/team");
        assert_eq!(call().refusal().await.1, "budget_exceeded");
        let body = json!({
            "scope": {"scope_provider_name": "openai", "scope_user_path": "/team"}, "name": "exempt",
            "workflow_payload": {"features": {"budget": false}},
        });
        workflow(&app, body).await;
        call().send().await.expect_status(200);
    })
    .await;
}

#[tokio::test]
async fn calls_of_a_scope_whose_workflow_does_not_compile_are_refused() {
    app::each(async |app| {
        let id = workflow(&app, json!({"scope": {"scope_user_path": "/team"}, "name": "broken"})).await;
        app.sql(&format!("UPDATE documents SET body = '{{\"oops' WHERE kind = 'workflow' AND name = '{id}'"))
            .await;
        let app = app.restart().await;
        let refusal = app.chat("openai/text").header("x-gateway-user-path", "/team/user").refusal().await;
        assert_eq!((refusal.0, &*refusal.1), (503, "feature_unavailable"));
        app.chat("openai/text").send().await.expect_status(200);
        let ready = app.get("/ready").send().await.json();
        assert_eq!(ready["document_errors"], 1);
    })
    .await;
}
