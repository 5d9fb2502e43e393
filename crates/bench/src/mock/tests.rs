//! Tests of the mock: response formats, and the pace set by the model name.

use super::*;
use crate::load::{LoadConfig, Stop, run_load};

async fn start() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio_util::task::TaskTracker::new().spawn(serve_mock(listener, MockConfig::default()));
    url
}

#[test]
fn a_name_sets_the_pace() {
    assert_eq!(pace("bench-e100-g5"), (100, Duration::from_millis(5)));
    assert_eq!(pace("bench-e7-g0"), (7, Duration::ZERO));
    assert_eq!(pace("gpt-4o"), (10, Duration::ZERO));
}

#[test]
fn a_whole_answer_has_the_length_asked_for() {
    let shape = Shape { model: "bench".into(), ..Shape::default() };
    let script = whole_script(&shape, &MockConfig { answer_bytes: 2000, ..MockConfig::default() });
    let (head, body) = script.whole.split_once("\r\n\r\n").unwrap();
    assert_eq!(body.len(), 2000);
    assert!(head.contains("content-length: 2000"));
    assert_eq!(serde_json::from_str::<serde_json::Value>(body).unwrap()["usage"]["total_tokens"], 30);
}

#[test]
fn a_stream_is_made_of_valid_events() {
    for usage in [false, true] {
        let shape = Shape { model: "bench-e5-g0".into(), streamed: true, usage, messages: false };
        let script = stream_script(&shape).whole;
        let payloads: Vec<&str> = script.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
        assert_eq!(payloads.len(), 5 + 1 + usize::from(usage) + 1);
        assert_eq!(*payloads.last().unwrap(), "[DONE]");
        let parsed: Vec<serde_json::Value> = payloads[..payloads.len() - 1]
            .iter()
            .map(|payload| serde_json::from_str(payload).unwrap())
            .collect();
        assert_eq!(parsed[5]["choices"][0]["finish_reason"], "stop");
        assert_eq!(parsed.last().unwrap().get("usage").is_some(), usage);
    }
}

#[tokio::test]
async fn load_runs_against_it() {
    let url = start().await;
    for (stream, model) in [(false, "bench"), (true, "bench-e20-g0"), (true, "bench-e3-g2")] {
        let config = LoadConfig {
            url: url.clone(),
            key: "k".into(),
            model: model.into(),
            stream,
            body_bytes: 100_000,
            connections: 3,
            stop: Stop::Requests(30),
            warmup: Duration::ZERO,
        };
        let report = run_load(config).await.unwrap();
        assert_eq!((report.requests, report.errors), (30, 0), "{model}");
        assert!(report.bytes > 30 * 500 && report.rps > 0.0);
        assert!(report.latency_p50 > 0.0 && report.ttfb_p50 <= report.latency_p999);
        if model == "bench-e3-g2" {
            assert!(report.latency_p50 >= 6_000.0, "{}", report.latency_p50);
        }
    }
}

#[tokio::test]
async fn an_unknown_path_is_an_error_for_the_load() {
    let url = start().await + "/elsewhere";
    let config = LoadConfig { url, stop: Stop::Requests(4), connections: 2, ..LoadConfig::default() };
    let report = run_load(config).await.unwrap();
    assert_eq!((report.requests, report.errors), (4, 4));
}

#[test]
fn anthropics_stream_has_as_many_deltas() {
    let script = super::messages::stream_script("claude-bench-e5-g0");
    assert_eq!(script.whole.matches("event: content_block_delta").count(), 5);
    assert!(script.whole.ends_with("0\r\n\r\n") && script.whole.contains("event: message_stop"));
}
