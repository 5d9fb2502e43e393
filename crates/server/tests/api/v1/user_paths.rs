//! Tests of the limit on user paths that one key can use.

use std::time::Duration;

use domain::principal::Principal;
use domain::user_path::UserPath;
use pipeline::rate_limit::PATHS_PER_KEY;
use serde_json::json;

use crate::app::{self, TestApp, question};

/// Registers `count` paths for a key without making calls.
fn name_paths(app: &TestApp, key_id: &str, count: usize) {
    let key = app.gateway.snapshot().keys.by_id(key_id).cloned().unwrap();
    for number in 0..count {
        let path = UserPath::parse(&format!("/team/{number}")).unwrap();
        let now = app.gateway.clock.tick();
        app.gateway.user_paths.admit(&Principal::Key(key.clone()), &path, now).unwrap();
    }
}

#[tokio::test]
async fn a_key_names_a_limited_number_of_user_paths() {
    app::each(async |app| {
        let (id, key) = app.key(json!({"name": "of a team", "user_path": "/team"})).await;
        let (_, other) = app.key(json!({"name": "of all"})).await;
        let (endpoint, passed) = ("/v1/chat/completions", "/p/openai/v1/chat/completions");
        let call = |key: &str, path: &str| {
            app.post(endpoint, question("text")).header("x-gateway-user-path", path).key(key)
        };
        call(&key, "/team/first").send().await.expect_status(200);
        name_paths(&app, &id, PATHS_PER_KEY - 1);
        for path in ["/team/one-more", "/team/another"] {
            let answer = call(&key, path).send().await;
            let param = Some("X-Gateway-User-Path".to_owned());
            assert_eq!(answer.refusal(), (400, "invalid_parameter".to_owned(), param), "{}", answer.text());
            assert!(answer.text().contains("10000 different ones within 24 hours"), "{}", answer.text());
        }
        let passing = app.post(passed, question("text")).header("x-user-path", "/team/one-more").key(&key);
        assert_eq!(passing.send().await.status, 400);
        // Known paths, the key's own and other keys are served.
        for path in ["/team/first", "/team/7", "/team"] {
            call(&key, path).send().await.expect_status(200);
        }
        app.chat("text").key(&key).send().await.expect_status(200);
        call(&other, "/team/one-more").send().await.expect_status(200);
        // What was refused is booked on the key's own path.
        let mut refused = app.receipts(9).await;
        refused.retain(|call| call["status_code"] == 400);
        assert!(
            refused.len() == 3 && refused.iter().all(|call| call["user_path"] == "/team"),
            "{refused:#?}"
        );
        app.clock.pass(Duration::from_secs(24 * 3600));
        call(&key, "/team/one-more").send().await.expect_status(200);
    })
    .await;
}

#[tokio::test]
async fn explain_predicts_the_limit_and_consumes_nothing() {
    app::each(async |app| {
        let (id, key) = app.key(json!({"name": "of a team", "user_path": "/team"})).await;
        name_paths(&app, &id, PATHS_PER_KEY - 1);
        let explain = async || {
            let body = json!({
                "body": question("text"), "as_key_id": id, "headers": {"X-Gateway-User-Path": "/team/last"},
            });
            app.post("/admin/api/v1/explain", body).send().await.expect_status(200).text()
        };
        assert!(!explain().await.contains("Too many user paths"));
        assert!(!explain().await.contains("Too many user paths"));
        let call = app.chat("text").header("x-gateway-user-path", "/team/other").key(&key);
        call.send().await.expect_status(200);
        assert!(explain().await.contains("Too many user paths"));
    })
    .await;
}
