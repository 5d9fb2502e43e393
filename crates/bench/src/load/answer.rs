//! Reads one HTTP/1.1 response to its end and keeps only the parts that the check needs.

use std::io;
use std::time::Duration;

use bytes::{Buf as _, BytesMut};
use memchr::memmem;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::time::Instant;

const TAIL: usize = 1024;

pub(super) struct Answer {
    pub first_byte: Duration,
    pub bytes: u64,
    /// Whether the server closes the connection after this response.
    pub closes: bool,
    status: u16,
    tail: BytesMut,
}

impl Answer {
    pub fn check(self, streamed: bool) -> io::Result<Self> {
        if self.status != 200 {
            let text = String::from_utf8_lossy(&self.tail);
            return Err(io::Error::other(format!("status {}: {text}", self.status)));
        }
        if streamed && memmem::find(&self.tail, b"[DONE]").is_none() {
            return Err(io::Error::other("the stream ended without [DONE]"));
        }
        Ok(self)
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        if let Some(last) = bytes.len().checked_sub(TAIL).and_then(|start| bytes.get(start..)) {
            self.tail.clear();
            self.tail.extend_from_slice(last);
            return;
        }
        let over = (self.tail.len() + bytes.len()).saturating_sub(TAIL);
        self.tail.advance(over.min(self.tail.len()));
        self.tail.extend_from_slice(bytes);
    }
}

#[derive(Default)]
pub(super) struct Reader {
    buffer: BytesMut,
}

enum Framing {
    Length(u64),
    Chunked,
    UntilClosed,
}

impl Reader {
    pub async fn read(
        &mut self,
        stream: &mut (impl AsyncRead + Unpin),
        started: Instant,
    ) -> io::Result<Answer> {
        let end = loop {
            if let Some(end) = memmem::find(&self.buffer, b"\r\n\r\n") {
                break end + 4;
            }
            self.require(stream).await?;
        };
        let head = self.buffer.split_to(end);
        let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        let framing = framing(&head);
        let closes = head.contains("\r\nconnection: close") || matches!(framing, Framing::UntilClosed);
        let mut answer =
            Answer { first_byte: Duration::ZERO, bytes: 0, closes, status, tail: BytesMut::new() };
        if self.buffer.is_empty() && !matches!(framing, Framing::Length(0)) {
            self.fill(stream).await?;
        }
        answer.first_byte = started.elapsed();
        match framing {
            Framing::Length(length) => self.take(stream, length, &mut answer).await?,
            Framing::Chunked => self.take_chunks(stream, &mut answer).await?,
            Framing::UntilClosed => loop {
                answer.keep(&self.buffer);
                self.buffer.clear();
                if self.fill(stream).await? == 0 {
                    break;
                }
            },
        }
        Ok(answer)
    }

    async fn take(
        &mut self,
        stream: &mut (impl AsyncRead + Unpin),
        mut left: u64,
        answer: &mut Answer,
    ) -> io::Result<()> {
        loop {
            let ready = usize::try_from(left).unwrap_or(usize::MAX).min(self.buffer.len());
            answer.keep(&self.buffer.split_to(ready));
            left -= ready as u64;
            if left == 0 {
                return Ok(());
            }
            self.require(stream).await?;
        }
    }

    async fn take_chunks(
        &mut self,
        stream: &mut (impl AsyncRead + Unpin),
        answer: &mut Answer,
    ) -> io::Result<()> {
        loop {
            let line = self.line(stream).await?;
            let digits =
                line.as_ref().split(|byte: &u8| *byte == b';').next().unwrap_or_default().trim_ascii();
            let size =
                std::str::from_utf8(digits).ok().and_then(|digits| u64::from_str_radix(digits, 16).ok());
            match size.ok_or_else(|| io::Error::other("a chunk has no size"))? {
                0 => break,
                size => self.take(stream, size, answer).await?,
            }
            if !self.line(stream).await?.is_empty() {
                return Err(io::Error::other("a chunk is longer than it said"));
            }
        }
        while !self.line(stream).await?.is_empty() {}
        Ok(())
    }

    /// Reads up to the next line end and returns the line without it.
    async fn line(&mut self, stream: &mut (impl AsyncRead + Unpin)) -> io::Result<BytesMut> {
        loop {
            if let Some(end) = memmem::find(&self.buffer, b"\r\n") {
                let mut line = self.buffer.split_to(end + 2);
                line.truncate(end);
                return Ok(line);
            }
            self.require(stream).await?;
        }
    }

    async fn require(&mut self, stream: &mut (impl AsyncRead + Unpin)) -> io::Result<()> {
        match self.fill(stream).await? {
            0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the connection was closed in the answer")),
            _ => Ok(()),
        }
    }

    async fn fill(&mut self, stream: &mut (impl AsyncRead + Unpin)) -> io::Result<usize> {
        self.buffer.reserve(32 * 1024);
        stream.read_buf(&mut self.buffer).await
    }
}

fn framing(head: &str) -> Framing {
    if head.contains("\r\ntransfer-encoding: chunked") {
        return Framing::Chunked;
    }
    let length =
        head.split("\r\n").find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    length.map_or(Framing::UntilClosed, Framing::Length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt as _;

    /// Delivers the text in pieces of `step` bytes, then closes.
    async fn read(text: &str, step: usize) -> io::Result<Answer> {
        let (mut near, mut far) = tokio::io::duplex(step);
        let write = async {
            far.write_all(text.as_bytes()).await.unwrap();
            drop(far);
        };
        let mut reader = Reader::default();
        let (answer, ()) = tokio::join!(reader.read(&mut near, Instant::now()), write);
        answer
    }

    #[tokio::test]
    async fn every_framing_in_any_pieces() {
        for step in [1, 2, 3, 7, 4096] {
            let length = read("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", step).await.unwrap();
            assert_eq!(
                (length.status, length.bytes, &length.tail[..], length.closes),
                (200, 5, &b"hello"[..], false)
            );
            let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n";
            let chunked = read(text, step).await.unwrap();
            assert_eq!((chunked.bytes, &chunked.tail[..], chunked.closes), (5, &b"hello"[..], true));
            let open = read("HTTP/1.1 500 No\r\n\r\nhello", step).await.unwrap();
            assert_eq!((open.status, open.bytes, open.closes), (500, 5, true));
            assert!(open.check(false).is_err());
        }
    }

    #[tokio::test]
    async fn an_answer_cut_short_is_an_error() {
        for text in [
            "",
            "HTTP/1.1 200 OK\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhell",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nhel\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nhello\r\n0\r\n\r\n",
        ] {
            assert!(read(text, 64).await.is_err(), "{text}");
        }
    }

    #[tokio::test]
    async fn a_stream_must_end_with_done() {
        let answer = |end: &str| format!("HTTP/1.1 200 OK\r\n\r\n{}{end}", "data: x\n\n".repeat(500));
        assert!(read(&answer("data: [DONE]\n\n"), 4096).await.unwrap().check(true).is_ok());
        assert!(read(&answer(""), 4096).await.unwrap().check(true).is_err());
        assert!(read(&answer("data: [DONE]\n\n"), 11).await.unwrap().check(true).is_ok());
    }
}
