//! Tests of large and hostile bodies: limits on parsing and on memory.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use crate::app::{self, Line, TestSettings};

/// A JSON array of that many small numbers.
fn numbers(count: usize) -> String {
    format!("[{}1]", "1,".repeat(count - 1))
}

/// A request in each API format with `value` inside the schema of a tool, for a model of that provider.
fn requests(provider: &str, value: &str) -> [(&'static str, String); 4] {
    let schema = format!(r#"{{"type":"object","x":{value}}}"#);
    let user = r#"[{"role":"user","content":"Hi"}]"#;
    let function = format!(r#"[{{"type":"function","function":{{"name":"f","parameters":{schema}}}}}]"#);
    let flat = format!(r#"[{{"type":"function","name":"f","parameters":{schema}}}]"#);
    let anthropic = format!(r#"[{{"name":"f","input_schema":{schema}}}]"#);
    [
        (
            "/v1/chat/completions",
            format!(r#"{{"model":"{provider}/text","messages":{user},"tools":{function}}}"#),
        ),
        ("/v1/responses", format!(r#"{{"model":"{provider}/text","input":"Hi","tools":{flat}}}"#)),
        (
            "/v1/messages",
            format!(r#"{{"model":"{provider}/text","max_tokens":9,"messages":{user},"tools":{anthropic}}}"#),
        ),
        (
            "/v1/messages/count_tokens",
            format!(r#"{{"model":"{provider}/text","messages":{user},"tools":{anthropic}}}"#),
        ),
    ]
}

#[tokio::test]
async fn a_tree_of_too_many_values_is_refused_with_the_bound() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let many = numbers(wire::json::ELEMENT_LIMIT + 1);
        let bound = format!("at most {}", wire::json::ELEMENT_LIMIT);
        let translated =
            [("openai", "/v1/messages"), ("anthropic", "/v1/chat/completions"), ("anthropic", "/v1/responses")];
        for (provider, wanted) in translated {
            let requests = requests(provider, &many);
            let (path, body) = requests.into_iter().find(|(path, _)| *path == wanted).unwrap();
            let answer = app.post(path, json!({})).body(body).send().await.expect_status(400);
            assert!(answer.text().contains(&bound), "{path}: {}", answer.text());
        }
        let (path, body) = ("/v1beta/models/text:generateContent", format!(
            r#"{{"provider":"openai","contents":[{{"role":"user","parts":[{{"text":"Hi"}}]}}],"x":{many}}}"#
        ));
        let answer = app.post(path, json!({})).body(body).send().await.expect_status(400);
        assert!(answer.text().contains(&bound), "{}", answer.text());
        let alias = format!(r#"{{"target":"openai/text","x":{many}}}"#);
        let answer = app.put("/admin/api/v1/aliases/a", json!({})).body(alias).send().await.expect_status(400);
        assert!(answer.text().contains(&bound), "{}", answer.text());
        assert_eq!(app.gateway.body_work.held_bytes(), 0);
    })
    .await;
}

#[tokio::test]
async fn forwarded_bodies_may_have_any_number_of_values() {
    app::each(async |app| {
        let many = numbers(wire::json::ELEMENT_LIMIT + 1);
        let [(path, body), ..] = requests("openai", &many);
        app.post(path, json!({})).body(body.clone()).send().await.expect_status(200);
        let sent: Value = serde_json::from_slice(&app.upstream.requests().last().unwrap().body).unwrap();
        assert_eq!(sent["tools"], serde_json::from_str::<Value>(&body).unwrap()["tools"]);
    })
    .await;
}

#[tokio::test]
async fn large_bodies_are_translated_like_small_ones() {
    let settings = || {
        let mut settings = TestSettings::every_dialect();
        settings.policy.audit.enabled = true;
        settings
    };
    app::each_with(settings, async |app| {
        let mut text = String::new();
        for number in 0..40_000 {
            write!(text, "word{number} ").unwrap();
        }
        let quoted = json!(text).to_string();
        for provider in ["openai", "anthropic", "gemini"] {
            for (path, body) in requests(provider, &quoted) {
                assert!(body.len() > pipeline::services::body_work::LARGE_BODY);
                let answer = app.post(path, json!({})).body(body).send().await;
                assert_eq!(answer.status, 200, "{provider} {path}: {}", answer.text());
            }
        }
        assert_eq!(app.gateway.body_work.held_bytes(), 0);
    })
    .await;
}

#[tokio::test]
async fn bodies_beyond_the_memory_for_all_get_503() {
    let settings = || {
        let mut settings = TestSettings::default();
        settings.policy.body_memory_limit = 200 * 1024;
        settings
    };
    app::each_with(settings, async |app| {
        let text = "x".repeat(300 * 1024);
        let paths = ["/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1/embeddings"];
        let admin = "/admin/api/v1/explain";
        for path in paths.into_iter().chain([admin]) {
            let body = json!({"model": "openai/text", "messages": [{"role": "user", "content": text}]});
            let answer = app.post(path, body).send().await.expect_status(503);
            assert!(answer.text().contains("overload"), "{path}: {}", answer.text());
            assert_eq!(answer.header("retry-after"), Some("1"), "{path}");
            assert_eq!(app.gateway.body_work.held_bytes(), 0, "{path}");
        }
        app.chat("openai/text").send().await.expect_status(200);
    })
    .await;
}

#[tokio::test]
async fn large_answers_are_passed_on_and_translated_whole() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let text = "x".repeat(2 * pipeline::services::body_work::LARGE_BODY);
        let messages = json!([{"role": "user", "content": text}]);
        for provider in ["openai", "anthropic"] {
            let model = format!("{provider}/text");
            for (path, body) in [
                ("/v1/chat/completions", json!({"model": model, "messages": messages})),
                ("/v1/responses", json!({"model": model, "input": text})),
                ("/v1/messages", json!({"model": model, "max_tokens": 9, "messages": messages})),
            ] {
                let key = format!("{provider}{path}");
                for replayed in [None, Some("true")] {
                    let call = app.post(path, body.clone()).header("idempotency-key", &key);
                    let answer = call.send().await.expect_status(200);
                    assert!(answer.text().contains(&text), "{path} at {provider}");
                    assert_eq!(answer.header("idempotent-replayed"), replayed, "{path} at {provider}");
                }
            }
        }
        assert_eq!(app.gateway.body_work.held_bytes(), 0);
    })
    .await;
}

/// Bodies that a connection collects before the handler reads them count as well.
#[tokio::test]
async fn bodies_that_arrive_slowly_are_counted() {
    const PART: usize = 100 * 1024;
    let settings = || {
        let mut settings = TestSettings::default();
        settings.policy.body_memory_limit = 2 * PART as u64;
        settings
    };
    app::each_with(settings, async |app| {
        let listening = app.listen().await;
        let held = |expected: u64| {
            let gateway = app.gateway.clone();
            async move {
                let begun = tokio::time::Instant::now();
                while gateway.body_work.held_bytes() != expected {
                    let held = gateway.body_work.held_bytes();
                    assert!(begun.elapsed() < Duration::from_secs(10), "{held} instead of {expected} bytes");
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }
        };
        let open = async || {
            let mut line = Line::open(listening.address).await;
            let head = format!(
                "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-length: {}\r\n\r\n",
                app::MASTER,
                PART + 1024
            );
            line.send(head + &" ".repeat(PART)).await;
            line
        };
        let first = open().await;
        held(PART as u64).await;
        let second = open().await;
        held(2 * PART as u64).await;
        let answer = open().await.read_until("\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
        held(2 * PART as u64).await;
        drop((first, second));
        held(0).await;
    })
    .await;
}
