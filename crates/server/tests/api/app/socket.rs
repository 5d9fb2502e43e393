//! A WebSocket client that writes and reads its own frames.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufStream};
use tokio::net::TcpStream;

const PATIENCE: Duration = Duration::from_secs(60);
/// The key and the matching digest from the example of RFC 6455.
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
const DIGEST: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
const MASK: [u8; 4] = [0x11, 0x22, 0x33, 0x44];
const TEXT: u8 = 1;
const CLOSE: u8 = 8;
const PING: u8 = 9;

pub struct Socket {
    stream: BufStream<TcpStream>,
}

impl Socket {
    /// Sends a handshake; returns the head of the response and the connection.
    pub async fn handshake(address: SocketAddr, headers: &str) -> (String, Self) {
        let mut stream = BufStream::new(TcpStream::connect(address).await.unwrap());
        let head = format!(
            "GET /v1/responses HTTP/1.1\r\nhost: gateway\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: {KEY}\r\n{headers}\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(within(stream.read_u8()).await.unwrap());
        }
        (String::from_utf8(head).unwrap(), Self { stream })
    }

    pub async fn open(address: SocketAddr, key: &str) -> Self {
        let (head, socket) = Self::handshake(address, &format!("authorization: Bearer {key}\r\n")).await;
        assert!(head.starts_with("HTTP/1.1 101 ") && head.contains(DIGEST), "{head}");
        socket
    }

    pub async fn send(&mut self, message: &Value) {
        self.send_text(&message.to_string()).await;
    }

    pub async fn send_text(&mut self, text: &str) {
        self.write(TEXT, text.as_bytes()).await;
    }

    pub async fn close(mut self) {
        self.write(CLOSE, &1000_u16.to_be_bytes()).await;
    }

    async fn write(&mut self, opcode: u8, payload: &[u8]) {
        let mut frame = vec![0x80 | opcode];
        match payload.len() {
            length @ 0..=125 => frame.push(0x80 | length as u8),
            length => {
                frame.push(0x80 | 126);
                frame.extend(u16::try_from(length).unwrap().to_be_bytes());
            }
        }
        frame.extend(MASK);
        frame.extend(payload.iter().zip(MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask));
        self.stream.write_all(&frame).await.unwrap();
        self.stream.flush().await.unwrap();
    }

    /// The next message; answers pings, and returns `None` at the end.
    pub async fn receive(&mut self) -> Option<Value> {
        loop {
            let (opcode, payload) = within(self.read()).await?;
            match opcode {
                TEXT => return Some(serde_json::from_slice(&payload).unwrap()),
                PING => self.write(PING + 1, &payload).await,
                CLOSE => return None,
                _ => {}
            }
        }
    }

    async fn read(&mut self) -> Option<(u8, Vec<u8>)> {
        let first = self.stream.read_u8().await.ok()?;
        assert_eq!(first & 0xf0, 0x80, "one frame a message, and no extensions");
        let length = match self.stream.read_u8().await.ok()? {
            126 => u64::from(self.stream.read_u16().await.ok()?),
            127 => self.stream.read_u64().await.ok()?,
            short => u64::from(short),
        };
        let mut payload = vec![0; length as usize];
        self.stream.read_exact(&mut payload).await.ok()?;
        Some((first & 0x0f, payload))
    }

    /// Reads all events up to the end of a response, or an error.
    pub async fn receive_all(&mut self) -> Vec<Value> {
        let mut received = Vec::new();
        loop {
            let event = self.receive().await.unwrap_or_else(|| panic!("the connection ended: {received:#?}"));
            let ends = ["response.completed", "response.incomplete", "error"];
            let over = ends.iter().any(|end| event["type"] == *end);
            received.push(event);
            if over {
                return received;
            }
        }
    }

    /// Sends a request and reads all its events.
    pub async fn ask(&mut self, mut request: Value) -> Vec<Value> {
        request["type"] = "response.create".into();
        self.send(&request).await;
        self.receive_all().await
    }
}

async fn within<T>(waiting: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("the other side is silent"))
}
