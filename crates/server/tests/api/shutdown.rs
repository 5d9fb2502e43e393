//! Tests of a graceful stop: readiness, the delay before the port closes, connections and streams.

use std::time::Duration;

use domain::clock::Clock as _;
use server::ListenConfig;
use tokio::net::TcpStream;

use crate::app::{self, Line, TestApp};

const HEALTH: &str = "GET /health HTTP/1.1\r\nhost: x\r\n\r\n";
const DELAY: Duration = Duration::from_millis(1500);

fn delayed() -> ListenConfig {
    ListenConfig { delay: DELAY, grace: Duration::from_secs(20), ..ListenConfig::default() }
}

/// Sends a request on a connection of its own.
async fn get(address: std::net::SocketAddr, path: &str) -> String {
    let mut line = Line::open(address).await;
    line.send(format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")).await;
    line.receive_all().await
}

/// Waits until readiness fails.
async fn until_draining(app: &TestApp) {
    for _ in 0..200 {
        if app.http_service.app().is_draining() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("the stop signal had no effect");
}

#[tokio::test]
async fn during_the_delay_readiness_fails_and_connections_are_accepted() {
    app::each(async |app| {
        let listening = app.listen_with(delayed()).await;
        let mut kept = Line::open(listening.address).await;
        kept.send(HEALTH).await;
        let before = kept.read_until("\"ok\"").await;
        assert!(!before.to_lowercase().contains("connection: close"), "{before}");
        let stopped_at = app.clock.tick();
        listening.stop.send(true).unwrap();
        until_draining(&app).await;

        let ready = get(listening.address, "/ready").await;
        assert!(ready.starts_with("HTTP/1.1 503 ") && ready.contains("\"draining\""), "{ready}");
        // A connection that was open before, and new ones: served, and closed after the response.
        kept.clear();
        kept.send(HEALTH).await;
        let last = kept.receive_all().await;
        assert!(last.starts_with("HTTP/1.1 200 ") && last.contains("connection: close"), "{last}");
        let chat = app::question("openai/text").to_string();
        for framing in [format!("content-length: {}\r\n\r\n{chat}", chat.len()), chunked(&chat)] {
            let mut line = Line::open(listening.address).await;
            let key = app::MASTER;
            line.send(format!(
                "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n{framing}"
            ))
            .await;
            let answer = line.receive_all().await;
            assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("connection: close"), "{answer}");
        }
        assert!(app.clock.tick() < stopped_at + DELAY, "the machine is too slow for this test");

        assert_eq!(listening.serving.await.unwrap(), 0);
        assert!(app.clock.tick() >= stopped_at + DELAY);
        TcpStream::connect(listening.address).await.unwrap_err();
    })
    .await;
}

/// A body whose framing is served by hyper.
fn chunked(body: &str) -> String {
    format!("transfer-encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n", body.len())
}

#[tokio::test]
async fn streams_finish_within_the_grace_period_after_the_delay() {
    app::each(async |app| {
        let delay = Duration::from_millis(200);
        let listening = app.listen_with(ListenConfig { delay, ..delayed() }).await;
        let mut line = Line::open(listening.address).await;
        let mut body = app::question("openai/drip-100");
        body["stream"] = true.into();
        line.post_chat(&body).await;
        line.read_until("data: ").await;
        listening.stop.send(true).unwrap();
        let whole = line.read_until("[DONE]").await;
        assert!(whole.starts_with("HTTP/1.1 200 "), "{whole}");
        assert_eq!(listening.serving.await.unwrap(), 0, "the stream was cut");
        app.receipts(1).await;
    })
    .await;
}

/// Clients that connect at the moment of the stop are served: none is refused or cut off without an answer.
#[tokio::test]
async fn no_request_is_lost_while_the_delay_lasts() {
    app::each(async |app| {
        let listening =
            app.listen_with(ListenConfig { delay: Duration::from_millis(600), ..delayed() }).await;
        let address = listening.address;
        let clients: Vec<_> = (0..8)
            .map(|_| {
                let clock = app.clock.clone();
                app.gateway.tasks.spawn(async move {
                    let started = clock.tick();
                    let mut answered = 0;
                    while clock.tick() < started + Duration::from_millis(500) {
                        let answer = get(address, "/health").await;
                        assert!(answer.starts_with("HTTP/1.1 "), "{answer:?}");
                        answered += 1;
                    }
                    answered
                })
            })
            .collect();
        tokio::time::sleep(Duration::from_millis(100)).await;
        listening.stop.send(true).unwrap();
        for client in clients {
            assert!(client.await.unwrap() > 0);
        }
        listening.serving.await.unwrap();
    })
    .await;
}
