//! Tests of accounting: one receipt per call, whatever happens to it, with the provider's figures.

use std::time::Duration;

use domain::clock::Clock as _;
use domain::ids::Entropy as _;
use futures_util::future::join_all;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use testkit::{FaultScript, SeededEntropy};

use crate::app::{self, TestApp};

#[tokio::test]
async fn the_ledger_equals_the_providers_bill() {
    app::each(async |app| {
        let models =
            ["text", "long", "tools", "parallel-tools", "reasoning", "cached", "empty", "usage-every-chunk"];
        for model in models {
            app.chat(model).send().await.expect_status(200);
            app.stream(model).send().await.expect_status(200);
        }
        let rows = app.receipts(2 * models.len()).await;
        for line in app.upstream.bill() {
            assert!(line.finished, "{line:?}");
            let row =
                rows.iter().find(|row| row["provider_id"] == line.id).unwrap_or_else(|| panic!("{line:?}"));
            let counts =
                ["input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens", "total_tokens"];
            let found = counts.map(|name| row[name].as_u64().unwrap());
            let total = line.prompt_tokens + line.completion_tokens;
            let billed = [
                line.prompt_tokens,
                line.completion_tokens,
                line.cached_tokens,
                line.reasoning_tokens,
                total,
            ];
            assert_eq!(found, billed, "{} {row:#}", line.model);
            assert_eq!(row["estimated"], false, "{}", line.model);
        }
    })
    .await;
}

#[tokio::test]
async fn without_figures_an_estimate_is_made_and_marked() {
    app::each(async |app| {
        for call in
            [app.chat("no-usage"), app.stream("no-usage"), app.chat("weird-usage"), app.stream("weird-usage")]
        {
            call.send().await.expect_status(200);
        }
        let rows = app.receipts(4).await;
        for row in &rows[..2] {
            assert_eq!(row["estimated"], true, "{row:#}");
            let bill = &app.upstream.bill()[0];
            let near = |name: &str, billed: u64| {
                let found = row[name].as_u64().unwrap();
                assert!(found > 0 && found < 4 * billed + 16, "{name}: {found} for {billed}");
            };
            near("input_tokens", bill.prompt_tokens);
            near("output_tokens", bill.completion_tokens);
        }
        for row in &rows[2..] {
            assert!(row["total_tokens"].as_i64().unwrap() >= 0, "{row:#}");
            assert!(
                row["caveat"].as_str().is_some() || row["estimated"] == true,
                "absurd figures are marked: {row:#}"
            );
        }
    })
    .await;
}

/// The random behaviour of one client: model, streaming, and when it disconnects.
struct ClientScript {
    model: &'static str,
    stream: bool,
    frames: usize,
    timeout: Duration,
}

impl ClientScript {
    fn draw(entropy: &SeededEntropy) -> Self {
        const MODELS: [&str; 10] = [
            "text",
            "drip-3",
            "slow-30",
            "hang",
            "hang-mid-stream",
            "cut-mid-stream",
            "error-500",
            "no-usage",
            "html",
            "error-in-stream",
        ];
        let mut bytes = [0; 4];
        entropy.fill(&mut bytes);
        Self {
            model: MODELS[usize::from(bytes[0]) % MODELS.len()],
            stream: bytes[1] % 3 > 0,
            frames: usize::from(bytes[2]) % 12,
            timeout: Duration::from_millis(u64::from(bytes[3]) / 4),
        }
    }

    async fn run(&self, app: &TestApp) {
        let call = if self.stream { app.stream(self.model) } else { app.chat(self.model) };
        let _ = tokio::time::timeout(self.timeout, async {
            let mut body = call.open().await.into_body();
            for _ in 0..self.frames {
                if !matches!(body.frame().await, Some(Ok(_))) {
                    break;
                }
            }
        })
        .await;
    }
}

#[tokio::test]
async fn every_call_leaves_one_receipt_wherever_it_is_dropped() {
    const CALLS: usize = 120;
    app::each(async |app| {
        let entropy = SeededEntropy::new(app.clock.now().micros() as u64);
        let scripts: Vec<ClientScript> = (0..CALLS).map(|_| ClientScript::draw(&entropy)).collect();
        join_all(scripts.iter().map(|script| script.run(&app))).await;
        let rows = app.receipts(CALLS).await;
        let ids: std::collections::BTreeSet<&str> =
            rows.iter().map(|row| row["id"].as_str().unwrap()).collect();
        assert_eq!(ids.len(), CALLS);
        for row in &rows {
            let status = row["status_code"].as_u64().unwrap();
            assert!([200, 499, 500, 502].contains(&status), "{row:#}");
        }
        check_finished(&app, &rows);
        let page = app.get("/metrics").send().await.text();
        assert!(page.contains("gatehouse_requests_in_flight 0\n"), "every call is over");
    })
    .await;
}

/// Asserts that a completed call with usage from the provider is not marked as estimated.
fn check_finished(app: &TestApp, rows: &[Value]) {
    for line in app.upstream.bill().iter().filter(|line| line.finished && line.model == "text") {
        let Some(row) = rows.iter().find(|row| row["provider_id"] == line.id && row["status_code"] == 200)
        else {
            continue;
        };
        assert_eq!(row["output_tokens"].as_u64(), Some(line.completion_tokens), "{row:#}");
        assert_eq!(row["estimated"], false, "{row:#}");
    }
}

#[tokio::test]
async fn missing_usage_fields_are_estimated_once() {
    app::each(async |app| {
        let said = "word ".repeat(80);
        let whole = |usage: Value| {
            let message = json!({"role": "assistant", "content": said});
            let choices = json!([{"index": 0, "message": message, "finish_reason": "stop"}]);
            json!({"id": "c", "object": "chat.completion", "choices": choices, "usage": usage}).to_string()
        };
        let chunk = |delta: Value, usage: Value| {
            let choices = json!([{"index": 0, "delta": delta}]);
            let chunk =
                json!({"id": "c", "object": "chat.completion.chunk", "choices": choices, "usage": usage});
            format!("data: {chunk}\n\n")
        };
        for usage in
            [json!({}), json!({"prompt_tokens": 7}), json!({"prompt_tokens": 7, "completion_tokens": 1e30})]
        {
            app.upstream.push(FaultScript::status(200, "application/json", whole(usage)));
            app.chat("text").send().await.expect_status(200);
        }
        // It says how long the question was, then what it has to say, and dies.
        let cut = [
            chunk(json!({"role": "assistant"}), json!({"prompt_tokens": 7})),
            chunk(json!({"content": said}), json!(null)),
        ];
        app.upstream.push(FaultScript::stream(cut));
        app.stream("text").send().await.expect_status(200);
        for row in &app.receipts(4).await {
            assert_eq!((&row["output_tokens"], &row["estimated"]), (&json!(100), &json!(true)), "{row:#}");
            assert!(row["input_tokens"].as_u64().unwrap() > 0, "{row:#}");
        }
    })
    .await;
}

#[tokio::test]
async fn refused_calls_are_booked_on_the_path_of_their_key() {
    app::each(async |app| {
        let (_, plain) = app.key(json!({"name": "plain"})).await;
        let (_, bound) = app.key(json!({"name": "bound", "user_path": "/team"})).await;
        for number in 0..5 {
            let path = format!("/team/guess-{number}");
            for key in [&plain, &bound] {
                let refused = app.chat("openai/text").body("not json").key(key);
                refused.header("x-user-path", &path).send().await.expect_status(400);
            }
        }
        app.chat("openai/text").key(&bound).header("x-user-path", "/team/a").send().await.expect_status(200);
        let rows = app.receipts(11).await;
        let paths: std::collections::BTreeSet<&str> =
            rows.iter().map(|row| row["user_path"].as_str().unwrap()).collect();
        assert_eq!(paths.into_iter().collect::<Vec<_>>(), ["/", "/team", "/team/a"]);
    })
    .await;
}
