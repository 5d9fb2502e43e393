//! Tests of retries, cooldowns, circuit breakers and failover, from the view of the client and of the provider.

use std::time::Duration;

use pipeline::policy::{Fallback, FallbackMode, Policy, Retries};
use serde_json::json;

use super::{combo, each, served};
use crate::app::TestSettings;

#[tokio::test]
async fn a_target_that_fails_is_tried_again_and_then_left() {
    each(TestSettings::default, json!({}), async |app| {
        let answer = app.chat("one/flaky-2@a").send().await;
        assert_eq!(served(&answer), (200, "one/flaky-2@a", "3"));
        combo(&app, "best", &["one/error-500", "two/text"]).await;
        for call in [app.chat("best"), app.stream("best")] {
            let answer = call.send().await;
            assert_eq!((answer.status, answer.header("x-gateway-model")), (200, Some("two/text")));
            assert_eq!(answer.header("x-should-retry"), None);
        }
        let answer = app.chat("one/error-500@alone").send().await;
        assert_eq!(served(&answer), (500, "one/error-500@alone", "3"));
        assert_eq!(answer.header("x-should-retry"), Some("false"));
        app.receipts(4).await;
    })
    .await;
}

/// Faults that only another target can mend, and those that nobody can.
#[tokio::test]
async fn each_fault_has_its_recourse() {
    each(TestSettings::default, json!({}), async |app| {
        for (fault, attempts) in [
            ("unauthorized", "2"),
            ("error-404", "2"),
            ("bad-json", "2"),
            ("html", "2"),
            ("error-429", "2"),
            ("insufficient-quota", "2"),
            ("reset-before-head", "2"),
            ("error-in-stream", "4"),
        ] {
            let name = format!("best-{fault}");
            combo(&app, &name, &[&format!("one/{fault}"), "two/text"]).await;
            let answer = app.stream(&name).send().await;
            assert_eq!(served(&answer), (200, "two/text", attempts), "{fault}: {}", answer.text());
        }
        combo(&app, "wrong", &["one/error-400", "two/text"]).await;
        let answer = app.chat("wrong").send().await;
        assert_eq!(served(&answer), (400, "one/error-400", "1"));
    })
    .await;
}

#[tokio::test]
async fn retry_after_is_respected() {
    let settings = || TestSettings {
        policy: Policy {
            retries: Retries { max: 2, longest_wait: Duration::from_millis(300) },
            ..Policy::default()
        },
        ..TestSettings::default()
    };
    each(settings, json!({}), async |app| {
        // Short enough to wait for.
        let answer = app.chat("one/flaky-1-error-429-ms-100").send().await;
        assert_eq!(served(&answer), (200, "one/flaky-1-error-429-ms-100", "2"));
        // Too long: the answer says so, and the next call is not even sent.
        let answer = app.chat("one/error-429-17").send().await;
        assert_eq!((served(&answer).0, answer.header("retry-after")), (429, Some("17")));
        assert_eq!(answer.header("x-should-retry"), None, "a later try could help");
        let before = app.upstream.requests().len();
        let answer = app.chat("one/error-429-17").send().await;
        assert_eq!((answer.status, answer.header("x-gateway-attempts")), (429, Some("0")));
        assert!(matches!(answer.header("retry-after"), Some("16" | "17")));
        assert_eq!(app.upstream.requests().len(), before);
        // It is that model of that instance alone.
        app.chat("two/text").send().await.expect_status(200);
        app.chat("one/text").send().await.expect_status(200);
        let answer = app.chat("one/insufficient-quota").send().await;
        assert_eq!((answer.status, answer.header("retry-after")), (429, Some("600")));
        // A 503 among the limited.
        combo(&app, "busy", &["one/error-429-9", "two/error-503-30"]).await;
        let answer = app.chat("busy").send().await;
        assert_eq!(answer.refusal().1, "overloaded");
        assert_eq!((answer.status, answer.header("retry-after")), (503, Some("9")));
    })
    .await;
}

#[tokio::test]
async fn a_breaker_opens_and_closes() {
    let patience = json!({"max_retries": 0, "breaker_open_ms": 200});
    each(TestSettings::default, patience, async |app| {
        let model = "one/flaky-5";
        for _ in 0..5 {
            assert_eq!(app.chat(model).send().await.status, 500);
        }
        let before = app.upstream.requests().len();
        let answer = app.chat(model).send().await;
        assert_eq!(answer.refusal().1, "circuit_open");
        assert_eq!((answer.status, answer.header("retry-after")), (503, Some("1")));
        assert_eq!(app.upstream.requests().len(), before);
        let status = app.get("/admin/api/v1/providers/status").send().await.json();
        let one = status.as_array().unwrap().iter().find(|provider| provider["name"] == "one").unwrap();
        assert_eq!(one["models"][0]["breaker"], "open", "{one:#}");
        tokio::time::sleep(Duration::from_millis(250)).await;
        for _ in 0..2 {
            app.chat(model).send().await.expect_status(200);
        }
        let events = app.get("/admin/api/v1/console/recent?event=breaker").send().await.json();
        let states: Vec<_> =
            events["events"].as_array().unwrap().iter().map(|event| event["state"].clone()).collect();
        assert_eq!(states, ["open", "closed"]);
    })
    .await;
}

#[tokio::test]
async fn fallback_may_be_off_by_rule_or_automatic() {
    let with = |mode: FallbackMode, rules: &[(&str, &str)]| {
        let rules = rules.iter().map(|(from, to)| ((*from).to_owned(), vec![(*to).to_owned()])).collect();
        move || TestSettings {
            policy: Policy { fallback: Fallback { mode, rules }, ..Policy::default() },
            ..TestSettings::default()
        }
    };
    let off = with(FallbackMode::Off, &[]);
    let off = || off.clone()();
    each(off, json!({"max_retries": 0}), async |app| {
        combo(&app, "best", &["one/error-500", "two/text"]).await;
        assert_eq!(served(&app.chat("best").send().await), (500, "one/error-500", "1"));
    })
    .await;
    let ruled = with(FallbackMode::Manual, &[("one/error-500", "two/text")]);
    let ruled = || ruled.clone()();
    each(ruled, json!({"max_retries": 0}), async |app| {
        assert_eq!(served(&app.chat("one/error-500").send().await), (200, "two/text", "2"));
    })
    .await;
    let auto = with(FallbackMode::Auto, &[]);
    let auto = || auto.clone()();
    each(auto, json!({"max_retries": 0}), async |app| {
        app.refresher.discover().await;
        let script = testkit::FaultScript::named("error-500");
        app.upstream.push(script);
        assert_eq!(served(&app.chat("one/text").send().await), (200, "two/text", "2"));
    })
    .await;
}

/// One deadline covers everything.
#[tokio::test]
async fn no_attempt_exceeds_the_deadline() {
    let limit = Duration::from_millis(1600);
    let settings = move || TestSettings {
        policy: Policy { request_timeout: limit, first_event_timeout: limit, ..Policy::default() },
        ..TestSettings::default()
    };
    each(settings, json!({"first_byte_timeout_ms": 500, "total_timeout_ms": 700}), async |app| {
        combo(&app, "best", &["one/hang", "two/text"]).await;
        for call in [app.chat("best"), app.stream("best")] {
            assert_eq!(served(&call.send().await), (200, "two/text", "2"));
        }
        combo(&app, "dead", &["one/hang", "two/hang", "one/hang-after-head", "two/hang-after-head"]).await;
        for call in [app.chat("dead"), app.stream("dead")] {
            let begun = app.gateway.clock.tick();
            assert_eq!(call.send().await.status, 504);
            let took = app.gateway.clock.tick() - begun;
            assert!(took < limit + Duration::from_secs(1), "{took:?}");
        }
    })
    .await;
}

/// The error after all targets failed is the one that the client can act on.
#[tokio::test]
async fn the_verdict_is_the_best_that_can_be_hoped_for() {
    each(TestSettings::default, json!({"max_retries": 0}), async |app| {
        for (name, selectors, status, code, after) in [
            ("a", ["one/unauthorized", "two/error-429-9"], 429, "rate_limit_exceeded", Some("9")),
            ("b", ["one/error-429-17", "two/error-404"], 429, "rate_limit_exceeded", Some("17")),
            ("c", ["one/error-503-30", "two/unauthorized"], 503, "overloaded", Some("30")),
            ("d", ["one/error-404", "two/unauthorized"], 502, "upstream_auth_failed", None),
        ] {
            combo(&app, name, &selectors).await;
            let answer = app.chat(name).send().await;
            assert_eq!((answer.status, answer.refusal().1.as_str()), (status, code), "{name}");
            assert_eq!(answer.header("retry-after"), after, "{name}");
        }
        // The next call is told the same, although nothing is sent.
        let answer = app.chat("two/error-429-9").send().await;
        assert_eq!((answer.status, answer.header("x-gateway-attempts")), (429, Some("0")));
        let answer = app.chat("one/error-503-30").send().await;
        assert_eq!((answer.status, answer.refusal().1.as_str()), (503, "overloaded"));
    })
    .await;
}

/// One target cannot be told something, the other can.
#[tokio::test]
async fn untranslatable_requests_fail_over_to_another_target() {
    let policy = || Policy { strict_translation: true, ..Policy::default() };
    let settings = || TestSettings { policy: policy(), ..TestSettings::default() };
    each(settings, json!({"max_retries": 0}), async |app| {
        let body = json!({
            "name": "claude", "type": "anthropic", "base_url": app.upstream.base_url(),
            "api_key": "sk-of-the-tests", "models": ["text"],
        });
        app.post("/admin/api/v1/providers", body).send().await.expect_status(201);
        let ask = |model: &str| {
            let mut body = crate::app::question(model);
            body["logit_bias"] = json!({"50256": -100});
            app.post("/v1/chat/completions", body)
        };
        assert_eq!(ask("claude/text").send().await.status, 400);
        combo(&app, "best", &["claude/text", "one/text"]).await;
        assert_eq!(served(&ask("best").send().await), (200, "one/text", "1"));
        // An outage is not told as the client's mistake.
        combo(&app, "worse", &["one/error-500", "claude/text"]).await;
        assert_eq!(served(&ask("worse").send().await).0, 500);
    })
    .await;
}

#[tokio::test]
async fn a_disconnect_during_a_backoff_costs_nothing() {
    each(TestSettings::default, json!({}), async |app| {
        let waiting = app.chat("one/error-429-9").send();
        assert!(tokio::time::timeout(Duration::from_millis(300), waiting).await.is_err());
        let rows = app.receipts(1).await;
        assert_eq!((&rows[0]["status_code"], &rows[0]["total_tokens"]), (&json!(499), &json!(0)));
    })
    .await;
}
