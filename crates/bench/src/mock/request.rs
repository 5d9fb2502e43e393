//! A minimal HTTP/1.1 request parser for bodies with a Content-Length.

use std::io;

use bytes::{Buf as _, BytesMut};
use memchr::memmem;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const MAX_HEAD: usize = 64 * 1024;

pub(super) struct Request {
    pub method: String,
    /// Without the query.
    pub path: String,
    pub model: String,
    pub streamed: bool,
    pub include_usage: bool,
}

pub(super) struct Connection {
    stream: TcpStream,
    buffer: BytesMut,
}

impl Connection {
    pub fn new(stream: TcpStream) -> Self {
        Self { stream, buffer: BytesMut::with_capacity(8 * 1024) }
    }

    pub fn stream(&mut self) -> &mut TcpStream {
        &mut self.stream
    }

    /// Reads the next request; `None` when the client closed the connection.
    pub async fn next(&mut self) -> io::Result<Option<Request>> {
        let head_length = loop {
            if let Some(end) = memmem::find(&self.buffer, b"\r\n\r\n") {
                break end + 4;
            }
            if self.buffer.len() > MAX_HEAD {
                return Err(io::ErrorKind::InvalidData.into());
            }
            if self.fill().await? == 0 {
                return Ok(None);
            }
        };
        let head = String::from_utf8_lossy(self.buffer.get(..head_length).unwrap_or_default()).into_owned();
        if header(&head, "transfer-encoding").is_some() {
            self.stream
                .write_all(b"HTTP/1.1 411 Length Required\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
                .await?;
            return Ok(None);
        }
        if header(&head, "expect").is_some() {
            self.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
        }
        let length: usize = header(&head, "content-length").and_then(|value| value.parse().ok()).unwrap_or(0);
        let whole = head_length.saturating_add(length);
        self.buffer.reserve(whole.saturating_sub(self.buffer.len()).min(64 << 20));
        while self.buffer.len() < whole {
            if self.fill().await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        let request = read(&head, self.buffer.get(head_length..whole).unwrap_or_default());
        self.buffer.advance(whole);
        Ok(Some(request))
    }

    async fn fill(&mut self) -> io::Result<usize> {
        self.stream.read_buf(&mut self.buffer).await
    }
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.split("\r\n").skip(1).find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

fn read(head: &str, body: &[u8]) -> Request {
    let mut words = head.split_ascii_whitespace();
    let method = words.next().unwrap_or_default().to_owned();
    let target = words.next().unwrap_or_default();
    Request {
        method,
        path: target.split('?').next().unwrap_or_default().to_owned(),
        model: text_field(body, "\"model\"").unwrap_or_default(),
        streamed: is_true(body, "\"stream\""),
        include_usage: is_true(body, "\"include_usage\""),
    }
}

/// The bytes after the colon of a key. The first match counts: callers put no such text into a message.
fn value<'a>(body: &'a [u8], key: &str) -> Option<&'a [u8]> {
    let start = memmem::find(body, key.as_bytes())? + key.len();
    body.get(start..)?.trim_ascii_start().strip_prefix(b":").map(<[u8]>::trim_ascii_start)
}

fn is_true(body: &[u8], key: &str) -> bool {
    value(body, key).is_some_and(|value| value.starts_with(b"true"))
}

fn text_field(body: &[u8], key: &str) -> Option<String> {
    let text = value(body, key)?.strip_prefix(b"\"")?;
    let end = memchr::memchr(b'"', text)?;
    let name = String::from_utf8_lossy(text.get(..end)?);
    Some(name.chars().filter(|letter| !letter.is_control() && *letter != '\\').collect())
}
