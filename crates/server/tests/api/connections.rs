//! Tests of connections over real sockets: slots, protocol detection, framing, slow readers.

use std::time::Duration;

use server::ListenConfig;

use crate::app::{self, Line};

/// A connection that ends before its request must give its slot back at once, not at the header timeout.
#[tokio::test]
async fn closed_connections_free_their_slots() {
    app::each(async |app| {
        let listening = app.listen_with(ListenConfig { max_connections: 2, ..ListenConfig::default() }).await;
        for opening in ["", "P", "PRI * HTTP/2.0\r\n", "GET /health HTT"] {
            for _ in 0..4 {
                let mut line = Line::open(listening.address).await;
                line.send(opening).await;
            }
            let mut line = Line::open(listening.address).await;
            line.send("GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await;
            let answered = tokio::time::timeout(Duration::from_secs(2), line.read_until("\"ok\"")).await;
            assert!(answered.is_ok(), "no free slot after connections that sent {opening:?}");
        }
    })
    .await;
}

/// The first bytes of a method may look like the HTTP/2 preface.
#[tokio::test]
async fn a_request_in_pieces_is_read_whole() {
    app::each(async |app| {
        let listening = app.listen().await;
        let mut line = Line::open(listening.address).await;
        for piece in ["P", "O", "ST /health HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n"] {
            line.send(piece).await;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let received = line.read_until("method_not_allowed").await;
        assert!(received.starts_with("HTTP/1.1 405 "), "{received}");
    })
    .await;
}

/// A refusal is decided before the body arrives; the connection must serve the next request nevertheless.
#[tokio::test]
async fn a_connection_is_reusable_after_a_refusal_whose_body_came_late() {
    app::each(async |app| {
        let listening = app.listen().await;
        let chat = app::question("openai/text").to_string();
        let head = |path: &str, key: &str| {
            let length = chat.len();
            format!(
                "POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\ncontent-length: {length}\r\n\r\n"
            )
        };
        for (refused, error) in [
            ("/v1/chat/completions", "invalid_api_key"),
            ("/v1/messages", "authentication_error"),
            ("/p/openai/v1/chat/completions", "invalid_api_key"),
            ("/admin/api/v1/auth-keys", "invalid_api_key"),
        ] {
            let mut line = Line::open(listening.address).await;
            line.send(head(refused, "wrong")).await;
            tokio::time::sleep(Duration::from_millis(100)).await;
            line.send(&chat).await;
            assert!(line.read_until(error).await.starts_with("HTTP/1.1 401 "), "{refused}");
            line.send(head("/v1/chat/completions", app::MASTER) + &chat).await;
            line.read_until("chat.completion").await;
        }
    })
    .await;
}

const FRAMINGS: [(&str, &str); 7] = [
    ("host: x\r\ncontent-length: LENGTH\r\ntransfer-encoding: chunked\r\n", "content-length"),
    ("host: x\r\ntransfer-encoding: chunked\r\ncontent-length: LENGTH\r\n", "content-length"),
    ("host: x\r\ntransfer-encoding: gzip, chunked\r\n", "transfer-encoding"),
    ("host: x\r\ntransfer-encoding: gzip\r\ntransfer-encoding: chunked\r\n", "transfer-encoding"),
    ("host: x\r\nhost: y\r\ntransfer-encoding: chunked\r\n", "host"),
    ("host: x\r\nhost: x\r\ntransfer-encoding: chunked\r\n", "host"),
    ("transfer-encoding: chunked\r\n", "host"),
];

/// Each request is valid but for its framing: nothing else may be the reason of the refusal.
#[tokio::test]
async fn ambiguous_framing_is_refused_before_the_call_is_made() {
    app::each(async |app| {
        let listening = app.listen().await;
        let chat = app::question("openai/text").to_string();
        let chunked = format!("{:x}\r\n{chat}\r\n0\r\n\r\n", chat.len());
        let send = async |headers: &str, after: &str| {
            let mut line = Line::open(listening.address).await;
            let headers = headers.replace("LENGTH", &chunked.len().to_string());
            let key = app::MASTER;
            line.send(format!(
                "{after}POST /v1/chat/completions HTTP/1.1\r\nauthorization: Bearer {key}\r\n{headers}\r\n{chunked}"
            ))
            .await;
            line
        };
        let mut good = send("host: x\r\ntransfer-encoding: chunked\r\n", "").await;
        assert!(good.read_until("chat.completion").await.starts_with("HTTP/1.1 200 "));
        let calls = app.upstream.requests().len();
        for (headers, param) in FRAMINGS {
            for after in ["", "GET /health HTTP/1.1\r\nhost: x\r\n\r\n"] {
                let received = send(headers, after).await.receive_all().await;
                let answer = received.rsplit("HTTP/1.1 ").next().unwrap();
                assert!(answer.starts_with("400 "), "{headers:?}: {received}");
                assert!(answer.contains("connection: close") && answer.contains("x-request-id: "), "{received}");
                assert!(answer.contains(&format!("\"param\":\"{param}\"")), "{headers:?}: {received}");
            }
        }
        assert_eq!(app.upstream.requests().len(), calls, "a refused call was sent to the provider");
    })
    .await;
}

#[tokio::test]
async fn refused_framing_has_the_envelope_of_the_route() {
    app::each(async |app| {
        let listening = app.listen().await;
        let mut line = Line::open(listening.address).await;
        line.send("POST /v1/messages HTTP/1.1\r\ncontent-length: 0\r\n\r\n").await;
        let received = line.receive_all().await;
        assert!(
            received.contains(r#"{"type":"error","error":{"type":"invalid_request_error""#),
            "{received}"
        );
    })
    .await;
}

#[tokio::test]
async fn request_heads_are_limited_to_64_kib() {
    app::each(async |app| {
        let listening = app.listen().await;
        for (size, status) in [(50_000, "200 "), (70_000, "431 "), (380_000, "431 ")] {
            let mut line = Line::open(listening.address).await;
            let head = format!(
                "GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-large: {}",
                "x".repeat(size)
            );
            // The refusal may close the connection before all is sent.
            let _ = line.try_send(head + "\r\n\r\n").await;
            let received = line.receive_all().await;
            assert!(
                received.starts_with(&format!("HTTP/1.1 {status}")) || received.is_empty() && size > 100_000,
                "{size}: {received}"
            );
        }
        // Without its end, it is refused as soon as it is too large.
        let mut line = Line::open(listening.address).await;
        line.send(format!("GET /health HTTP/1.1\r\nhost: x\r\nx-large: {}", "x".repeat(66_000))).await;
        assert!(line.receive_all().await.starts_with("HTTP/1.1 431 "));
    })
    .await;
}

type Sender = hyper::client::conn::http2::SendRequest<http_body_util::Full<bytes::Bytes>>;

async fn connect_http2(
    app: &app::TestApp,
    address: std::net::SocketAddr,
    window: u32,
) -> (Sender, tokio::task::JoinHandle<()>) {
    let stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let (client, connection) = hyper::client::conn::http2::Builder::new(hyper_util::rt::TokioExecutor::new())
        .initial_stream_window_size(window)
        .initial_connection_window_size(1 << 20)
        .handshake(hyper_util::rt::TokioIo::new(stream))
        .await
        .unwrap();
    let driver = app.gateway.tasks.spawn(async move { drop(connection.await) });
    (client, driver)
}

async fn chat_http2(client: &mut Sender, model: &str, stream: bool) -> http::Response<hyper::body::Incoming> {
    let mut body = app::question(model);
    body["stream"] = stream.into();
    let request = http::Request::post("http://gateway/v1/chat/completions")
        .header("authorization", format!("Bearer {}", app::MASTER))
        .body(http_body_util::Full::new(bytes::Bytes::from(body.to_string())))
        .unwrap();
    client.send_request(request).await.unwrap()
}

/// A client that stops reading one stream loses that stream; the others of its connection go on.
#[tokio::test]
async fn a_stalled_http2_stream_is_reset_by_itself() {
    use http_body_util::BodyExt as _;
    app::each(async |app| {
        let limit = Duration::from_millis(400);
        let listening =
            app.listen_with(ListenConfig { write_patience: limit, ..ListenConfig::default() }).await;
        for stream in [true, false] {
            let (mut client, _) = connect_http2(&app, listening.address, 4096).await;
            let stalled = chat_http2(&mut client, "openai/huge-event-256", stream).await;
            assert_eq!(stalled.status(), 200);
            // Slower than the timeout in all, and never silent for so long: the provider is slow here, not the client.
            let slow = chat_http2(&mut client, "openai/drip-100", true).await;
            let read = slow.into_body().collect().await.unwrap().to_bytes();
            assert!(read.ends_with(b"data: [DONE]\n\n"));
            tokio::time::sleep(limit * 2).await;
            assert!(stalled.into_body().collect().await.is_err(), "the stalled stream was not reset");
        }
        let (mut client, driver) = connect_http2(&app, listening.address, 4096).await;
        let whole = chat_http2(&mut client, "openai/huge-event-256", false).await;
        assert!(whole.into_body().collect().await.unwrap().to_bytes().len() > 256 * 1024);
        // Without a stream, the connection is closed as well.
        tokio::time::timeout(limit * 5, driver).await.expect("an idle connection is closed").unwrap();
    })
    .await;
}
