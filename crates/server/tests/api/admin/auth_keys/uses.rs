//! Tests of a key's last use and of its usage statistics.

use std::time::Duration;

use domain::clock::Clock as _;
use serde_json::{Value, json};

use super::PATH;
use crate::app::{self, TestApp, TestSettings};

async fn last_use(app: &TestApp, id: &str) -> Value {
    app.get(format!("{PATH}/{id}")).send().await.expect_status(200).json()["last_used_at"].clone()
}

#[tokio::test]
async fn a_call_is_a_use_even_when_it_is_refused() {
    app::each(async |app| {
        let (id, key) = app.key(json!({"name": "a", "allowed_models": []})).await;
        assert_eq!(last_use(&app, &id).await, Value::Null);
        assert_eq!(app.chat("text").key(&key).refusal().await.0, 403);
        let receipts = app.receipts(1).await;
        assert_eq!(last_use(&app, &id).await, receipts[0]["timestamp"]);
        // What is not this key's, and what is refused for it is none, is no use of it.
        let before = last_use(&app, &id).await;
        app.clock.advance(Duration::from_secs(60));
        app.chat("text").send().await.expect_status(200);
        app.post(format!("{PATH}/{id}/deactivate"), json!({})).send().await.expect_status(200);
        assert_eq!(app.chat("text").key(&key).refusal().await.0, 401);
        app.receipts(2).await;
        assert_eq!(last_use(&app, &id).await, before);
    })
    .await;
}

#[tokio::test]
async fn the_admin_api_is_used_too() {
    app::each(async |app| {
        let (id, key) = app.key(json!({"name": "a", "scopes": ["admin:usage:read"]})).await;
        app.get("/admin/api/v1/usage/summary").key(&key).send().await.expect_status(200);
        let first = last_use(&app, &id).await;
        assert!(first.is_string(), "at once");
        let store = app.refresher.store();
        app.gateway.key_uses.write(store).await;
        assert_eq!(app.gateway.key_uses.of(&id), None, "it is in storage now");
        assert_eq!(last_use(&app, &id).await, first);
        let other = app.neighbour().await;
        assert_eq!(last_use(&other, &id).await, first);

        app.clock.advance(Duration::from_secs(5));
        // A use without the right to it is one as well.
        assert_eq!(app.get(PATH).key(&key).refusal().await.0, 403);
        let second = last_use(&app, &id).await;
        assert!(second.as_str() > first.as_str(), "{first} {second}");
        app.gateway.key_uses.write(store).await;
        assert_eq!(last_use(&other, &id).await, second);
    })
    .await;
}

#[tokio::test]
async fn the_stats_of_a_key_are_its_own() {
    app::each(async |app| {
        let (id, key) = app.key(json!({"name": "mine", "denied_models": ["secret"]})).await;
        let path = format!("{PATH}/{id}/stats");
        let empty = app.get(&path).send().await.expect_status(200).json();
        assert_eq!((&empty["requests"], &empty["total_cost"]), (&json!(0), &Value::Null));
        assert_eq!(
            (&empty["by_model"], &empty["daily"], &empty["last_used_at"]),
            (&json!([]), &json!([]), &Value::Null)
        );

        for _ in 0..2 {
            app.chat("text").key(&key).send().await.expect_status(200);
        }
        app.chat("long").key(&key).send().await.expect_status(200);
        assert_eq!(app.chat("secret").key(&key).refusal().await.0, 403);
        app.chat("text").send().await.expect_status(200);
        let receipts = app.receipts(5).await;
        let own: Vec<&Value> = receipts.iter().filter(|call| call["auth_key_id"] == id.as_str()).collect();
        let sum = |field: &str| own.iter().map(|call| call[field].as_i64().unwrap()).sum::<i64>();

        let stats = app.get(&path).send().await.expect_status(200).json();
        assert_eq!((&stats["id"], &stats["name"]), (&json!(id), &json!("mine")));
        assert_eq!((&stats["requests"], &stats["errors"]), (&json!(4), &json!(1)));
        for field in ["input_tokens", "output_tokens", "total_tokens"] {
            assert_eq!(stats[field], sum(field), "{field}");
            let split = stats["by_model"].as_array().unwrap().iter();
            assert_eq!(split.map(|of| of[field].as_i64().unwrap()).sum::<i64>(), sum(field), "{field}");
        }
        assert_eq!(stats["last_used_at"], own.last().unwrap()["timestamp"]);
        let models: Vec<(&str, i64)> = stats["by_model"]
            .as_array()
            .unwrap()
            .iter()
            .map(|of| (of["model"].as_str().unwrap(), of["requests"].as_i64().unwrap()))
            .collect();
        assert_eq!(models[0], ("text", 2));
        let today = stats["daily"].as_array().unwrap();
        assert_eq!(today.iter().map(|day| day["requests"].as_i64().unwrap()).sum::<i64>(), 4);

        // Another year has none of it.
        let other = app.get(format!("{path}?start_date=2020-01-01&end_date=2020-12-31")).send().await.json();
        assert_eq!(other["requests"], 0);
        let cached = app.get(format!("{path}?cache_mode=cached")).send().await.json();
        assert_eq!(cached["requests"], 0);
        for (query, param) in
            [("days=0", "days"), ("start_date=x", "start_date"), ("cache_mode=warm", "cache_mode")]
        {
            let refused = app.get(format!("{path}?{query}")).refusal().await;
            assert_eq!(refused, (400, "invalid_parameter".into(), Some(param.into())), "{query}");
        }
        assert_eq!(app.get(format!("{PATH}/key_none/stats")).refusal().await.0, 404);
    })
    .await;
}

#[tokio::test]
async fn days_are_those_of_the_asker() {
    app::each(async |app| {
        let (id, key) = app.key(json!({"name": "a"})).await;
        // Put forward to 22:30 UTC, which is the next day in Berlin.
        let now = app.clock.now().seconds();
        let day = 86_400;
        let ahead = (22 * 3600 + 1800 - now.rem_euclid(day)).rem_euclid(day) as u64;
        app.clock.advance(Duration::from_secs(ahead));
        app.chat("text").key(&key).send().await.expect_status(200);
        app.receipts(1).await;
        let date = async |zone: &str| {
            let path = format!("{PATH}/{id}/stats?days=2");
            let stats =
                app.get(path).header("x-gateway-timezone", zone).send().await.expect_status(200).json();
            stats["daily"][0]["date"].as_str().unwrap().to_owned()
        };
        assert!(date("Asia/Tokyo").await > date("UTC").await);
        assert_eq!(date("America/New_York").await, date("UTC").await);
    })
    .await;
}

#[tokio::test]
async fn there_are_no_stats_without_usage() {
    let config = || server::Config { usage_enabled: false, ..TestSettings::default().config };
    app::each_with(
        || TestSettings { config: config(), ..TestSettings::default() },
        async |app| {
            let (id, _) = app.key(json!({"name": "a"})).await;
            let refused = app.get(format!("{PATH}/{id}/stats")).refusal().await;
            assert_eq!((refused.0, &*refused.1), (503, "feature_unavailable"));
        },
    )
    .await;
}
