//! UNPRICED_POLICY=deny: what has no price is not called, by whatever name and whichever way.

use serde_json::json;

use super::{PATH, each_served_with};
use crate::house::{Wishes, question};

fn strict() -> Wishes {
    let mut wishes = Wishes::default();
    wishes.policy.unpriced_denied = true;
    wishes
}

#[tokio::test]
async fn a_model_without_a_price_is_refused_until_it_has_one() {
    each_served_with(strict, async |house| {
        house.chat("gpt-4o").send().await.expect_status(200);
        for model in ["openai/text", "second/text", "second/long"] {
            let refused = house.chat(model).send().await;
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
        let explained = house.post("/admin/api/v1/explain", explained).send().await.expect_status(200);
        assert!(explained.text().contains("model_access_denied"), "{}", explained.text());
        // Of two that serve a model, the one with a price does.
        house
            .put(format!("{PATH}/second/text"), json!({"per_request": 0.01}))
            .send()
            .await
            .expect_status(201);
        let pool = json!({"name": "both", "members": ["openai", "second"]});
        house.post("/admin/api/v1/pools", pool).send().await.expect_status(201);
        let answer = house.chat("both/text").send().await.expect_status(200);
        assert_eq!(answer.header("x-gateway-provider"), Some("second"));
        assert_eq!(answer.header("x-gateway-cost-usd"), Some("0.010000000"));
    })
    .await;
}

#[tokio::test]
async fn the_passthrough_follows() {
    each_served_with(strict, async |house| {
        let path = "/p/openai/chat/completions";
        house.post(path, question("gpt-4o")).send().await.expect_status(200);
        let refused = house.post(path, question("text")).send().await;
        assert_eq!(refused.refusal(), (403, "model_access_denied".into(), Some("model".into())));
        let unreadable = house.post(path, json!({"messages": []})).send().await;
        assert_eq!(unreadable.refusal().1, "model_access_denied");
        assert!(unreadable.text().contains("readably"), "{}", unreadable.text());
        // Reading costs nothing.
        house.get("/p/openai/models").send().await.expect_status(200);
    })
    .await;
}

#[tokio::test]
async fn allowed_they_are_flagged() {
    each_served_with(Wishes::default, async |house| {
        house.chat("second/text").send().await.expect_status(200);
        house.chat("openai/gpt-4o").send().await.expect_status(200);
        let entries = house.receipts(2).await;
        let shown = |index: usize| {
            let entry = &entries[index];
            (entry["caveat"].clone(), entry["cost_source"].clone(), entry["total_cost"].is_null())
        };
        assert_eq!(shown(0), (json!("unpriced"), json!("none"), true));
        assert_eq!(shown(1), (json!(null), json!("model_pricing"), false));
    })
    .await;
}
