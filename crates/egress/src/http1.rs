//! An HTTP/1.1 connection, driven by the task that waits for its response.
//!
//! It is written here and not taken from a library because the response to a call passes through it: a library hands
//! each chunk of a stream from its connection to its body through a channel, which costs more than all other work on
//! the chunk. Here all chunks that one read returns become one slice of the read buffer.

mod body_decoder;
mod head_scan;
mod request_writer;
mod response_head;

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use bytes::{Bytes, BytesMut};
use http::Method;
use tokio::io::{AsyncRead as _, ReadBuf};
use tokio_util::io::poll_read_buf;

use crate::error::{EgressError, EgressErrorKind};
use crate::transport::Stream;
use body_decoder::{BodyDecoder, Malformed};
pub use head_scan::HeadScan;
pub(crate) use request_writer::{Http1Request, write_header};
use request_writer::{RequestWriter, WriteError};
use response_head::HeadParser;
pub(crate) use response_head::ResponseHead;

/// The least space for one read. A read that fills it is followed by another.
const READ_SIZE: usize = 8 * 1024;
/// After so many reads in a row that needed no more than the least space, a connection gets no more.
const SMALL_READS: u8 = 8;
/// The least space that is worth a read; with less the buffer is extended.
const MIN_SPACE: usize = 1024;
/// Reading stops at this size, and the bytes are passed on.
const READ_LIMIT: usize = 64 * 1024;
/// Bodies of a known length up to this size are read into one buffer.
const WHOLE_LIMIT: u64 = 1 << 20;

pub(crate) struct Http1 {
    stream: Stream,
    buffer: BytesMut,
    read_space: ReadSpace,
    /// The request, until the next one.
    writer: Option<RequestWriter>,
    decoder: BodyDecoder,
    /// The upstream keeps the connection open after the response.
    keep_alive: bool,
    /// Bytes of the current response have arrived.
    received: bool,
    /// An error that occurred after bytes were read; reported by the next read.
    read_error: Option<io::Error>,
    /// The upstream closed the connection before the request was written.
    write_error: Option<EgressError>,
    /// The runtime whose reactor the socket is registered with.
    home: tokio::runtime::Id,
}

/// A failed exchange; `silent` if there is no sign that the upstream responded.
pub(crate) struct Failure {
    pub(crate) error: EgressError,
    pub(crate) silent: bool,
}

impl Http1 {
    pub(crate) fn new(stream: Stream) -> Box<Self> {
        Box::new(Self {
            stream,
            buffer: BytesMut::new(),
            read_space: ReadSpace::default(),
            writer: None,
            decoder: BodyDecoder::Ended,
            keep_alive: true,
            received: false,
            read_error: None,
            write_error: None,
            home: tokio::runtime::Handle::current().id(),
        })
    }

    pub(crate) fn home(&self) -> tokio::runtime::Id {
        self.home
    }

    /// Sends a request and returns the head of its response. The body of the request may still be under way.
    pub(crate) async fn exchange(&mut self, request: Http1Request) -> Result<ResponseHead, Failure> {
        let method = request.method.clone();
        self.received = false;
        // Until the response says otherwise: an exchange that is given up leaves the connection in an unknown state.
        self.keep_alive = false;
        self.writer = Some(RequestWriter::new(request));
        let mut parser = HeadParser::default();
        let outcome = poll_fn(|context| self.poll_exchange(context, &mut parser, &method)).await;
        outcome.map_err(|error| Failure { error, silent: !self.received })
    }

    fn poll_exchange(
        &mut self,
        context: &mut Context<'_>,
        parser: &mut HeadParser,
        method: &Method,
    ) -> Poll<Result<ResponseHead, EgressError>> {
        self.send_rest(context)?;
        loop {
            if let Some(mut head) = parser.parse(&mut self.buffer, method)? {
                self.decoder = std::mem::replace(&mut head.body, BodyDecoder::Ended);
                self.keep_alive = head.keep_alive && self.write_error.is_none();
                return Poll::Ready(Ok(head));
            }
            let count = match ready!(self.poll_fill(context)) {
                Ok(count) => count,
                Err(error) => return Poll::Ready(Err(self.write_error.take().unwrap_or(error))),
            };
            if count == 0 {
                return Poll::Ready(Err(self.write_error.take().unwrap_or_else(incomplete)));
            }
        }
    }

    /// The next bytes of the body; empty at its end.
    pub(crate) fn poll_body(&mut self, context: &mut Context<'_>) -> Poll<Result<Bytes, EgressError>> {
        self.send_rest(context)?;
        loop {
            let data = self.decoder.decode(&mut self.buffer).map_err(|Malformed| malformed())?;
            if !data.is_empty() || self.decoder.is_ended() {
                return Poll::Ready(Ok(data));
            }
            if ready!(self.poll_fill(context))? == 0 && !self.decoder.end() {
                return Poll::Ready(Err(incomplete()));
            }
        }
    }

    /// Reads a body of known length into one buffer, so that `poll_body` returns it in one piece. Does nothing for
    /// other bodies. `so_far` is called with the number of bytes received.
    pub(crate) async fn buffer_body(&mut self, mut so_far: impl FnMut(usize)) -> Result<(), EgressError> {
        let BodyDecoder::Length(length @ ..=WHOLE_LIMIT) = self.decoder else { return Ok(()) };
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        loop {
            so_far(self.buffer.len().min(length));
            let Some(missing) = length.checked_sub(self.buffer.len()).filter(|missing| *missing > 0) else {
                return Ok(());
            };
            // One byte more than announced: a read that does not fill the buffer needs no second one to see that
            // nothing else has arrived.
            self.buffer.reserve(missing + 1);
            let fill = |context: &mut Context<'_>| {
                self.send_rest(context)?;
                self.poll_fill(context)
            };
            if poll_fn(fill).await? == 0 {
                return Err(incomplete());
            }
        }
    }

    pub(crate) fn body_length(&self) -> Option<u64> {
        match self.decoder {
            BodyDecoder::Length(length) => Some(length),
            BodyDecoder::Ended => Some(0),
            BodyDecoder::Chunked(_) | BodyDecoder::UntilClose => None,
        }
    }

    pub(crate) fn is_body_read(&self) -> bool {
        self.decoder.is_ended()
    }

    /// Whether the connection can take another request: both messages are complete, and nothing followed them.
    pub(crate) fn is_reusable(&mut self) -> bool {
        self.keep_alive
            && self.decoder.is_ended()
            && self.buffer.is_empty()
            && self.writer.as_ref().is_none_or(RequestWriter::is_done)
            && self.is_idle()
    }

    /// Releases what an idle connection does not need. The buffer may be part of a large allocation.
    pub(crate) fn rest(&mut self) {
        self.writer = None;
        self.buffer = BytesMut::new();
    }

    /// Whether the upstream has kept the connection open without sending anything; bytes that nobody asked for make it
    /// useless. Also replaces the waker of the task that used the connection last.
    pub(crate) fn is_idle(&mut self) -> bool {
        let mut byte = [0];
        let mut buffer = ReadBuf::new(&mut byte);
        Pin::new(&mut self.stream)
            .poll_read(&mut Context::from_waker(Waker::noop()), &mut buffer)
            .is_pending()
    }

    /// Continues to write the request. An error of the connection is kept: an upstream may respond and close before it
    /// has read the whole request, so the reader decides.
    fn send_rest(&mut self, context: &mut Context<'_>) -> Result<(), EgressError> {
        let Some(writer) = self.writer.as_mut().filter(|writer| !writer.is_done()) else { return Ok(()) };
        let Poll::Ready(Err(error)) = writer.poll_write(&mut self.stream, context) else { return Ok(()) };
        self.writer = None;
        self.keep_alive = false;
        match error {
            WriteError::Connection(error) if error.kind() == EgressErrorKind::Reset => {
                self.write_error = Some(error);
                Ok(())
            }
            WriteError::Connection(error) | WriteError::Body(error) => Err(error),
        }
    }

    /// Reads what has arrived; zero at the end of the connection.
    fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<Result<usize, EgressError>> {
        if let Some(error) = self.read_error.take() {
            return Poll::Ready(Err(EgressError::broken(&error)));
        }
        let before = self.buffer.len();
        loop {
            if self.buffer.capacity() - self.buffer.len() < MIN_SPACE {
                // After a read that filled the buffer, much more is likely waiting: growing in one step copies less.
                let filled = self.buffer.len() > before;
                self.buffer.reserve(if filled {
                    READ_LIMIT - self.buffer.len()
                } else {
                    self.read_space.bytes
                });
            }
            let space = self.buffer.capacity() - self.buffer.len();
            match poll_read_buf(Pin::new(&mut self.stream), context, &mut self.buffer) {
                Poll::Ready(Ok(count)) if count == space && self.buffer.len() < READ_LIMIT => {}
                Poll::Ready(Err(error)) if self.buffer.len() == before => {
                    return Poll::Ready(Err(EgressError::broken(&error)));
                }
                Poll::Pending if self.buffer.len() == before => return Poll::Pending,
                Poll::Ready(Err(error)) => {
                    self.read_error = Some(error);
                    break;
                }
                Poll::Ready(Ok(_)) | Poll::Pending => break,
            }
        }
        let count = self.buffer.len() - before;
        self.received |= count > 0;
        self.read_space.adapt(count);
        Poll::Ready(Ok(count))
    }
}

/// The space to offer to the next read: as much as an earlier one needed, so that the buffer need not grow by copying.
struct ReadSpace {
    bytes: usize,
    small_reads: u8,
}

impl Default for ReadSpace {
    fn default() -> Self {
        Self { bytes: READ_SIZE, small_reads: 0 }
    }
}

impl ReadSpace {
    fn adapt(&mut self, count: usize) {
        if count >= READ_SIZE {
            self.small_reads = 0;
            // One byte more than needed: a read that does not fill the space needs no second one.
            self.bytes = self.bytes.max((count + 1).next_power_of_two().min(READ_LIMIT));
            return;
        }
        self.small_reads = self.small_reads.saturating_add(1);
        if self.small_reads == SMALL_READS {
            self.bytes = READ_SIZE;
        }
    }
}

fn incomplete() -> EgressError {
    EgressError::new(EgressErrorKind::Closed, "connection closed before the answer was complete")
}

fn malformed() -> EgressError {
    EgressError::new(EgressErrorKind::Protocol, "the answer's body is malformed")
}
