//! Tests of messages and log lines about unavailable targets: open circuit breakers and cooldowns.

use serde_json::json;

use super::{combo, each};
use crate::app::{CapturedLog, TestSettings};

#[tokio::test]
async fn an_open_breaker_names_its_target_and_the_time_to_wait() {
    let resilience = json!({"max_retries": 0, "breaker_open_ms": 11_500});
    each(TestSettings::default, resilience, async |app| {
        let log = CapturedLog::start();
        for _ in 0..5 {
            app.chat("one/flaky-5").send().await.expect_status(500);
        }
        let answer = app.chat("one/flaky-5").send().await;
        let after = answer.header("retry-after").unwrap().to_owned();
        let expected =
            format!("Circuit breaker open for provider 'one', model 'flaky-5'; retry in {after} s.");
        assert_eq!(answer.refusal().1, "circuit_open");
        assert_eq!(answer.json()["error"]["message"], expected);
        assert!(["11", "12"].contains(&&*after), "{after}");
        let opened = log.lines_with(&["WARN circuit breaker opened"]);
        assert_eq!(opened.len(), 1, "{opened:?}");
        for field in ["provider=\"one\"", "model=\"flaky-5\"", "failures=5", "open_for=11."] {
            assert!(opened[0].contains(field), "{opened:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_cooldown_names_its_target_its_cause_and_the_time_to_wait() {
    each(TestSettings::default, json!({"max_retries": 0}), async |app| {
        let log = CapturedLog::start();
        for (model, cause) in
            [("error-429-17", "rate limit or quota"), ("error-503-30", "overload")]
        {
            app.chat(&format!("one/{model}")).send().await;
            let answer = app.chat(&format!("one/{model}")).send().await;
            assert_eq!(answer.header("x-gateway-attempts"), Some("0"));
            let after = answer.header("retry-after").unwrap();
            let expected = format!(
                "Provider 'one', model '{model}' is cooling down after a provider {cause} error; retry in {after} s."
            );
            assert_eq!(answer.json()["error"]["message"], expected);
            let started = log.lines_with(&["INFO cooldown started", &format!("model={model:?}")]);
            assert_eq!(started.len(), 1, "{started:?}");
        }
        // Of two, the one that is free first is named, and its time is told.
        combo(&app, "both", &["one/error-429-17", "two/error-429-9"]).await;
        app.chat("both").send().await.expect_status(429);
        let answer = app.chat("both").send().await;
        let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.starts_with("Provider 'two', model 'error-429-9' is cooling down"), "{message}");
        assert!(message.ends_with(&format!("retry in {} s.", answer.header("retry-after").unwrap())));
    })
    .await;
}
