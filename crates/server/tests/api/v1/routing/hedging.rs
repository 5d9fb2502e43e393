//! Tests of hedging: a second attempt when the first target is slow.

use std::time::Duration;

use pipeline::policy::Policy;
use serde_json::json;

use super::{combo, each, served};
use crate::app::{TestApp, TestSettings};

fn hedging(share: f64) -> impl Fn() -> TestSettings {
    move || TestSettings {
        policy: Policy { hedge_max_share: share, ..Policy::default() },
        ..TestSettings::default()
    }
}

/// The number of calls after which the p95 latency of a target is known. None of them can be hedged.
const WARM_UP: usize = 20;

async fn warm_up(app: &TestApp) {
    for _ in 0..WARM_UP {
        assert_eq!(served(&app.chat("best").send().await), (200, "one/text", "1"));
    }
}

#[tokio::test]
async fn the_faster_of_two_answers_and_the_other_is_cancelled() {
    each(hedging(0.5), json!({}), async |app| {
        combo(&app, "best", &["one/text", "two/text"]).await;
        warm_up(&app).await;
        for call in [app.chat("best"), app.stream("best")] {
            app.upstream.push(testkit::FaultScript::named("slow-3000"));
            let begun = app.gateway.clock.tick();
            let answer = call.send().await;
            assert_eq!(served(&answer), (200, "two/text", "2"), "{}", answer.text());
            assert!(app.gateway.clock.tick() - begun < Duration::from_secs(2));
        }
        let rows = app.receipts(WARM_UP + 2).await;
        assert!(rows.iter().all(|row| row["status_code"] == 200 && row["estimated"] == false), "{rows:#?}");
        assert_eq!(rows[WARM_UP + 1]["provider_name"], "two");
    })
    .await;
}

#[tokio::test]
async fn hedges_are_a_share_of_the_calls() {
    each(hedging(0.05), json!({}), async |app| {
        combo(&app, "best", &["one/text", "two/text"]).await;
        warm_up(&app).await;
        let mut hedged = 0;
        for _ in 0..4 {
            app.upstream.push(testkit::FaultScript::named("slow-600"));
            let answer = app.chat("best").send().await;
            hedged += i32::from(answer.header("x-gateway-attempts") == Some("2"));
        }
        assert_eq!(hedged, 1, "of 24 calls 5 % may be sent twice");
    })
    .await;
}

#[tokio::test]
async fn a_hedge_loser_that_had_begun_is_charged_for_its_prompt() {
    each(hedging(0.5), json!({}), async |app| {
        combo(&app, "best", &["one/text", "two/text"]).await;
        warm_up(&app).await;
        for (call, behaviour) in
            [(app.chat("best"), "hang-after-head"), (app.stream("best"), "hang-before-content")]
        {
            app.upstream.push(testkit::FaultScript::named(behaviour));
            assert_eq!(served(&call.send().await), (200, "two/text", "2"), "{behaviour}");
        }
        let rows = app.receipts(WARM_UP + 2).await;
        let input = |row: &serde_json::Value| row["input_tokens"].as_u64().unwrap();
        for row in &rows[WARM_UP..] {
            assert_eq!(
                (&row["estimated"], &row["caveat"]),
                (&json!(true), &json!("an answer was lost; unpriced")),
                "{row:#}"
            );
            assert!(
                input(row) > input(&rows[0]) && row["output_tokens"] == rows[0]["output_tokens"],
                "{row:#}"
            );
        }
    })
    .await;
}

#[tokio::test]
async fn a_disconnect_from_two_started_attempts_charges_both() {
    each(hedging(0.5), json!({}), async |app| {
        combo(&app, "best", &["one/text", "two/text"]).await;
        let leave = async |behaviours: &[&str]| {
            behaviours.iter().for_each(|behaviour| app.upstream.push(testkit::FaultScript::named(behaviour)));
            let expected = app.upstream.requests().len() + behaviours.len();
            let all_have_begun = async {
                while app.upstream.requests().len() < expected {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                // The heads of the answers need a moment to reach the gateway.
                tokio::time::sleep(Duration::from_millis(500)).await;
            };
            tokio::select! {
                answer = app.chat("best").send() => panic!("{behaviours:?}: {}", answer.text()),
                () = all_have_begun => {}
            }
        };
        // Nobody knows yet what is slow.
        leave(&["hang-after-head"]).await;
        warm_up(&app).await;
        leave(&["hang-after-head", "hang-after-head"]).await;
        leave(&["hang", "hang-after-head"]).await;
        let rows = app.receipts(WARM_UP + 3).await;
        let (both, one) = (&rows[WARM_UP + 1], &rows[WARM_UP + 2]);
        let input = |row: &serde_json::Value| row["input_tokens"].as_u64().unwrap();
        assert!(input(&rows[0]) > 0, "{:#}", rows[0]);
        assert_eq!(input(both), 2 * input(one), "{both:#}");
        for row in [both, one] {
            assert_eq!(row["status_code"], 499, "{row:#}");
            assert_eq!(row["caveat"], "an answer was lost; unpriced");
        }
    })
    .await;
}
