//! The writing side of a connection.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use http_body::SizeHint;
use tokio::io::AsyncWrite as _;
use tokio::net::tcp::OwnedWriteHalf;

use crate::write_timeout::WriteTimer;

/// Pieces up to this size are copied and written together; longer ones are written from where they are.
const COPY_LIMIT: usize = 4 * 1024;
/// Room for the head of a response.
const HEAD_SIZE: usize = 1024;
/// The writer takes no more bytes while this many copied ones wait.
const MAX_COPIED: usize = 16 * 1024;
/// The same of long pieces. A piece is usually what was read from a provider at once; with less room, the end of an answer that
/// arrived together with it would take a system call of its own.
const MAX_QUEUED: usize = 32 * 1024;
/// Maximum number of pieces in one system call.
const MAX_SLICES: usize = 16;

/// The writing side of a connection. It fails when a write makes no progress for the timeout.
pub(super) struct Writer {
    half: OwnedWriteHalf,
    /// Long pieces, and what was copied before them.
    queue: VecDeque<Bytes>,
    /// Heads, chunk sizes and short pieces, after those of the queue.
    copied: Vec<u8>,
    /// The number of bytes of `copied` that were written.
    written: usize,
    timer: WriteTimer,
}

impl Writer {
    pub(super) fn new(half: OwnedWriteHalf, timeout: Duration) -> Self {
        Self { half, queue: VecDeque::new(), copied: Vec::new(), written: 0, timer: WriteTimer::new(timeout) }
    }

    pub(super) fn into_half(self) -> OwnedWriteHalf {
        self.half
    }

    /// The buffer to which the head of a response is written, with room for a short body of this size.
    pub(super) fn head(&mut self, body: &SizeHint) -> &mut Vec<u8> {
        let body =
            body.exact().and_then(|size| usize::try_from(size).ok()).filter(|size| *size <= COPY_LIMIT);
        self.copied.reserve(HEAD_SIZE + body.unwrap_or(0));
        &mut self.copied
    }

    pub(super) fn push(&mut self, piece: Bytes) {
        if piece.len() <= COPY_LIMIT {
            return self.copied.extend_from_slice(&piece);
        }
        self.enqueue_copied();
        self.queue.push_back(piece);
    }

    /// Appends a piece as a chunk of the chunked transfer coding.
    pub(super) fn push_chunk(&mut self, piece: Bytes) {
        let mut digits = [0; 18];
        self.copied.extend_from_slice(size_line(piece.len(), &mut digits));
        self.push(piece);
        self.copied.extend_from_slice(b"\r\n");
    }

    pub(super) fn push_last_chunk(&mut self) {
        self.copied.extend_from_slice(b"0\r\n\r\n");
    }

    pub(super) fn is_full(&self) -> bool {
        let queued: usize = self.queue.iter().map(Bytes::len).sum();
        queued >= MAX_QUEUED || self.copied.len() - self.written >= MAX_COPIED
    }

    fn enqueue_copied(&mut self) {
        if self.copied.len() > self.written {
            let mut copied = Bytes::from(std::mem::take(&mut self.copied));
            copied.advance(self.written);
            self.queue.push_back(copied);
        }
        self.copied.clear();
        self.written = 0;
    }

    pub(super) fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.queue.is_empty() {
            self.enqueue_copied();
        }
        while !self.queue.is_empty() {
            let mut slices = [IoSlice::new(&[]); MAX_SLICES];
            let count = self.queue.len().min(MAX_SLICES);
            for (slice, piece) in slices.iter_mut().zip(&self.queue) {
                *slice = IoSlice::new(piece);
            }
            let outcome = Pin::new(&mut self.half).poll_write_vectored(context, &slices[..count]);
            let written = ready!(self.timer.limit(context, outcome)).and_then(progress)?;
            self.advance_queue(written);
        }
        while self.written < self.copied.len() {
            let outcome = Pin::new(&mut self.half).poll_write(context, &self.copied[self.written..]);
            self.written += ready!(self.timer.limit(context, outcome)).and_then(progress)?;
        }
        self.copied.clear();
        self.written = 0;
        Poll::Ready(Ok(()))
    }

    fn advance_queue(&mut self, mut written: usize) {
        while let Some(piece) = self.queue.front_mut() {
            if written < piece.len() {
                return piece.advance(written);
            }
            written -= piece.len();
            self.queue.pop_front();
        }
    }

    /// Frees the buffers of a connection that waits for its next request.
    pub(super) fn release(&mut self) {
        self.copied = Vec::new();
        self.queue = VecDeque::new();
    }

    /// Sends the end of the connection to the client.
    pub(super) async fn shut_down(&mut self) -> io::Result<()> {
        poll_fn(|context| Pin::new(&mut self.half).poll_shutdown(context)).await
    }
}

/// Refuses a write of nothing, which would be repeated forever.
fn progress(written: usize) -> io::Result<usize> {
    if written == 0 { Err(io::ErrorKind::WriteZero.into()) } else { Ok(written) }
}

/// The line before a chunk: its size in hexadecimal digits.
fn size_line(size: usize, line: &mut [u8; 18]) -> &[u8] {
    let mut start = line.len() - 2;
    line[start..].copy_from_slice(b"\r\n");
    let mut rest = size;
    loop {
        start -= 1;
        line[start] = b"0123456789abcdef"[rest & 15];
        rest >>= 4;
        if rest == 0 {
            return &line[start..];
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    #[tokio::test]
    async fn short_pieces_are_taken_after_a_long_one_until_the_writer_is_full() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (mut other, _) = listener.accept().await.unwrap();
        let mut writer = Writer::new(client.into_split().1, Duration::from_secs(5));
        let long = Bytes::from(vec![b'a'; 20 * 1024]);
        let mut expected = Vec::new();
        for _ in 0..2 {
            for piece in [long.clone(), Bytes::from_static(b"end"), long.clone()] {
                assert!(!writer.is_full());
                expected.extend_from_slice(&piece);
                writer.push(piece);
            }
            assert!(writer.is_full());
            poll_fn(|context| writer.poll_flush(context)).await.unwrap();
        }
        drop(writer);
        let mut received = Vec::new();
        other.read_to_end(&mut received).await.unwrap();
        assert_eq!(received, expected);
    }

    #[test]
    fn chunk_sizes_are_hexadecimal() {
        for size in [0, 1, 15, 16, 255, 4096, 65_535, usize::MAX] {
            let mut line = [0; 18];
            assert_eq!(size_line(size, &mut line), format!("{size:x}\r\n").as_bytes());
        }
    }
}
