//! Tests of the behaviours in every format.

use serde_json::{Value, json};

use super::socket::{RawResponse, ask_with, with};
use crate::upstream::{FaultScript, Upstream};

pub(super) const HEADERS: [(&str, &str); 5] = [
    ("authorization", "Bearer k"),
    ("x-api-key", "k"),
    ("anthropic-version", "2023-06-01"),
    ("x-goog-api-key", "k"),
    ("api-key", "k"),
];

pub(super) const DIALECTS: [&str; 6] = ["chat", "azure", "ollama", "responses", "messages", "generate"];
const PIXEL: &str = "AAAA";

/// A request in the given format, optionally with an image.
pub(super) fn request(dialect: &str, model: &str, stream: bool, image: bool) -> (String, Value) {
    let path = match dialect {
        "chat" => "/v1/chat/completions".to_owned(),
        "azure" => format!("/openai/deployments/{model}/chat/completions?api-version=2024-10-21"),
        "ollama" => "/ollama/v1/chat/completions".to_owned(),
        "responses" => "/v1/responses".to_owned(),
        "messages" => "/v1/messages".to_owned(),
        _ if stream => format!("/v1beta/models/{model}:streamGenerateContent?alt=sse"),
        _ => format!("/v1beta/models/{model}:generateContent"),
    };
    let url = format!("data:image/png;base64,{PIXEL}");
    let (mut body, part) = match dialect {
        "responses" => (
            json!({"model": model, "input": [{"role": "user", "content": [{"type": "input_text", "text": "hi you"}]}]}),
            json!({"type": "input_image", "image_url": url}),
        ),
        "messages" => (
            json!({"model": model, "max_tokens": 4000, "messages": [{"role": "user", "content": [{"type": "text", "text": "hi you"}]}]}),
            json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}),
        ),
        "generate" => (
            json!({"contents": [{"role": "user", "parts": [{"text": "hi you"}]}]}),
            json!({"inlineData": {"mimeType": "image/png", "data": PIXEL}}),
        ),
        _ => (
            json!({"model": model, "messages": [{"role": "user", "content": [{"type": "text", "text": "hi you"}]}]}),
            json!({"type": "image_url", "image_url": {"url": url}}),
        ),
    };
    if image {
        let turn = ["input", "messages", "contents"].iter().find(|name| body.get(**name).is_some()).unwrap();
        let content = if dialect == "generate" { "parts" } else { "content" };
        body[*turn][0][content].as_array_mut().unwrap().push(part);
    }
    if stream && dialect != "generate" {
        body["stream"] = json!(true);
    }
    (path, body)
}

pub(super) async fn ask(upstream: &Upstream, dialect: &str, model: &str, stream: bool) -> RawResponse {
    let (path, body) = request(dialect, model, stream, false);
    ask_with(upstream, "POST", &path, &HEADERS, &body.to_string()).await
}

/// The answer's text in any format.
fn text(answer: &Value) -> String {
    let places = [
        "/choices/0/message/content",
        "/output/0/content/0/text",
        "/content/0/text",
        "/candidates/0/content/parts/0/text",
    ];
    places.iter().find_map(|place| answer.pointer(place)?.as_str()).unwrap_or_default().to_owned()
}

#[tokio::test]
async fn every_format_has_the_same_text() {
    let upstream = Upstream::start().await;
    for dialect in DIALECTS {
        let answer = ask(&upstream, dialect, "text", false).await.expect_ok();
        assert_eq!(text(&answer), "Hello from the upstream. You said: hi you", "{dialect}");
        let line = upstream.bill().pop().unwrap();
        assert_eq!((line.prompt_tokens, line.completion_tokens), (10, 8), "{dialect}");
        assert!(line.finished && answer.to_string().contains(&line.id), "{dialect}");
        assert_eq!(
            text(&ask(&upstream, dialect, "long-3", false).await.expect_ok()),
            "word0 word1 word2 ",
            "{dialect}"
        );
        let (path, body) = request(dialect, "see", false, true);
        let seen = ask_with(&upstream, "POST", &path, &HEADERS, &body.to_string()).await.expect_ok();
        assert_eq!(text(&seen), "I see 1 images: image/png 3 bytes", "{dialect}");
        assert!(
            text(&ask(&upstream, dialect, "echo", false).await.expect_ok()).contains("hi you"),
            "{dialect}"
        );
        ask(&upstream, dialect, "empty", false).await.expect_ok();
    }
}

#[tokio::test]
async fn every_format_can_be_interrupted() {
    let upstream = Upstream::start().await;
    for dialect in DIALECTS {
        upstream.reset();
        assert!(ask(&upstream, dialect, "reset-before-head", true).await.broken, "{dialect}");
        assert!(ask(&upstream, dialect, "reset-mid-stream", true).await.broken, "{dialect}");
        let cut = ask(&upstream, dialect, "cut-mid-stream", true).await;
        assert!(cut.body.contains("from ") && cut.body.ends_with("UNFINISHED"), "{dialect}: {}", cut.body);
        let end = ask(&upstream, dialect, "eof-mid-stream", true).await;
        let ends = ["[DONE]", "message_stop", "response.completed", "finishReason"];
        assert!(end.body.contains("from ") && !ends.iter().any(|mark| end.body.contains(mark)), "{dialect}");
        let later = ask(&upstream, dialect, "error-after-content", true).await;
        assert!(
            later.chunks().last().unwrap().to_string().contains("verloaded"),
            "{dialect}: {}",
            later.body
        );
        let bill = upstream.bill();
        assert!(
            bill.len() == 4 && bill.iter().all(|line| !line.finished && line.completion_tokens == 3),
            "{bill:?}"
        );
        assert!(ask(&upstream, dialect, "html", true).await.body.starts_with("<html>"));
        assert!(ask(&upstream, dialect, "bad-json", true).await.chunks().is_empty());
        assert!(ask(&upstream, dialect, "empty-body", false).await.body.is_empty());
        let huge = ask(&upstream, dialect, "huge-event-100", true).await;
        assert!(huge.body.contains(&"a".repeat(100 * 1024)), "{dialect}");
    }
}

#[tokio::test]
async fn every_format_fails_alike() {
    let upstream = Upstream::start().await;
    for dialect in DIALECTS {
        for (model, status) in
            [("error-400", 400), ("error-500", 500), ("error-529", 529), ("unauthorized", 401)]
        {
            ask(&upstream, dialect, model, true).await.expect_error(status);
        }
        assert!(ask(&upstream, dialect, "error-429-7", false).await.head.contains("retry-after: 7"));
        let before = ask(&upstream, dialect, "error-in-stream", true).await;
        assert!(before.status == 200 && before.body.contains("verloaded") && !before.body.contains("Hello"));
        upstream.push(FaultScript::named("error-503"));
        ask(&upstream, dialect, "text", false).await.expect_error(503);
    }
    assert!(upstream.bill().is_empty());
}

#[tokio::test]
async fn usage_can_be_absent_or_implausible() {
    let upstream = Upstream::start().await;
    for dialect in DIALECTS {
        for stream in [false, true] {
            let absent = ask(&upstream, dialect, "no-usage", stream).await.body;
            assert!(!absent.contains("okens\":1") && !absent.contains("okenCount"), "{dialect}: {absent}");
            let weird = ask(&upstream, dialect, "weird-usage", stream).await.body;
            assert!(
                weird.contains("1e+30") || weird.contains("1e30") || stream && dialect.len() < 7,
                "{dialect}: {weird}"
            );
        }
    }
}

#[tokio::test]
async fn agents_are_answered_in_every_format() {
    let upstream = Upstream::start().await;
    let schema = json!({"type": "object", "properties": {"command": {"type": "array", "items": {"type": "string"}}}, "required": ["command"]});
    let order = "Do write the file b.txt with it's";
    for dialect in DIALECTS {
        let (path, body) = request(dialect, "agent", false, false);
        let tools = match dialect {
            "responses" => json!([{"type": "function", "name": "shell", "parameters": schema}]),
            "messages" => json!([{"name": "shell", "input_schema": schema}]),
            "generate" => {
                json!([{"functionDeclarations": [{"name": "shell", "parametersJsonSchema": schema}]}])
            }
            _ => json!([{"type": "function", "function": {"name": "shell", "parameters": schema}}]),
        };
        let body = with(&body, &json!({"tools": tools})).to_string().replace("hi you", order);
        let answer = ask_with(&upstream, "POST", &path, &HEADERS, &body).await.expect_ok();
        let written = answer.to_string().replace('\\', "");
        assert!(written.contains("printf '%s' 'it'''s' > 'b.txt'"), "{dialect}: {answer}");
    }
}
