//! Tests of the faults, each in every format.

use std::time::Duration;

use super::every_dialect::{DIALECTS, HEADERS, ask, request};
use super::socket::{self, ask_with, send_with};
use crate::upstream::Upstream;

/// Terminal events and content, in any format.
const ENDS: [&str; 4] = ["[DONE]", "message_stop", "response.completed", "finishReason"];
const WORDS: [&str; 2] = ["Hello", "from "];

#[tokio::test]
async fn faults_before_content_send_no_text() {
    let upstream = Upstream::start().await;
    for dialect in DIALECTS {
        upstream.reset();
        for stream in [true, false] {
            let reset = ask(&upstream, dialect, "reset-before-content", stream).await;
            assert!(reset.broken && reset.status == 200, "{dialect}: {}", reset.head);
            let cut = ask(&upstream, dialect, "cut-before-content", stream).await;
            assert!(cut.status == 200 && !cut.broken, "{dialect}");
            assert!(cut.body.is_empty() || cut.body.ends_with("UNFINISHED"), "{dialect}: {}", cut.body);
            let end = ask(&upstream, dialect, "eof-before-content", stream).await;
            assert!(end.status == 200 && !end.broken, "{dialect}");
            assert!(
                !WORDS.iter().chain(&ENDS).any(|text| end.body.contains(text)),
                "{dialect}: {}",
                end.body
            );
        }
        assert!(upstream.bill().iter().all(|line| !line.finished && line.completion_tokens == 0));
        let before = ask(&upstream, dialect, "cut-before-head", true).await;
        assert!(before.status == 0 && !before.broken, "{dialect}: {}", before.head);
    }
}

#[tokio::test]
async fn leaks_repeat_the_credential_in_body_and_headers() {
    let upstream = Upstream::start().await;
    for dialect in DIALECTS {
        for model in ["leak-401", "leak-500", "leak-page", "leak-stream"] {
            for stream in [true, false] {
                let response = ask(&upstream, dialect, model, stream).await;
                let known = HEADERS.iter().find(|(name, _)| *name == "authorization").unwrap().1;
                assert!(response.body.contains(known), "{dialect} {model}: {}", response.body);
                assert!(response.head.contains("x-seen: "), "{dialect} {model}: {}", response.head);
            }
        }
    }
    assert!(upstream.bill().is_empty());
}

#[tokio::test]
async fn malformed_bodies_end_cleanly() {
    let upstream = Upstream::start().await;
    for dialect in DIALECTS {
        let half = ask(&upstream, dialect, "truncated-json", false).await;
        assert!(half.status == 200 && half.body.starts_with('{'), "{dialect}");
        assert!(serde_json::from_str::<serde_json::Value>(&half.body).is_err(), "{dialect}");
        for model in ["truncated-json", "bad-event-mid-stream"] {
            let response = ask(&upstream, dialect, model, true).await;
            assert!(response.body.contains("from ") && !response.body.ends_with("UNFINISHED"), "{dialect}");
            assert!(
                !ENDS.iter().any(|end| response.body.contains(end)),
                "{dialect} {model}: {}",
                response.body
            );
        }
        assert!(ask(&upstream, dialect, "bad-sse", true).await.data().is_empty(), "{dialect}");
        let typed = ask(&upstream, dialect, "wrong-type", false).await;
        assert!(typed.head.contains("text/plain") && typed.body.contains("Hello"), "{dialect}");
        assert!(ask(&upstream, dialect, "swapped", true).await.body.starts_with('{'), "{dialect}");
        assert!(!ask(&upstream, dialect, "swapped", false).await.data().is_empty(), "{dialect}");
    }
}

#[tokio::test]
async fn framing_changes_no_event() {
    let upstream = Upstream::start().await;
    for dialect in ["chat", "responses", "messages", "generate"] {
        let words = |body: &str| WORDS.iter().all(|word| body.contains(word));
        for model in ["sse-crlf", "sse-cr", "sse-bom", "sse-lines", "sse-comments", "bytewise"] {
            for stream in [false, true] {
                let response = ask(&upstream, dialect, model, stream).await;
                assert!(words(&response.body), "{dialect} {model}: {}", response.body);
                let line = upstream.bill().pop().unwrap();
                assert!(line.finished && line.completion_tokens == 8, "{dialect} {model}: {line:?}");
            }
        }
        let returns = ask(&upstream, dialect, "sse-cr", true).await.body;
        assert!(returns.contains("\r\r") && !returns.contains('\n'), "{dialect}: {returns}");
        assert!(ask(&upstream, dialect, "sse-crlf", true).await.body.contains("\r\n\r\n"), "{dialect}");
        assert!(ask(&upstream, dialect, "sse-bom", true).await.body.starts_with('\u{feff}'), "{dialect}");
        let lines = ask(&upstream, dialect, "sse-lines", true).await.body.replace('\r', "");
        assert!(lines.contains("data: {\ndata: \""), "{dialect}: {lines}");
    }
}

#[tokio::test]
async fn pings_continue_until_the_client_disconnects() {
    use tokio::io::AsyncReadExt as _;
    let upstream = Upstream::start().await;
    for (model, stream, mark) in [
        ("pings", true, ": ping\n\n"),
        ("ping-events", true, "event: ping\n"),
        ("ping-flood", true, "event: ping\n"),
        ("endless", true, "content_block_delta\n"),
        ("pings", false, "1\r\n \r\n1\r\n \r\n"),
    ] {
        upstream.reset();
        let (path, body) = request("messages", model, stream, false);
        let mut connection = send_with(&upstream, "POST", &path, &HEADERS, &body.to_string()).await;
        let mut response = Vec::new();
        while String::from_utf8_lossy(&response).matches(mark).count() < 3 {
            assert!(connection.read_buf(&mut response).await.unwrap() > 0, "{model}");
        }
        drop(connection);
        while !upstream.bill()[0].cancelled {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

#[tokio::test]
async fn errors_have_every_retry_hint() {
    let upstream = Upstream::start().await;
    for dialect in DIALECTS {
        for (model, status, header) in [
            ("error-429", 429, "retry-after: 30\r\n"),
            ("error-429-7", 429, "retry-after: 7\r\n"),
            ("error-429-ms-1500", 429, "retry-after-ms: 1500\r\n"),
            ("error-429-date-60", 429, " GMT\r\n"),
            ("error-429-past", 429, " GMT\r\n"),
            ("error-429-absurd", 429, "retry-after: 315360000\r\n"),
            ("error-429-garbage", 429, "retry-after: soon, I hope\r\n"),
            ("error-503-2", 503, "retry-after: 2\r\n"),
        ] {
            let response = ask(&upstream, dialect, model, true).await;
            response.expect_error(status);
            assert!(
                format!("{}\r\n", response.head).contains(header),
                "{dialect} {model}: {}",
                response.head
            );
        }
        let silent = ask(&upstream, dialect, "error-429-none", false).await;
        assert!(silent.status == 429 && !silent.head.contains("retry-after"), "{dialect}");
        for status in [408, 409, 425, 500, 502, 503, 504, 529, 403] {
            let response = ask(&upstream, dialect, &format!("error-{status}"), false).await;
            response.expect_error(status);
            assert!(!response.head.contains("retry-after"));
        }
        let quota = ask(&upstream, dialect, "insufficient-quota", false).await;
        assert_eq!(quota.status, if dialect == "messages" { 400 } else { 429 }, "{dialect}");
    }
    assert!(upstream.bill().is_empty());
}

#[tokio::test]
async fn a_gzip_bomb_is_small_on_the_wire() {
    let upstream = Upstream::start().await;
    let response = ask(&upstream, "chat", "gzip-bomb", false).await;
    assert!(response.head.contains("content-encoding: gzip"), "{}", response.head);
    let length = response.head.split_once("content-length: ").unwrap().1.split("\r\n").next().unwrap();
    assert!((1_600_000..1_800_000).contains(&length.parse().unwrap()), "{length}");
}

#[tokio::test]
async fn calls_are_counted_by_name() {
    let upstream = Upstream::start().await;
    for status in [500, 500, 200] {
        assert_eq!(ask(&upstream, "chat", "flaky-2@a", false).await.status, status);
    }
    assert_eq!(ask(&upstream, "messages", "flaky-1-error-529@b", true).await.status, 529);
    assert_eq!(ask(&upstream, "responses", "recovers-60000@c", true).await.status, 503);
    assert_eq!(ask(&upstream, "responses", "late-10-error-409@e", true).await.status, 409);
    assert_eq!(ask(&upstream, "generate", "recovers-0@d", true).await.status, 200);
    let reported = socket::ask(&upstream, "GET", "/calls?model=flaky-2@a", "").await.json();
    assert_eq!(reported, serde_json::json!({"flaky-2@a": 3}));
    let all = socket::ask(&upstream, "GET", "/calls", "").await.json();
    assert_eq!(all.as_object().unwrap().len(), 5);
    let bill = ask_with(&upstream, "GET", "/bill?model=recovers-0@d", &[], "").await.json();
    assert!(bill.as_array().unwrap().len() == 1 && bill[0]["dialect"] == "generate");
    upstream.reset();
    assert_eq!(ask(&upstream, "chat", "flaky-2@a", false).await.status, 500);
}
