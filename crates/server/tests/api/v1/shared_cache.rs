//! Tests of cached answers that two gateways share through Redis.

use std::time::Duration;

use pipeline::policy::{CachePolicy, Policy};
use serde_json::json;
use testkit::RedisServer;

use crate::app::{self, RedisConfig, TestApp, TestSettings, redis_server};

/// Runs a test with two gateways that share a cache.
async fn each(test: impl AsyncFnOnce(&TestApp, &TestApp, RedisServer)) {
    let Some(server) = redis_server(None).await else { return };
    let cache = CachePolicy { enabled: true, ..CachePolicy::default() };
    let redis = RedisConfig { timeout: Duration::from_millis(500), ..RedisConfig::of(server.url()) };
    let settings = TestSettings {
        policy: Policy { cache, ..Policy::default() },
        redis: Some(redis),
        ..TestSettings::enterprise()
    };
    app::on_sqlite(settings, async |app| {
        let other = app.neighbour().await;
        app.wait_for_shared_store("ok").await;
        other.wait_for_shared_store("ok").await;
        test(&app, &other, server).await;
    })
    .await;
}

fn asked(app: &TestApp) -> usize {
    app.upstream.requests().iter().filter(|request| request.path != "/v1/models").count()
}

/// The outcome of a call: `hit-exact` or `miss`.
async fn outcome(app: &TestApp, path: &str) -> String {
    let answer = app.chat("gpt-4o").header("x-gateway-user-path", path).send().await.expect_status(200);
    answer.header("x-gateway-cache").unwrap().to_owned()
}

/// Waits until Redis has this many answers.
async fn stored(server: &RedisServer, count: usize) {
    for _ in 0..100 {
        let keys = server.command(&["KEYS", "gatehouse:cache:*"]);
        if keys.lines().filter(|line| !line.is_empty()).count() == count {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("Redis does not have {count} answers");
}

#[tokio::test]
async fn an_answer_of_one_gateway_is_found_by_the_other() {
    each(async |app, other, server| {
        let first = app.chat("gpt-4o").send().await.expect_status(200);
        stored(&server, 1).await;
        let again = other.chat("gpt-4o").send().await.expect_status(200);
        assert_eq!((again.header("x-gateway-cache"), &first.body), (Some("hit-exact"), &again.body));
        assert_eq!(again.header("x-gateway-cost-usd"), Some("0.000000000"));
        assert_eq!(first.header("x-gateway-model"), again.header("x-gateway-model"));
        let stream = other.stream("gpt-4o").send().await.expect_status(200);
        assert_eq!(stream.header("x-gateway-cache"), Some("hit-exact"), "in the other form as well");
        assert_eq!(asked(app), 1);
        let lifetime: u64 =
            server.command(&["PTTL", &server.command(&["KEYS", "gatehouse:cache:*"])]).parse().unwrap();
        assert!(lifetime <= 3_600_000 && lifetime > 3_500_000, "{lifetime}");
    })
    .await;
}

#[tokio::test]
async fn answers_are_not_shared_across_user_paths() {
    each(async |app, other, server| {
        assert_eq!(outcome(app, "/a").await, "miss");
        stored(&server, 1).await;
        assert_eq!(outcome(other, "/b").await, "miss");
        assert_eq!(outcome(other, "/a").await, "hit-exact");
    })
    .await;
}

#[tokio::test]
async fn a_purge_on_one_gateway_removes_answers_on_both() {
    each(async |app, other, server| {
        assert_eq!(outcome(app, "/a").await, "miss");
        assert_eq!(outcome(app, "/b").await, "miss");
        stored(&server, 2).await;
        assert_eq!(
            (outcome(other, "/a").await, outcome(other, "/b").await),
            ("hit-exact".into(), "hit-exact".into())
        );
        let purged = other.post("/admin/api/v1/cache/purge", json!({"user_path": "/a"})).send().await;
        assert_eq!(purged.expect_status(200).json(), json!({"purged": 1}));
        stored(&server, 1).await;
        tokio::time::sleep(Duration::from_millis(1_200)).await;
        assert_eq!(outcome(app, "/b").await, "hit-exact");
        assert_eq!((outcome(app, "/a").await, asked(app)), ("miss".into(), 3));
    })
    .await;
}

#[tokio::test]
async fn a_frozen_redis_is_a_miss_and_refuses_a_purge() {
    each(async |app, other, server| {
        assert_eq!(outcome(app, "/a").await, "miss");
        stored(&server, 1).await;
        server.freeze();
        let begun = tokio::time::Instant::now();
        assert_eq!(outcome(other, "/a").await, "miss");
        assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
        assert_eq!(outcome(app, "/a").await, "hit-exact", "from the memory of the process");
        let purge = app.post("/admin/api/v1/cache/purge", json!({})).send().await;
        assert_eq!(purge.refusal(), (503, "feature_unavailable".to_owned(), None));
        assert_eq!(outcome(app, "/a").await, "miss", "this process has purged its own");
    })
    .await;
}
