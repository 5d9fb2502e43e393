//! Tests that a script set over the socket applies to the next call.

use super::super::Upstream;
use super::super::tests::socket::{RawResponse, ask};

const CHAT: &str = r#"{"model": "text", "messages": [{"role": "user", "content": "hi"}], "stream": true}"#;

async fn ask_under(script: &str) -> RawResponse {
    let upstream = Upstream::start().await;
    assert_eq!(ask(&upstream, "POST", "/fault", script).await.status, 200);
    let response = ask(&upstream, "POST", "/v1/chat/completions", CHAT).await;
    assert!(upstream.bill().is_empty(), "{script}");
    response
}

#[tokio::test]
async fn a_status_with_its_retry_hint() {
    let response = ask_under("error-503-2").await;
    assert_eq!(response.status, 503);
    assert!(response.head.contains("retry-after: 2"), "{}", response.head);
    let response = ask_under("error-429-none").await;
    assert_eq!((response.status, response.head.contains("retry-after")), (429, false));
}

#[tokio::test]
async fn a_reset_before_content_sends_the_role_only() {
    let response = ask_under("reset-before-content").await;
    assert!(response.broken && response.status == 200 && response.text().is_empty(), "{}", response.body);
}

#[tokio::test]
async fn an_error_inside_a_200() {
    let response = ask_under("error-in-stream").await;
    assert!(response.status == 200 && response.body.contains("overloaded"), "{}", response.body);
}

#[tokio::test]
async fn counts_the_calls_and_can_be_cleared() {
    let upstream = Upstream::start().await;
    ask(&upstream, "POST", "/fault", "error-500").await;
    assert_eq!(ask(&upstream, "POST", "/v1/chat/completions", CHAT).await.status, 500);
    let state = ask(&upstream, "GET", "/fault", "").await.json();
    assert_eq!((state["calls"][0][1].as_str(), state["unfinished"].as_u64()), (Some("text"), Some(0)));
    ask(&upstream, "POST", "/fault", "").await;
    assert_eq!(ask(&upstream, "POST", "/v1/chat/completions", CHAT).await.status, 200);
    assert_eq!(ask(&upstream, "POST", "/fault", "no such behaviour").await.status, 400);
}
