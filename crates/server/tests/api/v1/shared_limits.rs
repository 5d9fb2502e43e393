//! Tests of rate limits that two gateways share through Redis: exact limits, and Redis that is frozen, flushed or restarted.

use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::join_all;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use testkit::RedisServer;

use crate::app::{self, Answer, RedisConfig, TestApp, TestSettings, redis_server};

fn sharing(config: RedisConfig) -> TestSettings {
    TestSettings { redis: Some(config), ..TestSettings::default() }
}

/// Runs a test with two gateways on one database and one Redis, which decides about limits already.
async fn each(
    adjust: impl FnOnce(&mut RedisConfig),
    test: impl AsyncFnOnce(&TestApp, &TestApp, RedisServer),
) {
    let Some(server) = redis_server(None).await else { return };
    let mut config = RedisConfig::of(server.url());
    adjust(&mut config);
    app::on_sqlite(sharing(config), async |app| {
        let other = app.neighbour().await;
        app.wait_for_shared_store("ok").await;
        other.wait_for_shared_store("ok").await;
        test(&app, &other, server).await;
    })
    .await;
}

/// Creates a key with these limits that both gateways know.
async fn limited(app: &TestApp, other: &TestApp, limits: Value) -> String {
    let (_, key) = app.key(json!({"name": "limited", "rate_limits": limits})).await;
    other.refresher.refresh().await.unwrap();
    key
}

async fn call(app: &TestApp, key: &str) -> Answer {
    app.chat("gpt-4o").key(key).send().await
}

/// The statuses of calls, one after the other.
async fn statuses(app: &TestApp, key: &str, calls: usize) -> Vec<u16> {
    let mut statuses = Vec::new();
    for _ in 0..calls {
        statuses.push(call(app, key).await.status);
    }
    statuses
}

fn admitted(statuses: &[u16]) -> usize {
    assert!(statuses.iter().all(|status| matches!(status, 200 | 429)), "{statuses:?}");
    statuses.iter().filter(|status| **status == 200).count()
}

/// Whether a call is admitted within a moment: what a call on the other gateway gives back takes one to arrive.
async fn is_admitted_soon(app: &TestApp, key: &str) -> bool {
    for _ in 0..30 {
        if call(app, key).await.status == 200 {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    false
}

/// Time for a call that waits for a Redis that does not answer.
fn impatient(config: &mut RedisConfig) {
    config.timeout = Duration::from_secs(1);
}

#[tokio::test]
async fn two_gateways_admit_no_more_than_the_limit_together() {
    each(
        |_| {},
        async |app, other, _server| {
            let key = limited(app, other, json!({"requests_per_minute": 30})).await;
            let calls = (0..80).map(|number| call(if number % 2 == 0 { app } else { other }, &key));
            let answers = join_all(calls).await;
            let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
            assert_eq!(admitted(&statuses), 30, "{statuses:?}");
            let refused = call(other, &key).await;
            assert_eq!(refused.refusal(), (429, "rate_limit_exceeded".to_owned(), None));
            assert_eq!(refused.header("x-ratelimit-scope"), Some("requests_per_minute"));
            let after: u64 = refused.header("retry-after").unwrap().parse().unwrap();
            assert!((30..=61).contains(&after), "{after}");
        },
    )
    .await;
}

#[tokio::test]
async fn headers_count_the_calls_of_both_gateways() {
    each(
        |_| {},
        async |app, other, _server| {
            let key = limited(app, other, json!({"requests_per_minute": 10, "requests_per_day": 1000})).await;
            let remaining = |answer: &Answer| answer.header("x-ratelimit-remaining").unwrap().to_owned();
            assert_eq!(remaining(&call(app, &key).await), "9");
            assert_eq!(remaining(&call(other, &key).await), "8");
            assert_eq!(remaining(&call(app, &key).await), "7");
        },
    )
    .await;
}

#[tokio::test]
async fn a_hot_key_is_decided_from_leases_and_never_beyond_its_limit() {
    each(
        |_| {},
        async |app, other, _server| {
            let key = limited(app, other, json!({"requests_per_minute": 400})).await;
            let mut all = Vec::new();
            for _ in 0..30 {
                let calls = (0..20).map(|number| call(if number % 2 == 0 { app } else { other }, &key));
                all.extend(join_all(calls).await.into_iter().map(|answer| answer.status));
            }
            let count = admitted(&all);
            assert!((350..=400).contains(&count), "{count} of 600 were admitted");
            let decisions = &app.gateway.limiter.shared().unwrap().decisions;
            let leased = decisions.leased.load(Ordering::Relaxed);
            assert!(leased > 0, "no call was decided from a lease");
            assert_eq!(decisions.local.load(Ordering::Relaxed), 0);
        },
    )
    .await;
}

#[tokio::test]
async fn tokens_are_shared_and_corrected() {
    each(
        |_| {},
        async |app, other, _server| {
            let key = limited(app, other, json!({"tokens_per_minute": 1000})).await;
            // The first estimate is above the limit: the bucket is in debt until the call is settled.
            call(app, &key).await.expect_status(200);
            assert!(is_admitted_soon(other, &key).await, "the estimate was corrected to a few tokens");
            let day = limited(app, other, json!({"tokens_per_day": 1})).await;
            call(app, &day).await.expect_status(200);
            for _ in 0..50 {
                if call(other, &day).await.status == 429 {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            let refused = call(other, &day).await;
            assert_eq!(refused.header("x-ratelimit-scope"), Some("tokens_per_day"), "{}", refused.text());
        },
    )
    .await;
}

#[tokio::test]
async fn parallel_requests_are_counted_on_both_gateways() {
    each(
        |_| {},
        async |app, other, _server| {
            let key = limited(app, other, json!({"max_parallel_requests": 1})).await;
            let open = app.stream("gpt-4o").key(&key).open().await;
            let refused = call(other, &key).await;
            assert_eq!(refused.status, 429, "{}", refused.text());
            assert_eq!(refused.header("x-ratelimit-scope"), Some("max_parallel_requests"));
            open.into_body().collect().await.unwrap();
            assert!(is_admitted_soon(other, &key).await);
            assert_eq!(statuses(other, &key, 3).await, [200; 3]);
        },
    )
    .await;
}

#[tokio::test]
async fn a_frozen_redis_costs_its_time_limit_once_and_what_was_counted_meanwhile_is_reported() {
    each(impatient, async |app, other, server| {
        let key = limited(app, other, json!({"requests_per_minute": 4})).await;
        assert_eq!(statuses(app, &key, 1).await, [200]);
        server.freeze();
        let begun = tokio::time::Instant::now();
        assert_eq!(statuses(app, &key, 1).await, [200]);
        let waited = begun.elapsed();
        assert!(waited < Duration::from_secs(4), "{waited:?}");
        let ready = app.get("/ready").anonymous().send().await;
        let ready = (ready.status, ready.json());
        assert_eq!(
            (ready.0, &ready.1["shared_store"], &ready.1["status"]),
            (200, &json!("degraded"), &json!("degraded"))
        );
        let begun = tokio::time::Instant::now();
        assert_eq!(statuses(app, &key, 1).await, [200]);
        assert!(begun.elapsed() < Duration::from_millis(800), "the breaker is open: {:?}", begun.elapsed());
        server.thaw();
        other.wait_for_shared_store("ok").await;
        app.wait_for_shared_store("ok").await;
        let after = statuses(other, &key, 2).await;
        // The call that timed out may be counted by Redis as well, when it goes on.
        assert!(after == [200, 429] || after == [429, 429], "{after:?}");
    })
    .await;
}

#[tokio::test]
async fn leased_units_that_are_unused_when_redis_fails_are_given_back() {
    each(impatient, async |app, other, server| {
        let key = limited(app, other, json!({"requests_per_day": 5_000})).await;
        let mut made = 0;
        for _ in 0..10 {
            let answers = join_all((0..20).map(|_| call(app, &key))).await;
            made += answers.iter().filter(|answer| answer.status == 200).count() as u64;
        }
        // Until nothing is under way: what Redis counts when it goes on, nobody gives back.
        tokio::time::sleep(Duration::from_millis(150)).await;
        server.freeze();
        app.wait_for_shared_store("degraded").await;
        server.thaw();
        other.wait_for_shared_store("ok").await;
        app.wait_for_shared_store("ok").await;
        let answer = call(other, &key).await;
        let remaining: u64 = answer.header("x-ratelimit-remaining").unwrap().parse().unwrap();
        assert_eq!((made, 5_000 - remaining), (200, 201));
    })
    .await;
}

/// Redis may decide for other replicas meanwhile.
#[tokio::test]
async fn a_limit_that_was_used_up_refuses_calls_while_redis_is_silent_for_a_moment() {
    each(impatient, async |app, other, server| {
        let requests = limited(app, other, json!({"requests_per_minute": 4})).await;
        let tokens = limited(app, other, json!({"tokens_per_minute": 10})).await;
        let free = limited(app, other, json!({"requests_per_minute": 4, "tokens_per_minute": 10_000})).await;
        assert_eq!(statuses(app, &requests, 4).await, [200; 4]);
        assert_eq!(statuses(app, &tokens, 1).await, [200]);
        for key in [&requests, &tokens] {
            assert_eq!(statuses(other, key, 1).await, [429], "the other gateway knows that it is used up");
        }
        assert_eq!(statuses(other, &free, 1).await, [200]);
        server.freeze();
        // A refusal is repeated for 100 ms without asking.
        tokio::time::sleep(Duration::from_millis(150)).await;
        assert_eq!(statuses(other, &requests, 2).await, [429; 2]);
        assert_eq!(statuses(other, &tokens, 2).await, [429; 2]);
        assert_eq!(statuses(other, &free, 1).await, [200]);
    })
    .await;
}

#[tokio::test]
async fn limits_that_fail_closed_refuse_without_redis() {
    let closed = |config: &mut RedisConfig| {
        impatient(config);
        config.limits_closed = true;
    };
    each(closed, async |app, other, server| {
        let key = limited(app, other, json!({"requests_per_minute": 4})).await;
        assert_eq!(call(app, &key).await.status, 200);
        server.freeze();
        let refused = call(app, &key).await;
        assert_eq!(refused.refusal(), (503, "feature_unavailable".to_owned(), None));
        assert!(refused.text().contains("LIMITS_FAIL"), "{}", refused.text());
        assert_eq!(refused.header("retry-after"), Some("1"));
        app.chat("gpt-4o").send().await.expect_status(200);
    })
    .await;
}

#[tokio::test]
async fn counts_survive_a_flush_and_a_restart() {
    each(
        |_| {},
        async |app, other, mut server| {
            let limits = json!({"requests_per_minute": 3, "requests_per_day": 3});
            let key = limited(app, other, limits).await;
            assert_eq!(statuses(app, &key, 4).await, [200, 200, 200, 429]);
            server.flush();
            app.wait_for_shared_store("degraded").await;
            app.wait_for_shared_store("ok").await;
            other.wait_for_shared_store("ok").await;
            assert_eq!(call(other, &key).await.status, 429, "reported by the first gateway");
            server.restart().await;
            app.wait_for_shared_store("ok").await;
            other.wait_for_shared_store("ok").await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            app.wait_for_shared_store("ok").await;
            other.wait_for_shared_store("ok").await;
            assert_eq!(call(other, &key).await.status, 429, "reported again");
        },
    )
    .await;
}

/// Each gateway enforces its half after the flush, and reports what it has admitted at several times.
#[tokio::test]
async fn tokens_that_are_admitted_after_a_flush_are_added_up() {
    each(
        |_| {},
        async |app, other, server| {
            let limit = 3000;
            let key = limited(app, other, json!({"tokens_per_minute": limit})).await;
            let tokens =
                call(app, &key).await.expect_status(200).json()["usage"]["total_tokens"].as_u64().unwrap();
            server.flush();
            app.wait_for_shared_store("degraded").await;
            other.wait_for_shared_store("degraded").await;
            let begun = tokio::time::Instant::now();
            let calls = limit / tokens / 8;
            for _ in 0..2 {
                for gateway in [app, other] {
                    assert_eq!(admitted(&statuses(gateway, &key, calls as usize).await), calls as usize);
                }
                // Both report twice a second.
                tokio::time::sleep(Duration::from_millis(600)).await;
            }
            app.wait_for_shared_store("ok").await;
            other.wait_for_shared_store("ok").await;
            let remaining =
                call(app, &key).await.header("x-ratelimit-remaining").unwrap().parse::<u64>().unwrap();
            let refilled = limit * begun.elapsed().as_millis() as u64 / 60_000;
            assert!(
                remaining <= limit - 4 * calls * tokens + refilled + 10,
                "{remaining} of {limit}, {tokens} a call"
            );
        },
    )
    .await;
}

#[tokio::test]
async fn a_wrong_password_is_named_and_not_shown() {
    let Some(server) = redis_server(Some("right-password-1")).await else { return };
    let config = RedisConfig::of(server.url_with(Some("wrong-password-2")));
    app::on_sqlite(sharing(config), async |app| {
        let (_, key) = app.key(json!({"name": "limited", "rate_limits": {"requests_per_minute": 1}})).await;
        assert_eq!(statuses(&app, &key, 2).await, [200, 429], "the limit holds in this process");
        let status = app.get("/admin/api/v1/runtime/status").send().await.expect_status(200);
        let redis = &status.json()["redis"];
        assert_eq!((&redis["state"], &redis["limits_shared"]), (&json!("down"), &json!(false)));
        let error = redis["error"].as_str().unwrap();
        assert!(error.contains("rejects the user or password"), "{error}");
        assert!(!status.text().contains("wrong-password-2"));
    })
    .await;
    let config = RedisConfig::of(server.url());
    app::on_sqlite(sharing(config), async |app| app.wait_for_shared_store("ok").await).await;
}

#[tokio::test]
async fn without_redis_each_replica_enforces_its_share() {
    app::on_sqlite(TestSettings::default(), async |app| {
        app.gateway.limiter.live_replicas().set(2);
        let (_, key) = app.key(json!({"name": "limited", "rate_limits": {"requests_per_minute": 5}})).await;
        assert_eq!(statuses(&app, &key, 3).await, [200, 200, 429]);
        app.wait_for_shared_store("degraded").await;
        app.gateway.limiter.live_replicas().set(1);
        app.wait_for_shared_store("ok").await;
        assert_eq!(statuses(&app, &key, 4).await, [200, 200, 200, 429]);
    })
    .await;
}
