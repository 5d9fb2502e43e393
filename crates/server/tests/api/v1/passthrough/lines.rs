//! Tests of streamed bodies on real sockets: forwarded as they arrive, with back-pressure, and aborted where they
//! break.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::app::{self, Line, MASTER, TestApp, TestSettings};

/// A provider that the test itself implements.
async fn played(app: &TestApp) -> TcpListener {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    let body = json!({"name": "played", "type": "openai_compatible", "base_url": base_url, "models": ["m"]});
    app.post("/admin/api/v1/providers", body).send().await.expect_status(201);
    listener
}

fn settings() -> TestSettings {
    TestSettings { allow_private: true, loopback_listener: true, ..TestSettings::default() }
}

async fn until(stream: &mut TcpStream, wanted: &str) -> String {
    let mut read = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&read).into_owned();
        if text.contains(wanted) {
            return text;
        }
        let count = timeout(Duration::from_secs(5), stream.read_buf(&mut read)).await.unwrap().unwrap();
        assert!(count > 0, "ended before '{wanted}': {text}");
    }
}

#[tokio::test]
async fn bodies_pass_both_ways_as_they_come() {
    app::each_with(settings, async |app| {
        let listener = played(&app).await;
        let listening = app.listen().await;
        let mut client = Line::open(listening.address).await;
        let head = format!(
            "PUT /p/played/v1/upload HTTP/1.1\r\nhost: g\r\nauthorization: Bearer {MASTER}\r\ntransfer-encoding: chunked\r\n\r\n"
        );
        client.send(head + "5\r\nfirst\r\n").await;
        let (mut provider, _) = loop {
            let (mut stream, peer) = listener.accept().await.unwrap();
            let mut first = [0; 3];
            // The gateway also asks for the list of models.
            if stream.read_exact(&mut first).await.is_ok() && &first == b"PUT" {
                break (stream, peer);
            }
        };
        let seen = until(&mut provider, "first").await;
        assert!(seen.starts_with(" /v1/upload HTTP/1.1\r\n") && seen.contains("chunked"), "{seen}");
        provider
            .write_all(b"HTTP/1.1 202 Accepted\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n4\r\none.\r\n")
            .await
            .unwrap();
        let received = client.read_until("one.").await;
        assert!(received.starts_with("HTTP/1.1 202 Accepted\r\n"), "{received}");
        client.send("6\r\nsecond\r\n0\r\n\r\n").await;
        until(&mut provider, "second\r\n0\r\n\r\n").await;
        provider.write_all(b"4\r\ntwo.\r\n").await.unwrap();
        client.read_until("two.").await;
        drop(provider);
        let received = client.receive_all().await;
        assert!(!received.contains("\r\n0\r\n\r\n"), "cut without a terminator: {received}");
        app.receipts(1).await;
    })
    .await;
}

#[tokio::test]
async fn a_slow_client_holds_the_provider_back() {
    app::each_with(settings, async |app| {
        let listener = played(&app).await;
        let listening = app.listen().await;
        let mut client = Line::open(listening.address).await;
        client
            .send(format!("GET /p/played/file HTTP/1.1\r\nhost: g\r\nauthorization: Bearer {MASTER}\r\n\r\n"))
            .await;
        let mut provider = loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            if until(&mut stream, "\r\n\r\n").await.starts_with("GET /v1/file ") {
                break stream;
            }
        };
        const SIZE: usize = 256 << 20;
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {SIZE}\r\n\r\n");
        provider.write_all(head.as_bytes()).await.unwrap();
        let piece = vec![b'x'; 1 << 20];
        let mut written = 0;
        while written < SIZE {
            match timeout(Duration::from_millis(500), provider.write(&piece)).await {
                Ok(count) => written += count.unwrap(),
                Err(_) => break,
            }
        }
        assert!(written < SIZE / 4, "{written} bytes went somewhere");
        drop(client);
        let mut rest = Vec::new();
        let gone = timeout(Duration::from_secs(5), async {
            while provider.write(&piece).await.is_ok() {}
            let _ = provider.read_to_end(&mut rest).await;
        });
        gone.await.unwrap();
        app.receipts(1).await;
    })
    .await;
}
