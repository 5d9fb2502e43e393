//! Tests of the requests of one HTTP/1.1 connection, over real sockets.

use std::time::Duration;

use server::ListenConfig;

use crate::app::{self, Line};

/// The end of a chat completion: the last member that the gateway adds.
const END: &str = "ms\"}";
const HEALTH: &str = "GET /health HTTP/1.1\r\nhost: x\r\n\r\n";

fn chat(key: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

/// The number of responses with this status.
fn responses(received: &str, status: u16) -> usize {
    received.matches(&format!("HTTP/1.1 {status} ")).count()
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_their_order() {
    app::each(async |app| {
        let listening = app.listen().await;
        let question = app::question("openai/text").to_string();
        let mut line = Line::open(listening.address).await;
        let last = "GET /nowhere HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
        line.send([HEALTH, &chat(app::MASTER, &question), HEALTH, last].concat()).await;
        let received = line.receive_all().await;
        assert_eq!((responses(&received, 200), responses(&received, 404)), (3, 1), "{received}");
        let order: Vec<_> = ["\"status\":\"ok\"", "chat.completion", "not_found"]
            .iter()
            .map(|text| received.find(text))
            .collect();
        assert!(order.is_sorted() && order.iter().all(Option::is_some), "{received}");
    })
    .await;
}

/// Heads and bodies of any size, in pieces of any size.
#[tokio::test]
async fn requests_in_pieces_are_read_whole() {
    app::each(async |app| {
        let listening = app.listen().await;
        for (length, piece) in [(10, 7), (9_000, 4_000), (100_000, 30_000), (300_000, 65_536)] {
            let mut question = app::question("openai/text");
            question["messages"][0]["content"] = "x".repeat(length).into();
            let mut line = Line::open(listening.address).await;
            for _ in 0..2 {
                line.clear();
                for bytes in chat(app::MASTER, &question.to_string()).as_bytes().chunks(piece) {
                    line.send(bytes).await;
                    tokio::task::yield_now().await;
                }
                assert!(line.read_until(END).await.starts_with("HTTP/1.1 200 "), "{length}");
            }
            let sent = String::from_utf8(app.upstream.requests().last().unwrap().body.clone()).unwrap();
            assert!(sent.contains(&"x".repeat(length)), "{length}");
        }
    })
    .await;
}

/// A chunked request is served by hyper, on the connection on which others were served before.
#[tokio::test]
async fn another_framing_is_served_on_the_same_connection() {
    app::each(async |app| {
        let listening = app.listen().await;
        let question = app::question("openai/text").to_string();
        let mut line = Line::open(listening.address).await;
        line.send(chat(app::MASTER, &question)).await;
        line.read_until(END).await;
        line.clear();
        let (key, size) = (app::MASTER, question.len());
        line.send(format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\ntransfer-encoding: chunked\r\n\r\n{size:x}\r\n{question}\r\n0\r\n\r\n"
        ))
        .await;
        assert!(line.read_until(END).await.starts_with("HTTP/1.1 200 "));
        line.clear();
        line.send(chat(app::MASTER, &question)).await;
        line.read_until(END).await;
    })
    .await;
}

#[tokio::test]
async fn a_response_to_head_has_no_body() {
    app::each(async |app| {
        let listening = app.listen().await;
        let mut line = Line::open(listening.address).await;
        line.send("HEAD /health HTTP/1.1\r\nhost: x\r\n\r\n").await;
        let head = line.read_until("\r\n\r\n").await;
        assert!(head.ends_with("\r\n\r\n") && head.contains("content-length: "), "{head}");
        line.clear();
        line.send("GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await;
        let received = line.receive_all().await;
        assert!(
            received.starts_with("HTTP/1.1 200 ") && received.contains("connection: close"),
            "{received}"
        );
        assert!(received.contains("date: "), "{received}");
    })
    .await;
}

/// The body of a refused request is still on its way when the connection is closed: a reset would hide the refusal.
#[tokio::test]
async fn the_refusal_of_a_large_body_reaches_the_client() {
    app::each(async |app| {
        let listening = app.listen().await;
        for (key, status) in [(app::MASTER, 413), ("wrong", 401)] {
            let mut line = Line::open(listening.address).await;
            line.send(format!(
                "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\ncontent-length: 20000000\r\n\r\n"
            ))
            .await;
            let _ = line.try_send("x".repeat(500_000)).await;
            let received = line.receive_all().await;
            assert_eq!(responses(&received, status), 1, "{received}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_client_that_leaves_cancels_its_call() {
    app::each(async |app| {
        let listening = app.listen().await;
        let mut line = Line::open(listening.address).await;
        line.send(chat(app::MASTER, &app::question("openai/hang").to_string())).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        drop(line);
        for _ in 0..200 {
            if app.gateway.metrics.in_flight.get() == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("the call is still under way");
    })
    .await;
}

#[tokio::test]
async fn idle_connections_are_closed_by_the_timeout_and_by_a_stop() {
    app::each(async |app| {
        let header_timeout = Duration::from_millis(300);
        let listening = app.listen_with(ListenConfig { header_timeout, ..ListenConfig::default() }).await;
        for opening in [HEALTH.to_owned(), format!("{HEALTH}GET /heal")] {
            let mut line = Line::open(listening.address).await;
            line.send(opening).await;
            assert_eq!(responses(&line.receive_all().await, 200), 1);
        }
        let listening = app.listen().await;
        let mut line = Line::open(listening.address).await;
        line.send(HEALTH).await;
        line.read_until("\"ok\"").await;
        listening.stop.send(true).unwrap();
        assert_eq!(responses(&line.receive_all().await, 200), 1);
        assert_eq!(listening.serving.await.unwrap(), 0, "connections were left open");
    })
    .await;
}
