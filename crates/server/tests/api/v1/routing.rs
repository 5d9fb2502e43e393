//! Tests of routing: names, pools, access rules, and failover.

mod attempts;
mod hedging;
mod lost;
mod names;
mod rejected;
mod unavailable;

use serde_json::{Value, json};

use crate::app::{self, Answer, TestApp, TestSettings};

/// Configured models, in addition to those that the upstream lists.
const MODELS: [&str; 18] = [
    "text",
    "long-3",
    "bad-json",
    "error-400",
    "error-403",
    "error-404",
    "error-429",
    "error-429-9",
    "error-429-17",
    "error-500@alone",
    "error-503-30",
    "error-529",
    "flaky-1-error-429-ms-100",
    "flaky-2@a",
    "flaky-5",
    "html",
    "insufficient-quota",
    "unauthorized",
];

/// Runs a test with two instances at the upstream, `one` and `two`, both with all models.
pub(super) async fn each(
    settings: impl Fn() -> TestSettings,
    resilience: Value,
    test: impl AsyncFn(TestApp),
) {
    let settings = || TestSettings { loopback_listener: true, vendors: &[], ..settings() };
    app::each_with(settings, async |app| {
        for name in ["one", "two"] {
            let body = json!({
                "name": name, "type": "openai_compatible", "base_url": app.upstream.base_url(),
                "api_key": "sk-of-the-tests", "resilience": resilience,
                "models": MODELS,
            });
            app.post("/admin/api/v1/providers", body).send().await.expect_status(201);
        }
        test(app).await;
    })
    .await;
}

pub(super) async fn put(app: &TestApp, path: &str, body: Value) {
    let answer = app.call(http::Method::PUT, format!("/admin/api/v1/{path}")).json(body).send().await;
    assert!(matches!(answer.status, 200 | 201), "{path}: {}", answer.text());
}

pub(super) async fn combo(app: &TestApp, name: &str, selectors: &[&str]) {
    put(app, &format!("combos/{name}"), json!({"selectors": selectors})).await;
}

/// Status, serving model and number of attempts.
fn served(answer: &Answer) -> (u16, &str, &str) {
    (
        answer.status,
        answer.header("x-gateway-model").unwrap_or_default(),
        answer.header("x-gateway-attempts").unwrap_or_default(),
    )
}
