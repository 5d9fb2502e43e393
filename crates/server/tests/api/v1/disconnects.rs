//! Tests of clients that disconnect between the last content and the usage: the whole response is charged.

use std::time::Duration;

use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use testkit::{Answer as Scripted, FaultScript, Step};

use crate::app::{self, Call, TestApp, TestSettings};

const PAUSE: Duration = Duration::from_millis(600);

const CHAT: [&str; 3] = [
    "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hi\"},\"finish_reason\":null}]}\n\n",
    "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
    "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":9000,\"total_tokens\":9010,\"completion_tokens_details\":{\"reasoning_tokens\":8990}}}\n\ndata: [DONE]\n\n",
];

const MESSAGES: [&str; 3] = [
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"usage\":{\"input_tokens\":10,\"output_tokens\":1}}}\n\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\nevent: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":9000}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
];

fn streaming(model: &str) -> Value {
    json!({"model": model, "stream": true, "max_tokens": 9100, "messages": [{"role": "user", "content": "Hi"}]})
}

/// Reads at least `until` bytes and the events that arrive with them, then disconnects during the pause.
async fn leave_after(call: Call<'_>, until: usize) {
    let mut response = call.open().await;
    assert_eq!(response.status(), 200);
    let mut seen = 0;
    while seen < until {
        let Some(Ok(frame)) = response.body_mut().frame().await else { panic!("ended after {seen}") };
        seen += frame.into_data().map_or(0, |data| data.len());
    }
    tokio::time::sleep(PAUSE / 4).await;
    // What came together with the last frame is taken, too.
    let more = tokio::time::timeout(PAUSE / 8, response.body_mut().frame());
    drop(more.await);
    drop(response);
}

fn script(events: [&'static str; 3]) -> FaultScript {
    let [content, finish, usage] = events;
    let steps = vec![Step::send(content), Step::send(finish), Step::Wait(PAUSE), Step::send(usage)];
    FaultScript::Exact(Scripted::stream(steps))
}

async fn last_row(app: &TestApp, count: usize) -> Value {
    app.receipts(count).await.last().unwrap().clone()
}

#[tokio::test]
async fn the_usage_behind_the_last_content_is_booked() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let cases = [
            ("/v1/chat/completions", "openai/m", CHAT),
            ("/p/openai/v1/chat/completions", "m", CHAT),
            ("/v1/messages", "anthropic/claude-sonnet-4-5", MESSAGES),
            ("/p/anthropic/v1/messages", "claude-sonnet-4-5", MESSAGES),
            ("/v1/chat/completions", "anthropic/claude-sonnet-4-5", MESSAGES),
            ("/v1/messages", "groq/m", CHAT),
        ];
        for (index, (path, model, events)) in cases.into_iter().enumerate() {
            app.upstream.push(script(events));
            leave_after(app.post(path, streaming(model)), 10).await;
            let row = last_row(&app, index + 1).await;
            let found = (&row["output_tokens"], &row["estimated"], &row["status_code"]);
            assert_eq!(found, (&json!(9000), &json!(false), &json!(499)), "{path} {model} {row:#}");
        }
    })
    .await;
}

#[tokio::test]
async fn the_usage_at_the_end_of_a_whole_answer_is_booked() {
    app::each(async |app| {
        let steps = vec![
            Step::send(
                r#"{"id":"c1","model":"m","choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}],"#,
            ),
            Step::Wait(PAUSE),
            Step::send(r#""usage":{"prompt_tokens":10,"completion_tokens":9000}}"#),
        ];
        app.upstream.push(FaultScript::Exact(Scripted { steps, ..Scripted::default() }));
        let body = json!({"model": "m", "messages": []});
        leave_after(app.post("/p/openai/v1/chat/completions", body), 10).await;
        let row = last_row(&app, 1).await;
        assert_eq!((&row["output_tokens"], &row["estimated"]), (&json!(9000), &json!(false)), "{row:#}");
    })
    .await;
}

#[tokio::test]
async fn reading_the_usage_after_a_disconnect_is_limited() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let noise = bytes::Bytes::from(format!(": {}\n\n", "x".repeat(100_000)));
        for (index, path) in ["/v1/chat/completions", "/p/openai/v1/chat/completions"].into_iter().enumerate()
        {
            let repeated =
                Step::Repeat { bytes: noise.clone(), pause: Duration::from_millis(5), completion: 0 };
            let steps = vec![Step::send(CHAT[0]), Step::send(CHAT[1]), Step::Wait(PAUSE), repeated];
            app.upstream.push(FaultScript::Exact(Scripted::stream(steps)));
            let model = if index == 0 { "openai/m" } else { "m" };
            leave_after(app.post(path, streaming(model)), 10).await;
            let before = tokio::time::Instant::now();
            let row = last_row(&app, index + 1).await;
            assert!(before.elapsed() < Duration::from_secs(4), "{:?}", before.elapsed());
            assert_eq!((&row["estimated"], &row["status_code"]), (&json!(true), &json!(499)), "{row:#}");
        }
    })
    .await;
}
