//! A raw socket client and the response it received.

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::upstream::Upstream;

pub(in crate::upstream) struct RawResponse {
    pub status: u16,
    pub head: String,
    pub body: String,
    /// Whether the read failed instead of ending.
    pub broken: bool,
}

impl RawResponse {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("not JSON: {}", self.body))
    }

    pub fn data(&self) -> Vec<&str> {
        self.body.lines().filter_map(|line| line.strip_prefix("data: ")).collect()
    }

    /// Checks the status and returns the error message.
    #[track_caller]
    pub fn expect_error(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{}", self.body);
        self.json()["error"]["message"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    pub fn expect_ok(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.body);
        self.json()
    }

    pub fn chunks(&self) -> Vec<Value> {
        self.data().iter().filter_map(|data| serde_json::from_str(data).ok()).collect()
    }

    /// The text of a stream in the chat format.
    pub fn text(&self) -> String {
        self.chunks().iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str()).collect()
    }
}

pub(in crate::upstream) async fn send(
    upstream: &Upstream,
    method: &str,
    path: &str,
    body: &str,
) -> TcpStream {
    send_with(upstream, method, path, &[], body).await
}

pub(in crate::upstream) async fn send_with(
    upstream: &Upstream,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> TcpStream {
    let mut stream = TcpStream::connect(upstream.address()).await.unwrap();
    let length = body.len();
    let more: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: upstream\r\nconnection: close\r\ncontent-length: {length}\r\n{more}\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body.as_bytes()).await.unwrap();
    stream
}

pub(in crate::upstream) async fn ask(
    upstream: &Upstream,
    method: &str,
    path: &str,
    body: &str,
) -> RawResponse {
    ask_with(upstream, method, path, &[], body).await
}

pub(in crate::upstream) async fn ask_with(
    upstream: &Upstream,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> RawResponse {
    let mut stream = send_with(upstream, method, path, headers, body).await;
    let mut bytes = Vec::new();
    let broken = stream.read_to_end(&mut bytes).await.is_err();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").map_or((text.as_str(), ""), |(head, body)| (head, body));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let body = if head.contains("transfer-encoding: chunked") { dechunk(body) } else { body.to_owned() };
    RawResponse { status, head: head.to_owned(), body, broken }
}

/// Decodes a chunked body; an unfinished one is marked for the tests.
fn dechunk(mut rest: &str) -> String {
    let mut body = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            return body;
        }
        body.push_str(&after[..size]);
        rest = &after[size + 2..];
    }
    body + "UNFINISHED"
}

/// The base with these members set; `null` removes one.
pub(in crate::upstream) fn with(base: &Value, changes: &Value) -> Value {
    let mut changed = base.clone();
    for (name, value) in changes.as_object().unwrap() {
        if value.is_null() {
            changed.as_object_mut().unwrap().shift_remove(name);
        } else {
            changed[name] = value.clone();
        }
    }
    changed
}
