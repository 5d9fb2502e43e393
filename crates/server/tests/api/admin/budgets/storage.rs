//! Tests of budgets while storage is down: open by default, closed if configured, and never a 401.

use std::time::Duration;

use pipeline::budgets;
use pipeline::policy::Policy;
use serde_json::json;

use super::{BUDGETS, set};
use crate::app::{self, TestApp, TestSettings};

fn impatient(closed: bool) -> TestSettings {
    let policy = Policy { budgets_closed: closed, ..Policy::default() };
    TestSettings { policy, store_timeout: Duration::from_secs(5), ..TestSettings::enterprise() }
}

async fn lose_storage(app: &TestApp) {
    set(app, "/team", "daily", 1.0).await;
    // Replicas that share budgets have to lease a part of the budget before storage is lost.
    app.chat("openai/gpt-4o").header("x-gateway-user-path", "/team").send().await.expect_status(200);
    tokio::time::sleep(Duration::from_millis(500)).await;
    app.refresher.store().close().await;
    let synchronise =
        async || budgets::synchronise(&app.gateway.budgets, &*app.gateway.clock, app.refresher.store()).await;
    assert!(synchronise().await.is_err());
    app.chat("openai/gpt-4o").header("x-gateway-user-path", "/team").send().await.expect_status(200);
    tokio::time::sleep(Duration::from_millis(5_100)).await;
    assert!(synchronise().await.is_err());
    for (method, path) in
        [("GET", ""), ("GET", "/settings"), ("PUT", "/%2Fteam/daily"), ("DELETE", "/%2Fteam/daily")]
    {
        let body = json!({"amount": 2});
        let call = app.call(method.parse().unwrap(), format!("{BUDGETS}{path}")).json(body);
        assert_eq!(call.refusal().await.0, 503, "{method} {path}");
    }
}

#[tokio::test]
async fn fail_open_uses_the_spending_known_to_this_process() {
    app::each_with(
        || impatient(false),
        async |app| {
            lose_storage(&app).await;
            let call = |tokens: u64| {
                let mut body = app::question("openai/gpt-4o");
                body["max_tokens"] = json!(tokens);
                body["n"] = json!(if tokens > 10 { 100 } else { 1 });
                app.post("/v1/chat/completions", body).header("x-gateway-user-path", "/team").send()
            };
            call(10).await.expect_status(200);
            assert_eq!(call(200_000).await.status, 429, "what is known still counts");
        },
    )
    .await;
}

#[tokio::test]
async fn fail_closed_refuses_only_budgeted_paths() {
    app::each_with(
        || impatient(true),
        async |app| {
            lose_storage(&app).await;
            let call = || app.chat("openai/gpt-4o");
            // More than a replica that shares the budget has leased.
            let mut body = app::question("openai/gpt-4o");
            (body["max_tokens"], body["n"]) = (json!(16_000), json!(4));
            let large = app.post("/v1/chat/completions", body).header("x-gateway-user-path", "/team/a");
            let (status, code, _) = large.refusal().await;
            assert_eq!((status, &*code), (503, "budget_check_failed"));
            call().header("x-gateway-user-path", "/other").send().await.expect_status(200);
        },
    )
    .await;
}
