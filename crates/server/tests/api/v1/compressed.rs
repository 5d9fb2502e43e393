//! Tests of providers that compress responses although `identity` was requested.

use std::io::Write as _;

use serde_json::json;
use testkit::{Answer, FaultScript, Step};

use crate::app;

const EVENTS: [&str; 4] = [
    r#"{"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":"Hello"}}]}"#,
    r#"{"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":", world"}}]}"#,
    r#"{"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
    r#"{"id":"c","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}}"#,
];

/// One gzip body, flushed after each part.
fn gzip(parts: &[String]) -> Vec<Step> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut steps = Vec::new();
    for part in parts {
        encoder.write_all(part.as_bytes()).unwrap();
        encoder.flush().unwrap();
        steps.push(Step::send(std::mem::take(encoder.get_mut())));
    }
    steps.push(Step::send(encoder.finish().unwrap()));
    steps
}

fn encoded(answer: Answer, coding: &str) -> FaultScript {
    FaultScript::Exact(Answer { headers: vec![("content-encoding".into(), coding.into())], ..answer })
}

#[tokio::test]
async fn compressed_streams_are_decoded_event_by_event() {
    app::each(async |app| {
        let mut parts: Vec<String> = EVENTS.iter().map(|data| format!("data: {data}\n\n")).collect();
        parts.push("data: [DONE]\n\n".into());
        let steps = gzip(&parts);
        app.upstream.push(encoded(Answer::stream(steps.clone()), "gzip"));
        let answer = app.stream("text").send().await.expect_status(200);
        assert!(answer.text().contains("Hello") && answer.text().contains(", world"), "{}", answer.text());
        assert!(answer.text().ends_with("data: [DONE]\n\n"));
        assert_eq!(answer.header("content-encoding"), None);
        let rows = app.receipts(1).await;
        assert_eq!((&rows[0]["input_tokens"], &rows[0]["output_tokens"]), (&json!(7), &json!(3)));
        // The first event must not wait for the rest.
        let mut held = steps;
        held.truncate(1);
        held.push(Step::Hang);
        app.upstream.push(encoded(Answer::stream(held), "gzip"));
        let listening = app.listen().await;
        let mut line = app::Line::open(listening.address).await;
        let mut question = app::question("text");
        question["stream"] = true.into();
        line.post_chat(&question).await;
        line.read_until("Hello").await;
    })
    .await;
}

#[tokio::test]
async fn compressed_documents_and_errors_are_decoded() {
    app::each(async |app| {
        let document = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "text",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}});
        let steps = gzip(&[document.to_string()]);
        app.upstream.push(encoded(Answer { steps, ..Answer::default() }, "gzip"));
        let answer = app.chat("text").send().await.expect_status(200);
        assert_eq!(answer.json()["choices"][0]["message"]["content"], "Hello");
        let error = json!({"error": {"message": "The seed is odd.", "type": "invalid_request_error", "param": "seed", "code": "odd"}});
        let steps = gzip(&[error.to_string()]);
        app.upstream.push(encoded(Answer { status: 400, steps, ..Answer::default() }, "gzip"));
        let refused = app.chat("text").send().await;
        assert_eq!((refused.status, &refused.json()["error"]["message"]), (400, &json!("The seed is odd.")));
    })
    .await;
}

#[tokio::test]
async fn unknown_and_broken_codings_are_named() {
    app::each(async |app| {
        for (coding, reason) in [("compress", "not supported"), ("gzip", "compression is broken")] {
            for stream in [true, false] {
                let steps = vec![Step::send("data: {}\n\n")];
                let answer =
                    if stream { Answer::stream(steps) } else { Answer { steps, ..Answer::default() } };
                app.upstream.push(encoded(answer, coding));
                let call = if stream { app.stream("text") } else { app.chat("text") };
                let refused = call.send().await;
                let error = &refused.json()["error"];
                assert_eq!((refused.status, &error["code"]), (502, &json!("upstream_invalid_response")));
                assert!(error["message"].as_str().unwrap().contains(reason), "{coding}: {error}");
            }
        }
    })
    .await;
}
