//! `/admin/api/v1/cache`.

use domain::clock::{Clock as _, Timestamp};
use domain::money::{Cost, Nanos};
use domain::receipt::Receipt;
use domain::usage::{Tokens, Usage};
use pipeline::policy::{CachePolicy, Policy};
use serde_json::{Value, json};
use store::ShardId;

use crate::app::{self, TestApp, TestSettings};

const OVERVIEW: &str = "/admin/api/v1/cache/overview";
const DAILY: &str = "/admin/api/v1/usage/daily";

fn caching() -> TestSettings {
    let cache = CachePolicy { enabled: true, ..CachePolicy::default() };
    TestSettings { policy: Policy { cache, ..Policy::default() }, ..TestSettings::default() }
}

async fn read(app: &TestApp, query: &str) -> Value {
    app.get(format!("{OVERVIEW}?{query}")).send().await.expect_status(200).json()
}

fn answered(id: &str, at: Timestamp, user_path: &str) -> Receipt {
    let tokens = Tokens { input: 100, output: 20, ..Tokens::default() };
    Receipt {
        id: id.to_owned(),
        at,
        user_path: user_path.to_owned(),
        auth_method: "master_key".to_owned(),
        status: 200,
        usage: Usage { tokens, ..Usage::default() },
        cost: Some(Cost::default()),
        ..Receipt::default()
    }
}

/// Books two exact hits and a miss below `/team`, a semantic hit at `/other`, and a call that does not use the cache.
async fn book_calls(app: &TestApp) {
    let at = app.clock.now();
    let hit = |id: &str, path: &str, cache_type: &str, saved_cost: Option<i64>| Receipt {
        cache_type: cache_type.to_owned(),
        saved_cost: saved_cost.map(Nanos),
        ..answered(id, at, path)
    };
    let calls = [
        hit("a", "/team/app", "exact", Some(2_000_000)),
        hit("b", "/team", "exact", Some(3_000_000)),
        hit("c", "/other", "semantic", None),
        Receipt { cache_miss: true, ..answered("d", at, "/team") },
        answered("e", at, "/team"),
    ];
    for call in &calls {
        app.gateway.journal.close_call(call, ShardId::SHARED).unwrap();
    }
    while app.drain().await.unwrap() > 0 {}
    assert_eq!(app.refresher.store().ledger().count().await.unwrap(), 5);
}

#[tokio::test]
async fn a_cache_that_is_off_is_reported() {
    app::each(async |app| {
        let answer = app.get(OVERVIEW).send().await;
        assert_eq!((answer.status, &*answer.refusal().1), (503, "feature_unavailable"));
        assert!(answer.text().contains("RESPONSE_CACHE_ENABLED"), "{}", answer.text());
    })
    .await;
    let settings = || {
        let mut settings = caching();
        settings.config.usage_enabled = false;
        settings.policy.accounting = false;
        settings
    };
    app::each_with(settings, async |app| {
        let answer = app.get(OVERVIEW).send().await;
        assert_eq!((answer.status, &*answer.refusal().1), (503, "feature_unavailable"));
        assert!(answer.text().contains("USAGE_ENABLED"), "{}", answer.text());
    })
    .await;
}

#[tokio::test]
async fn an_overview_without_calls_is_all_zero() {
    app::each_with(caching, async |app| {
        let expected = json!({
            "summary": {
                "shadow_hits": 0, "rechecks": 0, "false_hit_rate": null, "false_hit_rate_low": null, "false_hit_rate_high": null, "total_hits": 0, "exact_hits": 0,
                "semantic_hits": 0, "misses": 0, "hit_rate": 0.0, "total_input_tokens": 0, "total_output_tokens": 0,
                "total_tokens": 0, "total_saved_cost": null,
            },
            "daily": [],
        });
        assert_eq!(read(&app, "").await, expected);
    })
    .await;
}

#[tokio::test]
async fn hits_misses_and_savings_are_reported() {
    app::each_with(caching, async |app| {
        book_calls(&app).await;
        let found = read(&app, "").await;
        let summary = json!({
            "shadow_hits": 0, "rechecks": 0, "false_hit_rate": null, "false_hit_rate_low": null, "false_hit_rate_high": null, "total_hits": 3, "exact_hits": 2,
            "semantic_hits": 1, "misses": 1, "hit_rate": 0.75, "total_input_tokens": 300, "total_output_tokens": 60,
            "total_tokens": 360, "total_saved_cost": 0.005,
        });
        assert_eq!(found["summary"], summary);
        let days = app.get(format!("{DAILY}?cache_mode=all")).send().await.expect_status(200).json();
        let day = json!({
            "date": days[0]["date"], "hits": 3, "exact_hits": 2, "semantic_hits": 1, "misses": 1,
            "input_tokens": 300, "output_tokens": 60, "total_tokens": 360, "saved_cost": 0.005,
        });
        assert_eq!(found["daily"], json!([day]));
        for mode in ["uncached", "cached", "all"] {
            assert_eq!(read(&app, &format!("cache_mode={mode}")).await, found, "{mode}");
        }
        for (interval, length) in [("daily", 10), ("weekly", 8), ("monthly", 7), ("yearly", 4)] {
            let periods = read(&app, &format!("interval={interval}")).await["daily"].clone();
            assert_eq!(periods[0]["date"].as_str().unwrap().len(), length, "{periods}");
        }
        let other = read(&app, "user_path=/other").await;
        assert_eq!(other["summary"]["hit_rate"], 1.0);
        assert_eq!(other["summary"]["total_saved_cost"], Value::Null, "its cost is not known");
        assert_eq!(read(&app, "end_date=2020-01-01").await["daily"], json!([]));
    })
    .await;
}

#[tokio::test]
async fn an_admin_bound_to_a_path_sees_its_subtree() {
    app::each_with(caching, async |app| {
        book_calls(&app).await;
        let scopes = json!(["admin:cache:read"]);
        let (_, team) = app.key(json!({"name": "t", "scopes": scopes, "user_path": "/team"})).await;
        let own = app.get(OVERVIEW).key(&team).send().await.expect_status(200).json();
        assert_eq!((&own["summary"]["total_hits"], &own["summary"]["misses"]), (&json!(2), &json!(1)));
        let below = app.get(format!("{OVERVIEW}?user_path=/team/app")).key(&team).send().await;
        assert_eq!(below.expect_status(200).json()["summary"]["total_hits"], 1);
        let refused = app.get(format!("{OVERVIEW}?user_path=/other")).key(&team).refusal().await;
        assert_eq!((refused.0, &*refused.1), (403, "user_path_denied"));
        let usage = app.key_with(&["admin:usage:read"]).await;
        assert_eq!(app.get(OVERVIEW).key(&usage).refusal().await.1, "insufficient_scope");
    })
    .await;
}

#[tokio::test]
async fn bad_values_are_named() {
    app::each_with(caching, async |app| {
        for (query, param) in [
            ("days=0", "days"),
            ("days=366", "days"),
            ("start_date=01.02.2026", "start_date"),
            ("end_date=2026-02-30", "end_date"),
            ("start_date=2026-02-02&end_date=2026-02-01", "start_date"),
            ("interval=hourly", "interval"),
            ("user_path=/a/../b", "user_path"),
            ("timezone=Mars/Phobos", "timezone"),
            ("cache_mode=some", "cache_mode"),
        ] {
            let found = app.get(format!("{OVERVIEW}?{query}")).refusal().await;
            assert_eq!(found, (400, "invalid_parameter".into(), Some(param.into())), "{query}");
        }
        let model = app.get(format!("{OVERVIEW}?model=text")).refusal().await;
        assert_eq!(model, (400, "unknown_parameter".into(), Some("model".into())));
        let zone = app.get(OVERVIEW).header("x-gateway-timezone", "Mars/Olympus").refusal().await;
        assert_eq!(zone, (400, "invalid_parameter".into(), Some("X-Gateway-Timezone".into())));
        app.get(format!("{OVERVIEW}?start_date=0001-01-01&end_date=9000-01-01&interval=yearly"))
            .send()
            .await
            .expect_status(200);
    })
    .await;
}
