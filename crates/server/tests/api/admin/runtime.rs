//! `/admin/api/v1/runtime`.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use crate::app::{self, TestApp};
use crate::unreadable::{damage, touch_routes};

async fn status(app: &TestApp) -> Value {
    app.get("/admin/api/v1/runtime/status").send().await.expect_status(200).json()
}

async fn ready(app: &TestApp) -> (u16, Value, Value) {
    let answer = app.get("/ready").anonymous().send().await;
    let body = answer.json();
    (answer.status, body["status"].clone(), body["document_errors"].clone())
}

#[tokio::test]
async fn the_status_shows_process_configuration_and_journal() {
    app::each(async |app| {
        let mut first = status(&app).await;
        for (object, fields) in [
            ("", &["started_at", "uptime_seconds"][..]),
            ("/snapshot", &["compiled_at"]),
            ("/storage", &["backend"]),
        ] {
            let object = first.pointer_mut(object).unwrap();
            for field in fields {
                assert!(!object[field].take().is_null(), "{field}");
            }
        }
        app::check_snapshot("runtime status", &app::pretty(first));

        let before = status(&app).await;
        app.clock.pass(Duration::from_secs(90));
        app.chat("text").send().await.expect_status(200);
        app.clock.pass(Duration::from_secs(20));
        app.put("/admin/api/v1/aliases/quick", json!({"target": "openai/text"}))
            .send()
            .await
            .expect_status(201);
        let after = status(&app).await;
        assert_eq!(after["started_at"], before["started_at"]);
        let grown = |pointer: &str| {
            let number = |status: &Value| status.pointer(pointer).unwrap().as_u64().unwrap();
            number(&after) - number(&before)
        };
        assert!((110..170).contains(&grown("/uptime_seconds")), "{after}");
        assert_eq!(grown("/snapshot/revision"), 1);
        assert!(after["snapshot"]["compiled_at"].as_str() > before["snapshot"]["compiled_at"].as_str());
        // An opening and a receipt.
        assert_eq!((grown("/journal/lag_records"), grown("/journal/lag_bytes") > 0), (2, true));
        assert!((20..80).contains(&grown("/journal/lag_seconds")), "{after}");
        app.receipts(1).await;
        assert_eq!(status(&app).await["journal"], before["journal"]);
    })
    .await;
}

#[tokio::test]
async fn documents_that_do_not_compile_are_shown_until_they_are_repaired() {
    app::each(async |app| {
        let provider = json!({"type": "openai", "api_key": "sk-very-secret-1"});
        app.put("/admin/api/v1/providers/second", provider).send().await.expect_status(201);
        for name in ["quick", "slow"] {
            let path = format!("/admin/api/v1/aliases/{name}");
            app.put(path, json!({"target": "openai/text"})).send().await.expect_status(201);
        }
        assert_eq!((&status(&app).await["documents"], ready(&app).await.2), (&json!([]), json!(0)));

        damage(&app, "alias", "quick").await;
        damage(&app, "provider", "second").await;
        touch_routes(&app).await;
        let first = status(&app).await;
        let documents = first["documents"].as_array().unwrap();
        let named: Vec<_> = documents.iter().map(|document| (&document["kind"], &document["name"])).collect();
        assert_eq!(named, [(&json!("alias"), &json!("quick")), (&json!("provider"), &json!("second"))]);
        let error = documents[0]["error"].as_str().unwrap();
        assert!(error.starts_with("not a JSON object (line 1, column "), "{error}");
        assert!(!first.to_string().contains("oops") && !first.to_string().contains("very-secret"), "{first}");
        assert_eq!(first["status"], "degraded");
        assert_eq!(ready(&app).await, (200, json!("degraded"), json!(2)));
        app.chat("slow").send().await.expect_status(200);

        // Compiled again without success: the time of the first failure stays.
        app.clock.pass(Duration::from_secs(60));
        touch_routes(&app).await;
        let later = status(&app).await;
        assert_eq!(later["documents"], first["documents"]);
        assert!(later["snapshot"]["compiled_at"].as_str() > first["snapshot"]["compiled_at"].as_str());

        app.call(Method::DELETE, "/admin/api/v1/providers/second").send().await.expect_status(204);
        assert_eq!(ready(&app).await, (200, json!("degraded"), json!(1)));
        app.call(Method::DELETE, "/admin/api/v1/aliases/quick").send().await.expect_status(204);
        let path = "/admin/api/v1/aliases/quick";
        app.put(path, json!({"target": "openai/text"})).send().await.expect_status(201);
        assert_eq!(
            (&status(&app).await["documents"], ready(&app).await),
            (&json!([]), (200, json!("ok"), json!(0)))
        );
        app.chat("quick").send().await.expect_status(200);
    })
    .await;
}

#[tokio::test]
async fn the_status_is_for_admins_of_the_whole_installation() {
    app::each(async |app| {
        let path = "/admin/api/v1/runtime/status";
        let exact = app.key_with(&["admin:runtime:read"]).await;
        app.get(path).key(&exact).send().await.expect_status(200);
        let other = app.key_with(&["admin:providers:write"]).await;
        assert_eq!(app.get(path).key(&other).refusal().await.1, "insufficient_scope");
        let team = json!({"name": "team", "scopes": ["admin:read"], "user_path": "/team"});
        let (_, team) = app.key(team).await;
        assert_eq!(app.get(path).key(&team).refusal().await.1, "user_path_denied");
    })
    .await;
}

#[tokio::test]
async fn a_refresh_reports_every_step() {
    app::each(async |app| {
        let result =
            app.post("/admin/api/v1/runtime/refresh", json!({})).send().await.expect_status(200).json();
        assert_eq!(result["status"], "ok", "{result}");
        let steps = result["steps"].as_array().unwrap();
        let names: Vec<&str> = steps.iter().map(|step| step["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["settings", "documents", "budgets", "models"]);
        let states: Vec<&str> = steps.iter().map(|step| step["status"].as_str().unwrap()).collect();
        assert_eq!(states, ["ok", "ok", "skipped", "ok"], "{result}");
        assert!(steps.iter().all(|step| step["duration_ms"].is_u64()), "{result}");
    })
    .await;
}

#[tokio::test]
async fn a_refresh_names_the_providers_that_do_not_answer() {
    app::each_with(|| app::TestSettings { loopback_listener: true, ..Default::default() }, async |app| {
        let body = json!({"name": "gone", "type": "openai_compatible", "base_url": "http://127.0.0.1:9", "api_key": "k"});
        app.post("/admin/api/v1/providers", body).send().await.expect_status(201);
        let result = app.post("/admin/api/v1/runtime/refresh", json!({})).send().await.expect_status(200).json();
        let models = &result["steps"][3];
        assert_eq!((&result["status"], &models["status"]), (&json!("failed"), &json!("failed")), "{result}");
        assert!(models["message"].as_str().unwrap().starts_with("gone: "), "{result}");
    })
    .await;
}
