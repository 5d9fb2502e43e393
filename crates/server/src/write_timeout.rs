//! The time limit of writes, and a TCP stream that fails with a timeout when the peer does not read.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;

use crate::framing::{ConflictFlag, FramingScanner};

/// A TCP stream with a write timeout: it fails when a write makes no progress for `patience`.
pub(crate) struct WriteTimeoutStream {
    stream: TcpStream,
    /// Bytes that were read before and are delivered first; the allocation is freed once they are delivered.
    replay: Vec<u8>,
    /// Set for HTTP/1.1 only.
    framing: Option<FramingScanner>,
    timer: WriteTimer,
}

impl WriteTimeoutStream {
    pub fn new(stream: TcpStream, replay: Vec<u8>, timeout: Duration) -> Self {
        Self { stream, replay, framing: None, timer: WriteTimer::new(timeout) }
    }

    /// Lets a framing scanner inspect all bytes that are read from now on.
    pub(crate) fn scan_framing(&mut self) -> ConflictFlag {
        let conflict = ConflictFlag::default();
        self.framing = Some(FramingScanner::new(conflict.clone()));
        conflict
    }
}

/// The time limit of writes that make no progress.
pub(crate) struct WriteTimer {
    timeout: Duration,
    /// Armed only while a write is pending.
    sleep: Option<Pin<Box<Sleep>>>,
}

impl WriteTimer {
    pub(crate) fn new(timeout: Duration) -> Self {
        Self { timeout, sleep: None }
    }

    /// Arms the timer when a write is pending, disarms it on progress, and fails the write when the timer expires.
    pub(crate) fn limit<T>(
        &mut self,
        context: &mut Context<'_>,
        outcome: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.sleep = None;
            return outcome;
        }
        let timeout = self.timeout;
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(timeout)));
        // Polling the timer registers the waker, so that the task is woken when the timeout expires.
        ready!(sleep.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
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
        self.timer.limit(context, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.timer.limit(context, outcome)
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
