//! Tests of `/usage/unpriced` and `/usage/recalculate-pricing`.

use serde_json::{Value, json};

use super::{PATH, each_served};
use crate::app::{self, TestApp, TestSettings};

const RECALCULATE: &str = "/admin/api/v1/usage/recalculate-pricing";
const UNPRICED: &str = "/admin/api/v1/usage/unpriced";
const WORD: &str = "recalculate";

async fn recalculate(app: &TestApp, mut body: Value) -> [u64; 4] {
    body["confirmation"] = json!(WORD);
    let result = app.post(RECALCULATE, body).send().await.expect_status(200).json();
    assert_eq!(result["status"], "ok");
    ["matched", "recalculated", "with_pricing", "without_pricing"].map(|name| result[name].as_u64().unwrap())
}

async fn unpriced(app: &TestApp) -> Vec<Value> {
    app.get(UNPRICED).send().await.expect_status(200).json().as_array().unwrap().clone()
}

async fn total(app: &TestApp) -> f64 {
    let summary = app.get("/admin/api/v1/usage/summary").send().await.expect_status(200).json();
    summary["total_cost"].as_f64().unwrap_or_default()
}

#[tokio::test]
async fn unpriced_calls_are_priced_afterwards() {
    each_served(async |app| {
        for path in ["/team/a", "/other"] {
            app.chat("second/text").header("x-gateway-user-path", path).send().await.expect_status(200);
        }
        app.chat("openai/gpt-4o").send().await.expect_status(200);
        app.chat("error-500").send().await;
        let entries = app.receipts(4).await;
        let found = unpriced(&app).await;
        assert_eq!(found.len(), 1, "{found:?}");
        let sum = |name: &str| entries[..2].iter().map(|entry| entry[name].as_i64().unwrap()).sum::<i64>();
        assert_eq!(
            found[0],
            json!({"model": "text", "provider": "openai_compatible", "provider_name": "second", "requests": 2,
                "input_tokens": sum("input_tokens"), "output_tokens": sum("output_tokens"), "total_tokens": sum("total_tokens"),
                "last_seen": entries[1]["timestamp"]})
        );
        let before = total(&app).await;

        app.put(format!("{PATH}/second/text"), json!({"input_per_mtok": 1, "output_per_mtok": 2})).send().await.expect_status(201);
        assert_eq!(recalculate(&app, json!({"selector": "openai_compatible/text", "user_path": "/team"})).await, [1, 1, 1, 0]);
        assert_eq!(unpriced(&app).await[0]["requests"], 1);
        assert_eq!(recalculate(&app, json!({"selector": "text"})).await, [2, 1, 2, 0]);
        assert_eq!(unpriced(&app).await, Vec::<Value>::new());
        let own = sum("input_tokens") as f64 * 1e-6 + sum("output_tokens") as f64 * 2e-6;
        assert!((total(&app).await - before - own).abs() < 1e-12);
        let entry = &app.receipts(4).await[0];
        assert_eq!((&entry["cost_source"], &entry["caveat"]), (&json!("model_pricing"), &Value::Null));
        assert!(entry["pricing_version"].as_str().unwrap().starts_with("rev-"));

        // Dearer, and without a price again.
        app.put(format!("{PATH}/openai/gpt-4o"), json!({"input_per_mtok": 25, "output_per_mtok": 100})).send().await.expect_status(201);
        assert_eq!(recalculate(&app, json!({"days": 1})).await, [4, 1, 3, 0]);
        assert!((total(&app).await - 10.0 * before - own).abs() < 1e-12);
        app.call(http::Method::DELETE, format!("{PATH}/second/text")).send().await.expect_status(204);
        assert_eq!(recalculate(&app, json!({})).await, [4, 2, 1, 2]);
        assert_eq!(unpriced(&app).await, found);
        assert_eq!(recalculate(&app, json!({"end_date": "2020-01-01"})).await, [0, 0, 0, 0]);
    })
    .await;
}

#[tokio::test]
async fn recalculation_needs_confirmation_and_valid_filters() {
    each_served(async |app| {
        for (body, param) in [
            (json!({}), "confirmation"),
            (json!({"confirmation": "yes"}), "confirmation"),
            (json!({"confirmation": false}), "confirmation"),
            (json!({"confirm": "no"}), "confirmation"),
            (json!({"confirm": WORD, "days": 0}), "days"),
            (json!({"confirm": WORD, "start_date": "yesterday"}), "start_date"),
            (json!({"confirm": WORD, "user_path": "/a/../b"}), "user_path"),
            (json!({"confirm": WORD, "model": "x"}), "model"),
            (json!({"confirm": WORD, "selector": ""}), "selector"),
            (json!({"confirm": WORD, "selector": "/text"}), "selector"),
            (json!({"confirm": WORD, "selector": "openai/"}), "selector"),
        ] {
            let found = app.post(RECALCULATE, body.clone()).refusal().await;
            assert_eq!((found.0, found.2.as_deref()), (400, Some(param)), "{body}");
        }
        app.post(RECALCULATE, json!({"confirm": WORD})).send().await.expect_status(200);
        assert_eq!(app.get(format!("{UNPRICED}?days=0")).refusal().await.2.as_deref(), Some("days"));
    })
    .await;
}

/// A model's id may have a slash of its own.
#[tokio::test]
async fn a_selector_is_split_only_after_a_provider() {
    each_served(async |app| {
        let body = json!({
            "name": "third", "type": "openai_compatible", "base_url": app.upstream.base_url(),
            "api_key": "sk-third-5678", "models": ["meta/text"],
        });
        app.post("/admin/api/v1/providers", body).send().await.expect_status(201);
        for model in ["third/meta/text", "second/text"] {
            app.chat(model).send().await;
        }
        app.receipts(2).await;
        for (selector, matched) in [
            ("meta/text", 1),
            ("third/meta/text", 1),
            ("openai_compatible/meta/text", 1),
            ("second/meta/text", 0),
            ("text", 1),
        ] {
            assert_eq!(recalculate(&app, json!({"selector": selector})).await[0], matched, "{selector}");
        }
    })
    .await;
}

#[tokio::test]
async fn one_at_a_time_and_to_its_end() {
    each_served(async |app| {
        app.chat("second/text").send().await.expect_status(200);
        app.receipts(1).await;
        let price = json!({"input_per_mtok": 1, "output_per_mtok": 2});
        app.put(format!("{PATH}/second/text"), price).send().await.expect_status(201);
        let begin = || app.post(RECALCULATE, json!({"confirm": WORD})).send();
        let (one, other) = tokio::join!(begin(), begin());
        let mut statuses = [one.status, other.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409]);

        let dearer = json!({"input_per_mtok": 3, "output_per_mtok": 4});
        app.put(format!("{PATH}/second/text"), dearer).send().await.expect_status(200);
        // The client leaves as soon as it has asked.
        tokio::select! {
            biased;
            _ = begin() => panic!("answered before it was asked"),
            () = std::future::ready(()) => {}
        }
        let again = loop {
            let answer = begin().await;
            match answer.status {
                409 => tokio::time::sleep(std::time::Duration::from_millis(5)).await,
                _ => break answer.expect_status(200).json(),
            }
        };
        assert_eq!(
            (&again["matched"], &again["recalculated"]),
            (&json!(1), &json!(0)),
            "it was done without the client"
        );
    })
    .await;
}

#[tokio::test]
async fn an_admin_bound_to_a_path_reaches_its_subtree() {
    each_served(async |app| {
        for path in ["/team/a", "/other"] {
            app.chat("second/text").header("x-gateway-user-path", path).send().await.expect_status(200);
        }
        app.receipts(2).await;
        let price = json!({"input_per_mtok": 1, "output_per_mtok": 2});
        app.put(format!("{PATH}/second/text"), price).send().await.expect_status(201);
        let scopes = json!(["admin:usage:write"]);
        let (_, team) = app.key(json!({"name": "t", "scopes": scopes, "user_path": "/team"})).await;
        let elsewhere = app.post(RECALCULATE, json!({"confirm": WORD, "user_path": "/other"})).key(&team);
        assert_eq!(elsewhere.refusal().await.1, "user_path_denied");
        let seen = app.get(UNPRICED).key(&team).send().await.expect_status(200).json();
        assert_eq!(seen[0]["requests"], 1);
        let own =
            app.post(RECALCULATE, json!({"confirm": WORD})).key(&team).send().await.expect_status(200).json();
        assert_eq!((&own["matched"], &own["recalculated"]), (&json!(1), &json!(1)));
        assert_eq!(unpriced(&app).await[0]["requests"], 1, "the other one is still without");
    })
    .await;
}

#[tokio::test]
async fn a_disabled_feature_is_reported() {
    let settings = || {
        let mut settings = TestSettings::default();
        settings.config.usage_enabled = false;
        settings.policy.accounting = false;
        settings
    };
    app::each_with(settings, async |app| {
        for answer in
            [app.post(RECALCULATE, json!({"confirm": WORD})).send().await, app.get(UNPRICED).send().await]
        {
            assert_eq!((answer.status, &*answer.refusal().1), (503, "feature_unavailable"));
        }
    })
    .await;
}
