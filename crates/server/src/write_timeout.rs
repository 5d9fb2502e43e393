//! A TCP stream that fails with a timeout when the peer does not read.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};

use crate::framing::{ConflictFlag, FramingScanner};

/// A TCP stream with a write timeout: it fails when a write makes no progress for `patience`.
pub(crate) struct WriteTimeoutStream {
    stream: TcpStream,
    /// Bytes that were read before and are delivered first; the allocation is freed once they are delivered.
    replay: Vec<u8>,
    /// Set for HTTP/1.1 only.
    framing: Option<FramingScanner>,
    timeout: Duration,
    /// Armed only while a write is pending.
    timer: Option<Pin<Box<Sleep>>>,
}

impl WriteTimeoutStream {
    pub fn new(stream: TcpStream, replay: Vec<u8>, timeout: Duration) -> Self {
        Self { stream, replay, framing: None, timeout, timer: None }
    }

    /// Lets a framing scanner inspect all bytes that are read from now on.
    pub(crate) fn scan_framing(&mut self) -> ConflictFlag {
        let conflict = ConflictFlag::default();
        self.framing = Some(FramingScanner::new(conflict.clone()));
        conflict
    }

    /// Arms the timer when a write is pending, disarms it on progress, and fails the write when the timer expires.
    fn judge<T>(&mut self, context: &mut Context<'_>, outcome: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.timer = None;
            return outcome;
        }
        let timeout = self.timeout;
        let timer =
            self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + timeout)));
        // Polling the timer registers the waker, so that the task is woken when the timeout expires.
        match timer.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for WriteTimeoutStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let this = &mut *self;
        if this.replay.is_empty() {
            ready!(Pin::new(&mut this.stream).poll_read(context, buffer))?;
        } else {
            let count = this.replay.len().min(buffer.remaining());
            let rest = this.replay.split_off(count);
            buffer.put_slice(&this.replay);
            this.replay = rest;
        }
        if let Some(framing) = &mut this.framing {
            framing.inspect(&buffer.filled()[before..]);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for WriteTimeoutStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.judge(context, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.judge(context, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
