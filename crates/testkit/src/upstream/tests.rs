//! Tests of the upstream over a real socket.

mod every_dialect;
mod faults;
pub(super) mod socket;

use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::TcpStream;

use socket::{RawResponse, ask, send};

use super::*;
use crate::upstream::answer::{Answer, Step};

fn body(model: &str, extra: Value) -> String {
    let mut body = json!({"model": model, "messages": [{"role": "user", "content": "one two three"}]});
    for (key, value) in extra.as_object().unwrap() {
        body[key] = value.clone();
    }
    body.to_string()
}

async fn chat(upstream: &Upstream, model: &str, extra: Value) -> RawResponse {
    ask(upstream, "POST", "/v1/chat/completions", &body(model, extra)).await
}

async fn stream(upstream: &Upstream, model: &str) -> RawResponse {
    chat(upstream, model, json!({"stream": true, "stream_options": {"include_usage": true}})).await
}

#[tokio::test]
async fn the_bill_equals_the_reported_usage() {
    let upstream = Upstream::start().await;
    for model in ["text", "long", "tools", "parallel-tools", "reasoning", "cached", "empty", "azure-first"] {
        upstream.reset();
        let whole = chat(&upstream, model, json!({})).await.json();
        let streamed = stream(&upstream, model).await;
        assert_eq!(streamed.data().last(), Some(&"[DONE]"));
        let reported = [whole["usage"].clone(), streamed.chunks().last().unwrap()["usage"].clone()];
        for (usage, line) in reported.iter().zip(upstream.bill()) {
            assert_eq!(usage["prompt_tokens"], line.prompt_tokens, "{model}");
            assert_eq!(usage["completion_tokens"], line.completion_tokens, "{model}");
            assert_eq!(usage["prompt_tokens_details"]["cached_tokens"], line.cached_tokens, "{model}");
            assert_eq!(
                usage["completion_tokens_details"]["reasoning_tokens"], line.reasoning_tokens,
                "{model}"
            );
            assert!(line.finished && !line.cancelled, "{model}");
        }
        assert_eq!(whole["id"], upstream.bill()[0].id.as_str());
    }
}

#[tokio::test]
async fn bill_lines_have_a_marker_and_times() {
    let upstream = Upstream::start().await;
    chat(&upstream, "slow-30", json!({})).await;
    chat(&upstream, "text", json!({})).await;
    let [slow, quick] = &upstream.bill()[..] else { panic!("two lines") };
    assert_eq!(slow.word, "one");
    assert!(slow.ended_ms.unwrap() >= slow.began_ms + 30 && quick.began_ms >= slow.ended_ms.unwrap());
    let hanging = tokio::time::timeout(Duration::from_millis(100), chat(&upstream, "hang", json!({}))).await;
    assert!(hanging.is_err());
    assert_eq!(upstream.bill().len(), 3);
}

#[tokio::test]
async fn usage_is_sent_only_on_request() {
    let upstream = Upstream::start().await;
    let requested = stream(&upstream, "text").await.chunks();
    assert!(
        requested[..requested.len() - 1]
            .iter()
            .all(|chunk| chunk["usage"].is_null() && chunk.get("usage").is_some())
    );
    assert_eq!(requested.last().unwrap()["choices"], json!([]));
    let unasked = chat(&upstream, "text", json!({"stream": true})).await.chunks();
    assert!(unasked.iter().all(|chunk| chunk.get("usage").is_none()));
    let absent = stream(&upstream, "no-usage").await.chunks();
    assert!(absent.iter().all(|chunk| chunk.get("usage").is_none()));
    let running = stream(&upstream, "usage-every-chunk").await.chunks();
    assert!(running.iter().all(|chunk| chunk["usage"]["prompt_tokens"] == 11));
    let first = &stream(&upstream, "azure-first").await.chunks()[0];
    assert_eq!((&first["id"], &first["choices"]), (&json!(""), &json!([])));
}

#[tokio::test]
async fn tools_are_called_and_their_results_accepted() {
    let upstream = Upstream::start().await;
    let answer = chat(&upstream, "parallel-tools", json!({})).await.json();
    let message = &answer["choices"][0]["message"];
    assert_eq!(answer["choices"][0]["finish_reason"], "tool_calls");
    let calls = message["tool_calls"].as_array().unwrap();
    assert_eq!(calls.len(), 2);
    let arguments: Value = serde_json::from_str(calls[1]["function"]["arguments"].as_str().unwrap()).unwrap();
    assert_eq!(arguments, json!({"city": "Zürich"}));
    let fragments: String = stream(&upstream, "tools")
        .await
        .chunks()
        .iter()
        .filter_map(|chunk| {
            chunk["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"].as_str().map(str::to_owned)
        })
        .collect();
    assert_eq!(fragments, "{\"city\": \"Paris\"}");
    let result = json!({"role": "tool", "tool_call_id": calls[0]["id"], "content": "sunny"});
    let again = json!({"messages": [{"role": "user", "content": "?"}, message, result]});
    let answer = chat(&upstream, "tools", again).await.json();
    assert_eq!(answer["choices"][0]["message"]["content"], "The tools said: sunny");
}

#[tokio::test]
async fn invalid_requests_are_rejected() {
    let upstream = Upstream::start().await;
    let orphan =
        json!([{"role": "user", "content": "?"}, {"role": "tool", "tool_call_id": "x", "content": "y"}]);
    for (model, extra, param) in [
        ("text", json!({"messages": []}), "messages"),
        ("text", json!({"messages": [{"role": "robot", "content": ""}]}), "messages[0].role"),
        ("text", json!({"messages": orphan}), "messages[1].role"),
        ("text", json!({"temperature": 2.5}), "temperature"),
        ("strict", json!({"surprise": 1}), "surprise"),
    ] {
        let response = chat(&upstream, model, extra).await;
        assert_eq!((response.status, response.json()["error"]["param"].as_str()), (400, Some(param)));
    }
    assert_eq!(chat(&upstream, "text", json!({"surprise": 1})).await.status, 200);
    assert_eq!(upstream.bill().len(), 1);
}

#[tokio::test]
async fn failures_have_their_status_and_cost_nothing() {
    let upstream = Upstream::start().await;
    for (model, status, retry_after) in [
        ("error-500", 500, ""),
        ("error-429", 429, "retry-after: 30"),
        ("error-429-2", 429, "retry-after: 2"),
        ("unauthorized", 401, ""),
    ] {
        let response = chat(&upstream, model, json!({"stream": true})).await;
        assert_eq!(response.status, status, "{model}");
        assert!(response.head.contains(retry_after), "{model}: {}", response.head);
        assert!(response.json()["error"]["message"].is_string());
    }
    let first = stream(&upstream, "error-in-stream").await;
    assert_eq!((first.status, first.chunks()[0]["error"]["type"].as_str()), (200, Some("server_error")));
    assert_eq!(chat(&upstream, "html", json!({})).await.body, "<html><h1>Bad gateway</h1></html>");
    assert!(upstream.bill().is_empty());
    let later = stream(&upstream, "error-after-content").await;
    assert!(!later.text().is_empty() && later.chunks().last().unwrap()["error"].is_object());
    assert!(!later.body.contains("[DONE]"));
}

#[tokio::test]
async fn connections_break_as_scripted() {
    let upstream = Upstream::start().await;
    let before = stream(&upstream, "reset-before-head").await;
    assert!(before.broken && before.status == 0, "{}", before.head);
    let reset = stream(&upstream, "reset-mid-stream").await;
    assert!(reset.broken && !reset.text().is_empty(), "{}", reset.body);
    let cut = stream(&upstream, "cut-mid-stream").await;
    assert!(!cut.broken && cut.body.ends_with("UNFINISHED"), "{}", cut.body);
    let eof = stream(&upstream, "eof-mid-stream").await;
    assert!(!eof.broken && !eof.text().is_empty(), "{}", eof.body);
    assert!(!eof.body.contains("[DONE]") && !eof.body.contains("UNFINISHED"));
    assert!(
        upstream.bill().iter().all(|line| !line.finished && !line.cancelled && line.completion_tokens == 3)
    );
    assert!(chat(&upstream, "cut-mid-stream", json!({})).await.head.contains("content-length"));
}

#[tokio::test]
async fn a_disconnect_is_recorded_as_cancelled() {
    let upstream = Upstream::start().await;
    for model in ["hang", "hang-after-head", "hang-mid-stream", "drip-10", "slow-60000"] {
        upstream.reset();
        let request = body(model, json!({"stream": true}));
        let connection = send(&upstream, "POST", "/v1/chat/completions", &request).await;
        while upstream.bill().is_empty() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        tokio::time::sleep(Duration::from_millis(30)).await;
        assert!(!upstream.bill()[0].cancelled, "{model}");
        drop(connection);
        let cancelled = async {
            while !upstream.bill()[0].cancelled {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(2), cancelled).await.expect(model);
    }
}

#[tokio::test]
async fn queued_scripts_answer_first_in_order() {
    let upstream = Upstream::start().await;
    upstream.push(FaultScript::named("error-503"));
    upstream.push(FaultScript::stream(["data: {\"a\":", "1}\n\n"]));
    upstream
        .push(FaultScript::Exact(Answer { before: vec![Step::Wait(Duration::ZERO)], ..Answer::whole("{}") }));
    assert_eq!(chat(&upstream, "text", json!({})).await.status, 503);
    assert_eq!(stream(&upstream, "text").await.chunks(), [json!({"a": 1})]);
    assert_eq!(chat(&upstream, "text", json!({})).await.body, "{}");
    let answer = chat(&upstream, "text", json!({})).await.json();
    let text = "Hello from the upstream. You said: one two three";
    assert_eq!(answer["choices"][0]["message"]["content"], text);
}

#[tokio::test]
async fn a_huge_event_has_the_requested_size() {
    let upstream = Upstream::start().await;
    assert_eq!(stream(&upstream, "huge-event-100").await.text().len(), 100 * 1024);
    let whole = chat(&upstream, "huge-event-100", json!({})).await.json();
    assert_eq!(whole["choices"][0]["message"]["content"].as_str().unwrap().len(), 100 * 1024);
}

#[tokio::test]
async fn the_bill_and_the_requests_are_served_over_http() {
    let upstream = Upstream::start().await;
    let sent = body("echo", json!({"unknown": {"kept": [1, 2]}}));
    let answer = ask(&upstream, "POST", "/v1/chat/completions?a=b", &sent).await.json();
    assert_eq!(answer["choices"][0]["message"]["content"], sent.as_str());
    let bill = ask(&upstream, "GET", "/bill", "").await.json();
    assert_eq!(bill[0]["id"], answer["id"]);
    let requests = ask(&upstream, "GET", "/requests", "").await.json();
    assert_eq!(requests[0]["path"], "/v1/chat/completions?a=b");
    assert_eq!(requests[0]["body"], sent.as_str());
    assert_eq!(upstream.requests()[0].header("host"), Some("upstream"));
    let models = ask(&upstream, "GET", "/v1/models", "").await.json();
    assert!(models["data"].as_array().unwrap().iter().any(|model| model["id"] == "parallel-tools"));
    assert_eq!(ask(&upstream, "GET", "/v1/nothing", "").await.status, 404);
    ask(&upstream, "POST", "/reset", "").await;
    assert!(upstream.bill().is_empty() && upstream.requests().is_empty());
}

#[tokio::test]
async fn a_stopped_upstream_refuses_connections() {
    let upstream = Upstream::start().await;
    upstream.stop();
    let refused = async {
        while TcpStream::connect(upstream.address()).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(2), refused).await.unwrap();
}
