//! Tests of responses that a provider started and no client received: they are charged together with the delivered one.

use std::time::Duration;

use pipeline::policy::Policy;
use serde_json::{Value, json};
use testkit::FaultScript;

use super::{combo, served};
use crate::app::{self, TestApp, TestSettings};

/// US dollars per input and output token of the expensive target.
const DEAR: (f64, f64) = (2.5e-6, 10e-6);

fn settings() -> TestSettings {
    let short = Duration::from_millis(400);
    let policy = Policy { first_event_timeout: short, stream_idle_timeout: short, ..Policy::default() };
    TestSettings { policy, loopback_listener: true, vendors: &[], ..TestSettings::default() }
}

/// Runs a test with an expensive target and a cheap fallback.
async fn each(test: impl AsyncFn(TestApp)) {
    each_with(settings, test).await;
}

async fn each_with(settings: impl Fn() -> TestSettings, test: impl AsyncFn(TestApp)) {
    app::each_with(settings, async |app| {
        for name in ["one", "two"] {
            let body = json!({
                "name": name, "type": "openai", "base_url": app.upstream.base_url(), "api_key": "sk-of-the-tests",
                "resilience": {"max_retries": 0, "breaker_failures": 100, "total_timeout_ms": 500},
                "models": ["gpt-4o", "gpt-4o-mini"],
            });
            app.post("/admin/api/v1/providers", body).send().await.expect_status(201);
        }
        combo(&app, "best", &["one/gpt-4o", "two/gpt-4o-mini"]).await;
        test(app).await;
    })
    .await;
}

fn number(row: &Value, name: &str) -> f64 {
    row[name].as_f64().unwrap_or_else(|| panic!("{name}: {row:#}"))
}

/// The input and output tokens of a row beyond those of the call it is compared with.
fn beyond(row: &Value, plain: &Value) -> (f64, f64) {
    let more = |name| number(row, name) - number(plain, name);
    let (input, output) = (more("input_tokens"), more("output_tokens"));
    assert!((more("input_cost") - input * DEAR.0).abs() < 1e-8, "at its own price: {row:#}");
    assert!((more("output_cost") - output * DEAR.1).abs() < 1e-8, "at its own price: {row:#}");
    (input, output)
}

async fn ask(app: &TestApp, stream: bool) -> app::Answer {
    let call = if stream { app.stream("best") } else { app.chat("best") };
    call.send().await
}

#[tokio::test]
async fn an_answer_that_was_lost_is_booked_at_its_own_price() {
    each(async |app| {
        app.chat("two/gpt-4o-mini").send().await.expect_status(200);
        let cases = [
            (false, "truncated-json"),
            (false, "bad-json"),
            (false, "cut-mid-stream"),
            (false, "reset-mid-stream"),
            (false, "hang-after-head"),
            (false, "wrong-type"),
            (true, "cut-before-content"),
            (true, "hang-before-content"),
            (true, "eof-before-content"),
            (true, "bad-sse"),
        ];
        for (stream, behaviour) in cases {
            app.upstream.push(FaultScript::named(behaviour));
            assert_eq!(served(&ask(&app, stream).await), (200, "two/gpt-4o-mini", "2"), "{behaviour}");
        }
        let rows = app.receipts(1 + cases.len()).await;
        let (plain, rows) = rows.split_first().unwrap();
        assert_eq!((&plain["estimated"], &plain["caveat"]), (&json!(false), &Value::Null));
        for (row, (stream, behaviour)) in rows.iter().zip(cases) {
            assert_eq!(row["caveat"], "an answer was lost", "{behaviour}: {row:#}");
            assert_eq!((&row["estimated"], &row["status_code"]), (&json!(true), &json!(200)), "{behaviour}");
            let (input, output) = beyond(row, plain);
            assert!(input > 0.0 && input < 8.0 * number(plain, "input_tokens"), "{behaviour}: {row:#}");
            let came = !stream && !["hang-after-head", "wrong-type"].contains(&behaviour);
            assert_eq!(output > 0.0, came, "{behaviour}: {row:#}");
        }
    })
    .await;
}

#[tokio::test]
async fn reported_usage_of_a_lost_answer_is_used() {
    each(async |app| {
        app.chat("two/gpt-4o-mini").send().await.expect_status(200);
        let usage =
            json!({"id": "x", "usage": {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107}});
        app.upstream.push(FaultScript::status(200, "application/json", usage.to_string()));
        assert_eq!(served(&app.chat("best").send().await), (200, "two/gpt-4o-mini", "2"));
        let rows = app.receipts(2).await;
        assert_eq!(beyond(&rows[1], &rows[0]), (100.0, 7.0));
        assert_eq!((&rows[1]["caveat"], &rows[1]["estimated"]), (&json!("an answer was lost"), &json!(true)));
    })
    .await;
}

#[tokio::test]
async fn attempts_without_output_cost_nothing() {
    each(async |app| {
        let behaviours = ["error-500", "error-in-stream", "html", "reset-before-head", "hang"];
        for behaviour in behaviours {
            for stream in [false, true] {
                app.upstream.push(FaultScript::named(behaviour));
                assert_eq!(served(&ask(&app, stream).await), (200, "two/gpt-4o-mini", "2"), "{behaviour}");
            }
        }
        for row in app.receipts(2 * behaviours.len()).await {
            assert_eq!((&row["estimated"], &row["caveat"]), (&json!(false), &Value::Null), "{row:#}");
            assert_eq!(number(&row, "input_tokens"), 12.0);
        }
    })
    .await;
}

#[tokio::test]
async fn lost_attempts_are_booked_after_failure_or_disconnect() {
    each(async |app| {
        let push = |behaviours: [&str; 2]| {
            behaviours.iter().for_each(|behaviour| app.upstream.push(FaultScript::named(behaviour)));
        };
        push(["truncated-json", "error-500"]);
        assert_eq!(ask(&app, false).await.status, 500);
        push(["truncated-json", "truncated-json"]);
        assert_eq!(ask(&app, false).await.status, 502);
        push(["truncated-json", "hang"]);
        let left = tokio::time::timeout(Duration::from_millis(300), ask(&app, false)).await;
        assert!(left.is_err());
        let rows = app.receipts(3).await;
        let inputs: Vec<f64> = rows.iter().map(|row| number(row, "input_tokens")).collect();
        assert!(inputs[0] > 0.0, "{rows:#?}");
        assert!(inputs[1] == 2.0 * inputs[0] && inputs[2] > inputs[0], "{rows:#?}");
        assert!(number(&rows[1], "output_tokens") > number(&rows[0], "output_tokens"));
        for (row, status) in rows.iter().zip([500, 502, 499]) {
            assert_eq!((&row["status_code"], &row["estimated"]), (&json!(status), &json!(true)), "{row:#}");
            assert_eq!(row["caveat"], "an answer was lost");
            assert!(number(row, "total_cost") > 0.0);
        }
    })
    .await;
}

#[tokio::test]
async fn a_budget_too_small_for_another_attempt_ends_the_call_with_the_first_error() {
    let settings = || TestSettings { edition: TestSettings::enterprise().edition, ..settings() };
    each_with(settings, async |app| {
        let budget = async |amount: f64| {
            let call = app.put("/admin/api/v1/budgets/%2F/daily", json!({"amount": amount}));
            call.send().await.expect_status(200);
        };
        let ask = async |behaviour: &str| {
            app.upstream.push(FaultScript::named(behaviour));
            let mut body = app::question("best");
            // A tenth of a cent of the dear one.
            body["max_tokens"] = json!(100);
            app.post("/v1/chat/completions", body).send().await
        };
        budget(0.002).await;
        assert_eq!(served(&ask("error-500").await), (200, "two/gpt-4o-mini", "2"), "who refuses is not paid");
        let lost = ask("truncated-json").await;
        assert_eq!((lost.status, lost.header("x-gateway-attempts")), (502, Some("1")), "{}", lost.text());
        assert_eq!(lost.refusal().1, "upstream_invalid_response");
        budget(1.0).await;
        assert_eq!(served(&ask("truncated-json").await), (200, "two/gpt-4o-mini", "2"));
        let rows = app.receipts(3).await;
        assert!(
            number(&rows[1], "total_cost") > 0.0 && number(&rows[1], "total_cost") < 0.001,
            "{:#}",
            rows[1]
        );
    })
    .await;
}
