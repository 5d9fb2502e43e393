//! Tests of streamed chat completions: events, heartbeats, error endings, and clients that disconnect.

use std::time::Duration;

use domain::clock::Clock as _;
use http_body_util::BodyExt as _;
use pipeline::policy::Policy;
use serde_json::{Value, json};

use crate::app::{self, Line, TestApp, TestSettings, check_envelope, question};

#[tokio::test]
async fn a_stream() {
    app::each(async |app| {
        let answer = app.stream("openai/text").send().await;
        answer.snapshot("chat stream");
        let chunks: Vec<Value> =
            answer.events().iter().filter_map(|data| serde_json::from_str(data).ok()).collect();
        assert_eq!(chunks[0]["choices"][0]["delta"]["role"], "assistant");
        assert_eq!(answer.events().last().unwrap(), "[DONE]");
        assert!(answer.content().contains("How are you today?"));
    })
    .await;
}

fn usage_chunks(answer: &app::Answer) -> usize {
    let chunks = answer.events().into_iter().filter_map(|data| serde_json::from_str::<Value>(&data).ok());
    chunks.filter(|chunk| chunk["choices"] == json!([]) && chunk["usage"].is_object()).count()
}

#[tokio::test]
async fn the_usage_chunk_is_sent_on_request_only() {
    app::each(async |app| {
        assert_eq!(usage_chunks(&app.stream("text").send().await), 0);
        let mut body = question("text");
        body["stream"] = json!(true);
        body["stream_options"] = json!({"include_usage": true});
        assert_eq!(usage_chunks(&app.post("/v1/chat/completions", body).send().await), 1);
        let rows = app.receipts(2).await;
        let tokens = |row: &Value| {
            (row["input_tokens"].clone(), row["output_tokens"].clone(), row["estimated"].clone())
        };
        assert_eq!(tokens(&rows[0]), tokens(&rows[1]), "hidden or not, it is counted");
        assert_eq!(rows[0]["estimated"], false);
    })
    .await;
}

#[tokio::test]
async fn a_first_chunk_without_choices_is_dropped() {
    app::each(async |app| {
        let answer = app.stream("azure-first").send().await.expect_status(200);
        let first: Value = serde_json::from_str(&answer.events()[0]).unwrap();
        assert_eq!(first["choices"][0]["delta"]["role"], "assistant");
        assert!(!answer.text().contains("prompt_filter_results"));
    })
    .await;
}

/// An upstream that ends without its end: the client is told in-band, and never that all is well.
#[tokio::test]
async fn a_stream_that_breaks_off() {
    app::each(async |app| {
        let models = ["reset-mid-stream", "cut-mid-stream", "eof-mid-stream", "error-after-content"];
        for model in models {
            let answer = app.stream(model).send().await.expect_status(200);
            let events = answer.events();
            let last: Value = serde_json::from_str(events.last().unwrap()).unwrap();
            check_envelope(&last);
            let code = if model == "error-after-content" {
                "server_overloaded"
            } else {
                "upstream_invalid_response"
            };
            assert_eq!(last["error"]["code"], code, "{model}");
            assert!(!answer.text().contains("[DONE]"), "{model}");
            assert!(!answer.text().contains("\"finish_reason\":\"stop\""), "{model}");
            assert!(!answer.content().is_empty(), "{model}: what came before the break was sent");
        }
        let rows = app.receipts(models.len()).await;
        for (row, model) in rows.iter().zip(models) {
            assert_eq!((&row["estimated"], &row["stream"]), (&json!(true), &json!(true)), "{model}");
            assert!(row["status_code"].as_i64().unwrap() >= 500, "{model}");
            assert!(row["output_tokens"].as_i64().unwrap() > 0, "{model}: what was delivered was paid for");
        }
    })
    .await;
}

fn with_policy(change: impl Fn(&mut Policy)) -> impl Fn() -> TestSettings {
    move || {
        let mut settings = TestSettings::default();
        change(&mut settings.policy);
        settings
    }
}

#[tokio::test]
async fn silence_is_filled_with_comments_between_events() {
    let settings = with_policy(|policy| policy.stream_heartbeat = Duration::from_millis(40));
    app::each_with(settings, async |app| {
        let mut response = app.stream("slow-200").open().await;
        assert_eq!(response.status(), 200, "the head is sent before there is content");
        let first = response.body_mut().frame().await.unwrap().unwrap().into_data().unwrap();
        assert_eq!(first, ": keep-alive\n\n");
        let rest = response.into_body().collect().await.unwrap().to_bytes();
        let rest = String::from_utf8(rest.to_vec()).unwrap();
        // The head was sent before anybody knew who would serve: the last comment says it.
        assert!(rest.ends_with("data: [DONE]\n\n: gatehouse model=openai/slow-200 attempts=1\n\n"), "{rest}");
        for event in rest.split_terminator("\n\n") {
            assert!(event.starts_with(": ") || event.starts_with("data: "), "torn: {event}");
        }
        let heartbeats = 1 + rest.matches(": keep-alive").count();
        assert!((2..=6).contains(&heartbeats), "{heartbeats} in 200 ms at 40 ms");
    })
    .await;
}

/// Once the head is out, a fault before any content cannot change the status any more.
#[tokio::test]
async fn a_fault_after_the_first_heartbeat_goes_in_band() {
    let settings = with_policy(|policy| {
        policy.stream_heartbeat = Duration::from_millis(40);
        policy.first_event_timeout = Duration::from_millis(200);
        policy.stream_idle_timeout = Duration::from_millis(200);
    });
    app::each_with(settings, async |app| {
        for model in ["hang", "hang-after-head", "hang-mid-stream"] {
            let answer = app.stream(model).send().await.expect_status(200);
            let last: Value = serde_json::from_str(answer.events().last().unwrap()).unwrap();
            assert_eq!(last["error"]["code"], "upstream_timeout", "{model}: {}", answer.text());
            assert!(answer.text().contains(": keep-alive\n\n"), "{model}");
            assert!(!answer.text().contains("[DONE]"), "{model}");
        }
    })
    .await;
}

#[tokio::test]
async fn an_event_beyond_the_limit_ends_the_stream() {
    let settings = with_policy(|policy| policy.event_limit = 32 * 1024);
    app::each_with(settings, async |app| {
        let answer = app.stream("huge-event-64").send().await;
        let (status, code, _) = answer.refusal();
        assert_eq!((status, &*code), (502, "upstream_invalid_response"));
        app.stream("huge-event-16").send().await.expect_status(200);
    })
    .await;
}

async fn cancelled_within(app: &TestApp, limit: Duration) -> Duration {
    let start = app.clock.tick();
    loop {
        if app.upstream.bill().iter().all(|line| line.cancelled) {
            return app.clock.tick() - start;
        }
        assert!(
            app.clock.tick() - start < limit,
            "not cancelled within {limit:?}: {:?}",
            app.upstream.bill()
        );
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn a_client_that_leaves_cancels_the_call_upstream() {
    app::each(async |app| {
        let listening = app.listen().await;
        let mut line = Line::open(listening.address).await;
        let mut body = question("drip-20");
        body["stream"] = json!(true);
        line.post_chat(&body).await;
        line.read_until("word2 ").await;
        drop(line);
        cancelled_within(&app, Duration::from_millis(100)).await;
        let rows = app.receipts(1).await;
        assert_eq!((&rows[0]["status_code"], &rows[0]["estimated"]), (&json!(499), &json!(true)));
        assert!(rows[0]["input_tokens"].as_i64().unwrap() > 0);
        assert!(rows[0]["output_tokens"].as_i64().unwrap() > 0);
    })
    .await;
}

#[tokio::test]
async fn a_client_that_leaves_before_the_answer_cancels_it_too() {
    app::each(async |app| {
        let listening = app.listen().await;
        for stream in [false, true] {
            let mut line = Line::open(listening.address).await;
            let mut body = question("hang");
            body["stream"] = json!(stream);
            line.post_chat(&body).await;
            let sent = 1 + usize::from(stream);
            while app.upstream.bill().len() < sent {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            drop(line);
            cancelled_within(&app, Duration::from_millis(100)).await;
        }
        let rows = app.receipts(2).await;
        assert!(rows.iter().all(|row| row["status_code"] == 499 && row["estimated"] == true), "{rows:#?}");
    })
    .await;
}

/// A drain lets running streams finish and takes no new ones.
#[tokio::test]
async fn a_stop_waits_for_running_streams() {
    app::each(async |app| {
        let listening = app.listen().await;
        let mut line = Line::open(listening.address).await;
        let mut body = question("drip-20");
        body["stream"] = json!(true);
        line.post_chat(&body).await;
        line.read_until("word1 ").await;
        listening.stop.send(true).unwrap();
        assert!(line.read_until("[DONE]").await.contains("word19 "));
        assert_eq!(listening.serving.await.unwrap(), 0, "no connection had to be cut");
        let ready = app.get("/ready").send().await;
        assert_eq!((ready.status, &ready.json()["status"]), (503, &json!("draining")));
        assert!(tokio::net::TcpStream::connect(listening.address).await.is_err());
        assert_eq!(app.receipts(1).await[0]["status_code"], 200);
    })
    .await;
}
