//! Tests of the timing of translated streams: no buffering, heartbeats during silence, timeouts.

use std::time::Duration;

use futures_util::future::join_all;
use http_body_util::BodyExt as _;
use pipeline::policy::Policy;
use serde_json::json;

use crate::app::{self, CLIENTS, Client, TestApp, TestSettings, UPSTREAMS};

/// Reads the body until it contains `expected`.
async fn read_until(body: &mut axum::body::Body, expected: &str, of: &str) {
    let mut text = String::new();
    while !text.contains(expected) {
        let frame = tokio::time::timeout(Duration::from_secs(5), body.frame()).await;
        let Ok(Some(Ok(frame))) = frame else { panic!("{of}: '{expected}' is held back: {text}") };
        text.push_str(&String::from_utf8_lossy(frame.data_ref().unwrap()));
    }
}

async fn open(app: &TestApp, client: Client, model: &str) -> axum::body::Body {
    let response = client.ask(app, model, true).open().await;
    assert_eq!(response.status(), 200, "{client:?} {model}");
    response.into_body()
}

/// The provider has said three words and is silent: the client has all three. Then it leaves.
#[tokio::test]
async fn streams_are_not_buffered_and_a_disconnect_stops_the_provider() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let mut count = 0;
        for client in CLIENTS {
            for upstream in UPSTREAMS {
                let model = format!("{upstream}hang-mid-stream");
                let mut body = open(&app, client, &model).await;
                read_until(&mut body, "the ", &format!("{client:?} {model}")).await;
                drop(body);
                count += 1;
            }
        }
        for row in app.receipts(count).await {
            assert_eq!((&row["status_code"], &row["estimated"]), (&json!(499), &json!(true)), "{row:#}");
            assert!(
                row["input_tokens"].as_u64() > Some(0) && row["output_tokens"].as_u64() > Some(0),
                "{row:#}"
            );
        }
        let begun = tokio::time::Instant::now();
        while app.upstream.bill().iter().any(|line| !line.cancelled) {
            assert!(begun.elapsed() < Duration::from_secs(2), "{:#?}", app.upstream.bill());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn silence_is_bridged_in_every_dialect() {
    let settings = || TestSettings {
        policy: Policy { stream_heartbeat: Duration::from_millis(50), ..Policy::default() },
        ..TestSettings::every_dialect()
    };
    app::each_with(settings, async |app| {
        let pairs = CLIENTS.iter().flat_map(|client| UPSTREAMS.map(|upstream| (*client, upstream)));
        join_all(pairs.map(async |(client, upstream)| {
            let model = format!("{upstream}slow-180");
            let answer = client.ask(&app, &model, true).send().await.expect_status(200);
            assert!(answer.text().starts_with(": keep-alive\n\n"), "{client:?} {model}: {}", answer.text());
            assert_eq!(client.text(&answer), "Hello from the upstream. You said: How are you today?");
            client.check_end(&answer);
        }))
        .await;
    })
    .await;
}

async fn check_patience(app: &TestApp, client: Client, upstream: &str) {
    for (fault, stream) in
        [("hang", false), ("hang", true), ("hang-after-head", false), ("hang-after-head", true)]
    {
        let model = format!("{upstream}{fault}");
        let answer = client.ask(app, &model, stream).send().await;
        let expected = if client == Client::Messages { "api_error" } else { "upstream_timeout" };
        assert_eq!(client.refusal(&answer), (504, expected.into()), "{client:?} {model} {stream}");
    }
    let answer = client.ask(app, &format!("{upstream}hang-mid-stream"), true).send().await;
    client.check_broken(&answer.expect_status(200));
}

#[tokio::test]
async fn silent_streams_time_out() {
    const PATIENCE: Duration = Duration::from_millis(700);
    let settings = || TestSettings {
        policy: Policy {
            first_event_timeout: PATIENCE,
            stream_idle_timeout: PATIENCE,
            request_timeout: PATIENCE,
            ..Policy::default()
        },
        ..TestSettings::every_dialect()
    };
    app::each_with(settings, async |app| {
        let pairs = CLIENTS.iter().flat_map(|client| UPSTREAMS.map(|upstream| (*client, upstream)));
        join_all(pairs.map(|(client, upstream)| check_patience(&app, client, upstream))).await;
    })
    .await;
}
