//! A raw TCP client that sends exact bytes and records every byte received.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::MASTER;

pub struct Line {
    stream: TcpStream,
    received: Vec<u8>,
}

impl Line {
    pub async fn open(address: SocketAddr) -> Self {
        Self { stream: TcpStream::connect(address).await.unwrap(), received: Vec::new() }
    }

    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).await.unwrap();
    }

    /// Sends bytes that the peer may refuse to read.
    pub async fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> std::io::Result<()> {
        self.stream.write_all(bytes.as_ref()).await
    }

    pub async fn post_chat(&mut self, body: &Value) {
        let body = body.to_string();
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer {MASTER}\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        self.send(head + &body).await;
    }

    /// Waits until the received text contains `expected` and returns all of it.
    pub async fn read_until(&mut self, expected: &str) -> String {
        loop {
            let text = String::from_utf8_lossy(&self.received).into_owned();
            if text.contains(expected) {
                return text;
            }
            assert!(self.read().await > 0, "the connection ended before '{expected}': {text}");
        }
    }

    /// Reads until the peer closes the connection and returns everything received.
    pub async fn receive_all(&mut self) -> String {
        while self.read().await > 0 {}
        String::from_utf8_lossy(&self.received).into_owned()
    }

    pub fn clear(&mut self) {
        self.received.clear();
    }

    async fn read(&mut self) -> usize {
        let reading = self.stream.read_buf(&mut self.received);
        tokio::time::timeout(Duration::from_secs(5), reading).await.unwrap_or(Ok(0)).unwrap_or(0)
    }
}
