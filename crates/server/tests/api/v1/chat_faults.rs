//! Tests of `POST /v1/chat/completions` with faults: invalid requests, failing providers, broken connections.

use std::time::Duration;

use serde_json::{Value, json};

use crate::app::{self, Line, TestApp, TestSettings, question};

type Expected<'a> = (u16, &'a str, Option<&'a str>);

#[track_caller]
fn check(found: (u16, String, Option<String>), expected: Expected<'_>, of: &str) {
    assert_eq!((found.0, &*found.1, found.2.as_deref()), expected, "{of}");
}

async fn send_raw(app: &TestApp, body: impl Into<bytes::Bytes>) -> (u16, String, Option<String>) {
    app.post("/v1/chat/completions", json!({})).body(body).refusal().await
}

#[tokio::test]
async fn bodies_that_cannot_be_read() {
    app::each_with(
        || TestSettings {
            policy: pipeline::policy::Policy { body_limit: 64 * 1024, ..Default::default() },
            ..TestSettings::default()
        },
        async |app| {
            let deep = format!(r#"{{"model":"text","messages":{}1{}}}"#, "[".repeat(5000), "]".repeat(5000));
            let mut not_utf8 = br#"{"model":"text","messages":[{"role":"user","content":""#.to_vec();
            not_utf8.extend_from_slice(b"\xff\xfe\"}]}");
            let cases: Vec<(&str, Vec<u8>, Option<&str>)> = vec![
                ("empty", Vec::new(), None),
                ("cut off", br#"{"model":"text","messages":["#.to_vec(), None),
                ("words behind it", br#"{"model":"text","messages":[1]} x"#.to_vec(), None),
                ("an array", b"[]".to_vec(), None),
                ("deep", deep.into_bytes(), None),
                ("not UTF-8", not_utf8, None),
                ("a key twice", br#"{"model":"a","model":"b","messages":[1]}"#.to_vec(), Some("model")),
                (
                    "a key twice, spelt differently",
                    br#"{"model":"a","mod\u0065l":"b","messages":[1]}"#.to_vec(),
                    Some("model"),
                ),
            ];
            for (name, body, param) in cases {
                check(send_raw(&app, body).await, (400, "invalid_json", param), name);
            }
            let large = format!(r#"{{"model":"text","messages":["{}"]}}"#, "x".repeat(64 * 1024));
            check(send_raw(&app, large).await, (413, "request_too_large", None), "large");
            let multipart = app.chat("text").header("content-type", "multipart/form-data; boundary=x");
            check(multipart.refusal().await, (415, "unsupported_media_type", None), "multipart");
            app.chat("text").header("content-type", "text/plain").send().await.expect_status(200);
            assert_eq!(app.upstream.requests().len(), 1, "nothing of that was sent on");
            app.receipts(11).await;
        },
    )
    .await;
}

#[tokio::test]
async fn fields_that_cannot_be_right() {
    app::each(async |app| {
        let with = |field: &str, value: Value| {
            let mut body = question("text");
            body[field] = value;
            body
        };
        let cases = [
            (with("model", json!("")), (400, "model_required", Some("model"))),
            (with("model", Value::Null), (400, "model_required", Some("model"))),
            (with("model", json!(5)), (400, "invalid_parameter", Some("model"))),
            (with("messages", json!([])), (400, "invalid_parameter", Some("messages"))),
            (with("messages", json!("hi")), (400, "invalid_parameter", Some("messages"))),
            (with("stream", json!("yes")), (400, "invalid_parameter", Some("stream"))),
            (with("temperature", json!(2.1)), (400, "invalid_parameter", Some("temperature"))),
            (with("temperature", json!(-0.1)), (400, "invalid_parameter", Some("temperature"))),
            (with("temperature", json!("hot")), (400, "invalid_parameter", Some("temperature"))),
            (with("max_tokens", json!(0)), (400, "invalid_parameter", Some("max_tokens"))),
            (with("n", json!(0)), (400, "invalid_parameter", Some("n"))),
            (with("stream_options", json!(1)), (400, "invalid_parameter", Some("stream_options"))),
        ];
        for (body, expected) in cases {
            let shown = body.to_string();
            check(app.post("/v1/chat/completions", body).refusal().await, expected, &shown);
        }
        assert!(app.upstream.requests().is_empty());
        // The edges are inside.
        for temperature in [json!(0), json!(2), json!(2.0), Value::Null] {
            app.post("/v1/chat/completions", with("temperature", temperature))
                .send()
                .await
                .expect_status(200);
        }
    })
    .await;
}

#[tokio::test]
async fn an_unknown_model_is_rejected() {
    app::each(async |app| {
        app.refresher.discover_one(None, "openai").await;
        let answer = app.chat("openai/parallel-tool").send().await;
        answer.snapshot("chat model not found");
        assert!(answer.json()["error"]["message"].as_str().unwrap().contains("openai/parallel-tools"));
        assert!(app.upstream.requests().iter().all(|request| request.method == "GET"));
    })
    .await;
}

/// The behaviours of the provider, whole and streamed, and the errors that the client gets.
#[tokio::test]
async fn a_provider_that_fails() {
    app::each(async |app| {
        let cases: [(&str, Expected<'_>); 13] = [
            ("unauthorized", (502, "upstream_auth_failed", None)),
            ("error-403", (502, "upstream_auth_failed", None)),
            ("error-400", (400, "scripted", None)),
            ("error-404", (404, "model_not_found", None)),
            ("error-422", (422, "scripted", None)),
            ("error-429", (429, "rate_limit_exceeded", None)),
            ("error-500", (500, "upstream_error", None)),
            ("error-503", (503, "overloaded", None)),
            ("error-529", (503, "overloaded", None)),
            ("html", (502, "upstream_invalid_response", None)),
            ("bad-json", (502, "upstream_invalid_response", None)),
            ("empty-body", (502, "upstream_invalid_response", None)),
            ("reset-before-head", (502, "upstream_unreachable", None)),
        ];
        let mut calls = 0;
        for (model, expected) in cases {
            for stream in [false, true] {
                // Who was told to wait is not asked again: another model of the kind.
                let model = if model == "error-429" && stream { "error-429-9" } else { model };
                let call = if stream { app.stream(model) } else { app.chat(model) };
                let answer = call.send().await;
                let message = answer.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
                assert!(!message.contains("sk-"), "{model}: {message}");
                check(answer.refusal(), expected, &format!("{model}, stream: {stream}"));
                assert_eq!(answer.header("x-gateway-provider"), Some("openai"));
                assert_eq!(answer.header("x-gateway-attempts"), Some("1"), "{model}");
                calls += 1;
            }
        }
        let rows = app.receipts(calls).await;
        assert!(rows.iter().all(|row| row["status_code"].as_i64().unwrap() >= 400));
        for row in rows {
            // What was accepted and came to nothing is likely billed; what was refused is not.
            let begun = ["bad-json", "empty-body"].contains(&row["requested_model"].as_str().unwrap());
            assert_eq!(row["total_tokens"].as_u64() > Some(0), begun, "{row:#}");
            assert_eq!(row["estimated"], begun, "{row:#}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_rate_limit_keeps_its_date() {
    app::each(async |app| {
        let answer = app.chat("error-429-17").send().await;
        assert_eq!(answer.header("retry-after"), Some("17"));
        answer.snapshot("chat rate limited");
    })
    .await;
}

#[tokio::test]
async fn an_error_inside_a_success_is_an_error() {
    app::each(async |app| {
        for call in [app.stream("error-in-stream"), app.chat("error-in-stream")] {
            let answer = call.send().await;
            check(answer.refusal(), (500, "server_overloaded", None), "error inside a 200");
            assert_eq!(answer.json()["error"]["message"], "The server is overloaded.");
        }
        // A role alone is no content yet.
        let role = r#"{"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#;
        let error =
            r#"{"error":{"message":"Slow down.","type":"rate_limit_error","code":"rate_limit_exceeded"}}"#;
        let events = [role, error].map(|data| format!("data: {data}\n\n"));
        app.upstream.push(testkit::FaultScript::stream(events));
        check(app.stream("text").refusal().await, (429, "rate_limit_exceeded", None), "after the role");
    })
    .await;
}

#[tokio::test]
async fn a_provider_that_is_not_there() {
    app::each(async |app| {
        app.chat("text").send().await.expect_status(200);
        app.upstream.stop();
        tokio::time::sleep(Duration::from_millis(20)).await;
        for call in [app.chat("text"), app.stream("text")] {
            check(call.refusal().await, (502, "upstream_unreachable", None), "unreachable");
        }
        let rows = app.receipts(3).await;
        assert_eq!((&rows[2]["status_code"], &rows[2]["total_tokens"]), (&json!(502), &json!(0)));
    })
    .await;
}

fn impatient() -> TestSettings {
    let limit = Duration::from_millis(150);
    let policy = pipeline::policy::Policy {
        request_timeout: limit,
        first_event_timeout: limit,
        stream_idle_timeout: limit,
        ..Default::default()
    };
    TestSettings { policy, ..TestSettings::default() }
}

#[tokio::test]
async fn a_silent_provider_times_out() {
    app::each_with(impatient, async |app| {
        for call in [
            app.chat("hang"),
            app.chat("hang-after-head"),
            app.chat("hang-mid-stream"),
            app.stream("hang"),
            app.stream("hang-after-head"),
        ] {
            check(call.refusal().await, (504, "upstream_timeout", None), "silence");
        }
        let rows = app.receipts(5).await;
        assert!(rows.iter().all(|row| row["status_code"] == 504));
        // The lines to the provider are given up, not left open.
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(app.upstream.bill().iter().all(|line| line.cancelled), "{:?}", app.upstream.bill());
    })
    .await;
}

/// The rest of a refused body must not be read as the next request.
#[tokio::test]
async fn a_connection_stays_in_sync_after_a_refusal() {
    app::each_with(
        || TestSettings {
            policy: pipeline::policy::Policy { body_limit: 1024, ..Default::default() },
            ..TestSettings::default()
        },
        async |app| {
            let listening = app.listen().await;
            let mut line = Line::open(listening.address).await;
            let body = format!(r#"{{"model":"text","messages":["{}"]}}"#, "x".repeat(4096));
            line.post_chat(&serde_json::from_str(&body).unwrap()).await;
            let received = line.receive_all().await;
            assert!(received.starts_with("HTTP/1.1 413 "), "{received}");
            assert!(received.to_ascii_lowercase().contains("connection: close"), "{received}");
            assert_eq!(received.matches("HTTP/1.1 ").count(), 1);

            let mut line = Line::open(listening.address).await;
            line.post_chat(&json!({"model": "text"})).await;
            assert!(line.read_until("}}").await.starts_with("HTTP/1.1 400 "));
            line.clear();
            line.post_chat(&question("text")).await;
            assert!(line.read_until("chat.completion").await.starts_with("HTTP/1.1 200 "));
        },
    )
    .await;
}

fn narrow(change: impl Fn(&mut pipeline::policy::Policy)) -> impl Fn() -> TestSettings {
    move || {
        let mut settings = TestSettings::default();
        change(&mut settings.policy);
        settings
    }
}

/// A body whose length nobody announced is measured while it comes.
#[tokio::test]
async fn a_body_of_unknown_length_is_bounded_too() {
    app::each_with(narrow(|policy| policy.body_limit = 1024), async |app| {
        let listening = app.listen().await;
        let mut line = Line::open(listening.address).await;
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ntransfer-encoding: chunked\r\n\r\n",
            app::MASTER
        );
        line.send(head).await;
        for _ in 0..3 {
            line.send(format!("200\r\n{}\r\n", "x".repeat(512))).await;
        }
        let received = line.read_until("request_too_large").await;
        assert!(received.starts_with("HTTP/1.1 413 "), "{received}");
    })
    .await;
}

#[tokio::test]
async fn a_body_that_does_not_come() {
    app::each_with(narrow(|policy| policy.body_timeout = Duration::from_millis(100)), async |app| {
        let listening = app.listen().await;
        let head = |length: usize| {
            format!(
                "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-length: {length}\r\n\r\n{{\"model\"",
                app::MASTER
            )
        };
        let mut line = Line::open(listening.address).await;
        line.send(head(100)).await;
        let received = line.receive_all().await;
        assert!(received.starts_with("HTTP/1.1 408 ") && received.contains("\"request_timeout\""), "{received}");
        let mut line = Line::open(listening.address).await;
        line.send(head(100)).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
        drop(line);
        let rows = app.receipts(2).await;
        let statuses: Vec<_> = rows.iter().map(|row| row["status_code"].as_i64().unwrap()).collect();
        assert_eq!(statuses, [408, 499]);
        assert!(rows.iter().all(|row| row["total_tokens"] == 0), "nothing was sent to a provider");
        assert!(app.upstream.requests().is_empty());
    })
    .await;
}

#[tokio::test]
async fn an_answer_beyond_the_limit() {
    app::each_with(narrow(|policy| policy.answer_limit = 32 * 1024), async |app| {
        check(app.chat("huge-event-64").refusal().await, (502, "upstream_invalid_response", None), "huge");
        app.chat("huge-event-16").send().await.expect_status(200);
    })
    .await;
}

/// Kept connections that died in the meantime are no reason to fail.
#[tokio::test]
async fn a_provider_that_was_restarted() {
    app::each(async |app| {
        app.chat("text").send().await.expect_status(200);
        let port = app.upstream.address().port();
        app.upstream.stop();
        tokio::time::sleep(Duration::from_millis(50)).await;
        let _restarted = testkit::Upstream::start_on(port).await;
        app.chat("text").send().await.expect_status(200);
        app.stream("text").send().await.expect_status(200);
    })
    .await;
}

/// 499 is for the books: whoever can still hear it is told what is wrong with the body.
#[tokio::test]
async fn a_body_in_broken_chunks() {
    app::each(async |app| {
        let listening = app.listen().await;
        let mut line = Line::open(listening.address).await;
        let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\nauthorization: Bearer";
        line.send(format!("{head} {}\r\n\r\nZZZ\r\n", app::MASTER)).await;
        let received = line.receive_all().await;
        assert!(received.starts_with("HTTP/1.1 400 ") && received.contains("\"invalid_json\""), "{received}");
    })
    .await;
}
