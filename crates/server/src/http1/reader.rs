//! The reading side of a connection.

use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf as _, Bytes, BytesMut};
use egress::HeadScan;
use parking_lot::Mutex;
use pipeline::services::body_work::BodyLease;
use tokio::io::AsyncReadExt as _;
use tokio::net::tcp::OwnedReadHalf;

use super::MAX_HEAD;
use super::request_body::RequestBody;
use super::request_head::{self, Parsed, RequestHead};

/// Bytes that are read at once, unless a longer body is announced.
const READ_SIZE: usize = 8 * 1024;
/// Maximum number of bytes of a body for which memory is reserved ahead of reading them.
const BODY_READ_SIZE: usize = 128 * 1024;

/// The next event on a connection that waits for a request.
pub(super) enum NextHead {
    Request(Box<RequestHead>),
    /// A request that hyper has to serve. Its bytes are still in the buffer.
    Unsupported,
    /// The client closed the connection, or it is closed now.
    Closed,
}

/// The reading side of a connection. It is shared with the body of the current request while that is incomplete.
#[derive(Clone)]
pub(super) struct Reader(Arc<Mutex<ReadSide>>);

struct ReadSide {
    half: OwnedReadHalf,
    buffer: BytesMut,
    scan: HeadScan,
    /// The number of bytes of the current request's body that have not been taken.
    body_left: u64,
}

impl Reader {
    pub(super) fn new(half: OwnedReadHalf, read_before: &[u8]) -> Self {
        Self(Arc::new(Mutex::new(ReadSide {
            half,
            buffer: read_before.into(),
            scan: HeadScan::default(),
            body_left: 0,
        })))
    }

    /// The socket and the bytes that were read and not used. Fails while a request body is in use.
    pub(super) fn into_parts(self) -> io::Result<(OwnedReadHalf, BytesMut)> {
        let side = Arc::into_inner(self.0).ok_or(io::ErrorKind::ResourceBusy)?.into_inner();
        Ok((side.half, side.buffer))
    }

    pub(super) fn poll_head(&self, context: &mut Context<'_>) -> Poll<io::Result<NextHead>> {
        let side = &mut *self.0.lock();
        loop {
            if side.scan.is_worth_parsing(&side.buffer) {
                match request_head::parse(&mut side.buffer) {
                    Parsed::Request(head) => {
                        side.scan.reset();
                        return Poll::Ready(Ok(NextHead::Request(head)));
                    }
                    Parsed::Unsupported => return Poll::Ready(Ok(NextHead::Unsupported)),
                    Parsed::Incomplete => {}
                }
            }
            // hyper refuses heads that are too long.
            if side.buffer.len() > MAX_HEAD {
                return Poll::Ready(Ok(NextHead::Unsupported));
            }
            if ready!(side.poll_fill(context, READ_SIZE))? == 0 {
                return Poll::Ready(Ok(NextHead::Closed));
            }
        }
    }

    /// The body of the request whose head was read last. One that is needed whole and not too long is collected here, with
    /// a lease on the memory for bodies.
    pub(super) fn body(&self, length: u64, whole: bool, lease: impl FnOnce() -> BodyLease) -> RequestBody {
        let side = &mut *self.0.lock();
        match usize::try_from(length) {
            Ok(length) if length <= side.buffer.len() => {
                RequestBody::complete(side.buffer.split_to(length).freeze())
            }
            _ => {
                side.body_left = length;
                let is_collected = whole && length <= BODY_READ_SIZE as u64;
                RequestBody::partial(self.clone(), is_collected.then(lease))
            }
        }
    }

    /// Takes the next bytes of the current request's body, all of them with `whole`. `None` at its end.
    pub(super) fn poll_body(
        &self,
        context: &mut Context<'_>,
        whole: bool,
    ) -> Poll<Option<io::Result<Bytes>>> {
        let side = &mut *self.0.lock();
        if side.body_left == 0 {
            return Poll::Ready(None);
        }
        let left = usize::try_from(side.body_left).unwrap_or(usize::MAX);
        let wanted = if whole { left } else { 1 };
        while side.buffer.len() < wanted {
            let room = (left - side.buffer.len()).min(BODY_READ_SIZE);
            match ready!(side.poll_fill(context, room)) {
                Ok(0) => return Poll::Ready(Some(Err(io::ErrorKind::UnexpectedEof.into()))),
                Ok(_) => {}
                Err(error) => return Poll::Ready(Some(Err(error))),
            }
        }
        let taken = left.min(side.buffer.len());
        side.body_left -= taken as u64;
        Poll::Ready(Some(Ok(side.buffer.split_to(taken).freeze())))
    }

    /// The number of bytes that were read and not taken.
    pub(super) fn buffered(&self) -> u64 {
        self.0.lock().buffer.len() as u64
    }

    pub(super) fn body_left(&self) -> u64 {
        self.0.lock().body_left
    }

    /// Completes when the client closes the connection while its request is being answered. Bytes of the next request
    /// are kept.
    pub(super) fn poll_closed(&self, context: &mut Context<'_>) -> Poll<()> {
        let side = &mut *self.0.lock();
        // While a body is incomplete, its reader notices the end of the connection.
        while side.body_left == 0 && side.buffer.len() <= MAX_HEAD {
            match ready!(side.poll_fill(context, READ_SIZE)) {
                Ok(0) | Err(_) => return Poll::Ready(()),
                Ok(_) => {}
            }
        }
        Poll::Pending
    }

    /// Reads the rest of a body that the handler has not read. Returns false if the connection cannot be used again.
    pub(super) async fn discard_body(&self, limit: u64, timeout: Duration) -> io::Result<bool> {
        match self.body_left() {
            // A body that is still in use could read bytes of the next request.
            _ if Arc::strong_count(&self.0) > 1 => Ok(false),
            0 => Ok(true),
            left if left > limit => Ok(false),
            _ => tokio::time::timeout(timeout, poll_fn(|context| self.poll_discard(context)))
                .await
                .unwrap_or(Ok(false)),
        }
    }

    fn poll_discard(&self, context: &mut Context<'_>) -> Poll<io::Result<bool>> {
        let side = &mut *self.0.lock();
        loop {
            let taken = usize::try_from(side.body_left).unwrap_or(usize::MAX).min(side.buffer.len());
            side.buffer.advance(taken);
            side.body_left -= taken as u64;
            if side.body_left == 0 {
                return Poll::Ready(Ok(true));
            }
            if ready!(side.poll_fill(context, READ_SIZE))? == 0 {
                return Poll::Ready(Ok(false));
            }
        }
    }

    /// Reads and discards what the client still sends before the connection is closed: closing a socket with unread
    /// bytes would reset the connection, and the client could lose the response.
    pub(super) async fn linger(&self, limit: u64, timeout: Duration) {
        if self.body_left() == 0 {
            return;
        }
        let mut discarded = 0;
        let reading = poll_fn(|context| {
            let side = &mut *self.0.lock();
            while discarded < limit {
                side.buffer.clear();
                match ready!(side.poll_fill(context, READ_SIZE)) {
                    Ok(0) | Err(_) => break,
                    Ok(count) => discarded += count as u64,
                }
            }
            Poll::Ready(())
        });
        let _ = tokio::time::timeout(timeout, reading).await;
    }
}

impl ReadSide {
    /// Reads at least one byte, or returns 0 at the end of the connection. While it waits, an empty buffer has no
    /// memory.
    fn poll_fill(&mut self, context: &mut Context<'_>, room: usize) -> Poll<io::Result<usize>> {
        if self.buffer.is_empty() && self.half.as_ref().poll_read_ready(context)?.is_pending() {
            self.buffer = BytesMut::new();
            return Poll::Pending;
        }
        self.buffer.reserve(room);
        pin!(self.half.read_buf(&mut self.buffer)).poll(context)
    }
}
