//! Tests of `/admin/api/v1`, the admin API.

mod aliases;
mod audit;
mod auth;
mod auth_keys;
mod budgets;
mod cache;
mod changes;
mod cli_tools;
mod combos;
mod config;
mod console;
mod dashboard;
mod explain;
mod guardrails;
mod identity;
mod model_overrides;
mod model_pricing;
mod models;
mod oidc;
mod pools;
mod providers;
mod replicas;
mod round_trip;
mod runtime;
mod settings;
mod strictness;
mod tenant_documents;
mod tenant_reports;
mod tenants;
mod usage;
mod webhooks;
mod workflows;

use serde_json::{Value, json};

use crate::app::{self, TestApp, TestSettings};

/// Runs a test with two providers whose models have been discovered: `openai` and `second`.
async fn each_furnished(test: impl AsyncFn(TestApp)) {
    each_furnished_with(TestSettings::default, test).await;
}

async fn each_furnished_with(settings: impl Fn() -> TestSettings, test: impl AsyncFn(TestApp)) {
    let settings = || TestSettings { loopback_listener: true, ..settings() };
    app::each_with(settings, async |app| {
        let body = json!({
            "name": "second", "type": "openai_compatible", "base_url": app.upstream.base_url(),
            "api_key": "sk-second-5678", "models": ["long", "text"],
        });
        app.post("/admin/api/v1/providers", body).send().await.expect_status(201);
        app.refresher.discover().await;
        test(app).await;
    })
    .await;
}

/// Asserts that every body is refused with the listed status, code and param.
async fn refuses(app: &TestApp, cases: &[(&str, &str, Value, u16, &str, &str)]) {
    for (method, path, body, status, code, param) in cases {
        let found = app.call(method.parse().unwrap(), *path).json(body.clone()).refusal().await;
        let expected = (*status, (*code).to_owned(), Some((*param).to_owned()));
        assert_eq!(found, expected, "{method} {path} {body}");
    }
}

/// The message of an error.
async fn complaint(app: &TestApp, method: &str, path: &str, body: Value) -> String {
    let answer = app.call(method.parse().unwrap(), path).json(body).send().await;
    answer.json()["error"]["message"].as_str().unwrap().to_owned()
}

/// The changes of a kind of document as action and name, newest first.
async fn history(app: &TestApp, kind: &str) -> Vec<(String, String)> {
    let list = app.get(format!("/admin/api/v1/changes?kind={kind}")).send().await.expect_status(200).json();
    let text = |entry: &Value, field: &str| entry[field].as_str().unwrap().to_owned();
    let entries = list["entries"].as_array().unwrap().iter();
    entries.map(|entry| (text(entry, "action"), text(entry, "name"))).collect()
}
