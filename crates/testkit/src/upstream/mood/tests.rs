//! Tests that a mood set over the socket applies to the next call.

use super::super::Upstream;
use super::super::tests::socket::ask;

const CHAT: &str = r#"{"model": "text", "messages": [{"role": "user", "content": "hi"}], "stream": true}"#;

async fn heard_in(mood: &str) -> super::super::tests::socket::Heard {
    let upstream = Upstream::start().await;
    assert_eq!(ask(&upstream, "POST", "/mood", mood).await.status, 200);
    ask(&upstream, "POST", "/v1/chat/completions", CHAT).await
}

#[tokio::test]
async fn a_status_with_its_wait() {
    let heard = heard_in(r#"{"status": 503, "retry_after": "2"}"#).await;
    assert_eq!(heard.status, 503);
    assert!(heard.head.contains("retry-after: 2"), "{}", heard.head);
    let heard = heard_in(r#"{"status": 429}"#).await;
    assert_eq!((heard.status, heard.head.contains("retry-after")), (429, false));
}

#[tokio::test]
async fn a_reset_before_content_sends_the_role_only() {
    let heard = heard_in(r#"{"reset": "before_content"}"#).await;
    assert!(heard.broken && heard.status == 200 && heard.text().is_empty(), "{}", heard.body);
}

#[tokio::test]
async fn like_another_model() {
    let heard = heard_in(r#"{"like": "error-in-stream"}"#).await;
    assert!(heard.status == 200 && heard.body.contains("overloaded"), "{}", heard.body);
}

#[tokio::test]
async fn the_calls_are_counted_and_it_gets_well() {
    let upstream = Upstream::start().await;
    ask(&upstream, "POST", "/mood", r#"{"status": 500}"#).await;
    assert_eq!(ask(&upstream, "POST", "/v1/chat/completions", CHAT).await.status, 500);
    let told = ask(&upstream, "GET", "/mood", "").await.json();
    assert_eq!((told["calls"][0][1].as_str(), told["unfinished"].as_u64()), (Some("text"), Some(0)));
    ask(&upstream, "POST", "/mood", "{}").await;
    assert_eq!(ask(&upstream, "POST", "/v1/chat/completions", CHAT).await.status, 200);
    assert_eq!(ask(&upstream, "POST", "/mood", r#"{"rage": 1}"#).await.status, 400);
}
