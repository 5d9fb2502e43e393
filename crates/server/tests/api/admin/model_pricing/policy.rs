//! Tests of UNPRICED_POLICY=deny: models without a price are refused under every name and on every route.

use serde_json::json;

use super::{PATH, each_served_with};
use crate::app::{TestSettings, question};

fn strict() -> TestSettings {
    let mut settings = TestSettings::default();
    settings.policy.unpriced_denied = true;
    settings
}

#[tokio::test]
async fn a_model_without_a_price_is_refused_until_it_has_one() {
    each_served_with(strict, async |app| {
        app.chat("gpt-4o").send().await.expect_status(200);
        for model in ["openai/text", "second/text", "second/long"] {
            let refused = app.chat(model).send().await;
            assert_eq!(
                refused.refusal(),
                (403, "model_access_denied".into(), Some("model".into())),
                "{model}"
            );
            assert!(
                refused.text().contains("model-pricing") && refused.text().contains("UNPRICED_POLICY=allow")
            );
        }
        let explained =
            json!({"method": "POST", "path": "/v1/chat/completions", "body": question("second/text")});
        let explained = app.post("/admin/api/v1/explain", explained).send().await.expect_status(200);
        assert!(explained.text().contains("model_access_denied"), "{}", explained.text());
        // Of two that serve a model, the one with a price does.
        app.put(format!("{PATH}/second/text"), json!({"per_request": 0.01})).send().await.expect_status(201);
        let pool = json!({"name": "both", "members": ["openai", "second"]});
        app.post("/admin/api/v1/pools", pool).send().await.expect_status(201);
        let answer = app.chat("both/text").send().await.expect_status(200);
        assert_eq!(answer.header("x-gateway-provider"), Some("second"));
        assert_eq!(answer.header("x-gateway-cost-usd"), Some("0.010000000"));
    })
    .await;
}

#[tokio::test]
async fn the_passthrough_follows() {
    each_served_with(strict, async |app| {
        let path = "/p/openai/chat/completions";
        app.post(path, question("gpt-4o")).send().await.expect_status(200);
        let refused = app.post(path, question("text")).send().await;
        assert_eq!(refused.refusal(), (403, "model_access_denied".into(), Some("model".into())));
        let unreadable = app.post(path, json!({"messages": []})).send().await;
        assert_eq!(unreadable.refusal().1, "model_access_denied");
        assert!(unreadable.text().contains("readably"), "{}", unreadable.text());
        // Reading costs nothing.
        app.get("/p/openai/models").send().await.expect_status(200);
    })
    .await;
}

#[tokio::test]
async fn allowed_unpriced_calls_are_flagged() {
    each_served_with(TestSettings::default, async |app| {
        app.chat("second/text").send().await.expect_status(200);
        app.chat("openai/gpt-4o").send().await.expect_status(200);
        let entries = app.receipts(2).await;
        let shown = |index: usize| {
            let entry = &entries[index];
            (entry["caveat"].clone(), entry["cost_source"].clone(), entry["total_cost"].is_null())
        };
        assert_eq!(shown(0), (json!("unpriced"), json!("none"), true));
        assert_eq!(shown(1), (json!(null), json!("model_pricing"), false));
    })
    .await;
}
