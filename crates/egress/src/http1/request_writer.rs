//! Writes one HTTP/1.1 request: its head together with the first part of its body, then the rest as it arrives.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, Bytes};
use http::Method;
use http_body::Body as _;
use tokio::io::AsyncWrite;

use crate::error::EgressError;
use crate::outgoing::OutgoingBody;
use crate::segmented_body::Rope;

/// The most parts that one system call writes.
const MAX_SLICES: usize = 16;

/// A request whose head is encoded except for the framing of its body.
pub(crate) struct Http1Request {
    pub(crate) method: Method,
    head: Vec<u8>,
    body: OutgoingBody,
}

/// Appends a header line.
pub(crate) fn write_header(head: &mut Vec<u8>, name: &str, value: &[u8]) {
    head.reserve(name.len() + value.len() + 4);
    for part in [name.as_bytes(), b": ", value, b"\r\n"] {
        head.extend_from_slice(part);
    }
}

impl Http1Request {
    /// `target` is the request target in origin form, or in absolute form for a proxy.
    pub(crate) fn new(method: Method, target: &[&str], body: OutgoingBody) -> Self {
        let mut head = Vec::with_capacity(1024);
        head.extend_from_slice(method.as_str().as_bytes());
        head.extend_from_slice(b" ");
        target.iter().for_each(|part| head.extend_from_slice(part.as_bytes()));
        head.extend_from_slice(b" HTTP/1.1\r\n");
        Self { method, head, body }
    }

    /// Adds headers that are already encoded.
    pub(crate) fn add_lines(&mut self, lines: &[u8]) {
        self.head.extend_from_slice(lines);
    }

    pub(crate) fn add_header(&mut self, name: &str, value: &[u8]) {
        write_header(&mut self.head, name, value);
    }

    /// Adds the headers that describe the body, and the end of the head.
    fn finish(&mut self) -> RequestFraming {
        let framing = match self.body.size_hint().exact() {
            // Many servers refuse a GET with a body, so a body of unknown length, which is nearly always empty, is left
            // out.
            None | Some(0) if matches!(self.method, Method::GET | Method::HEAD) => RequestFraming::Length(0),
            None => {
                self.add_header("transfer-encoding", b"chunked");
                RequestFraming::Chunked
            }
            Some(length) => {
                self.add_header("content-length", length.to_string().as_bytes());
                RequestFraming::Length(length)
            }
        };
        self.head.extend_from_slice(b"\r\n");
        framing
    }
}

/// A request that could not be written.
pub(crate) enum WriteError {
    /// The connection failed. The upstream may have responded before.
    Connection(EgressError),
    /// The source of the body failed, or did not have the announced length.
    Body(EgressError),
}

impl WriteError {
    fn connection(error: &io::Error) -> Self {
        Self::Connection(EgressError::broken(error))
    }
}

pub(crate) struct RequestWriter {
    head: Bytes,
    frame: Option<Rope>,
    body: OutgoingBody,
    framing: RequestFraming,
    state: WriteState,
}

#[derive(PartialEq, Eq)]
enum RequestFraming {
    /// The number of bytes that the body still has to give.
    Length(u64),
    Chunked,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WriteState {
    Body,
    Flush,
    Done,
}

impl RequestWriter {
    pub(crate) fn new(mut request: Http1Request) -> Self {
        let framing = request.finish();
        let state = if framing == RequestFraming::Length(0) { WriteState::Flush } else { WriteState::Body };
        let Http1Request { head, body, .. } = request;
        Self { head: head.into(), frame: None, body, framing, state }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.state == WriteState::Done
    }

    /// Writes as much as possible; ready when the request is written.
    pub(crate) fn poll_write(
        &mut self,
        stream: &mut (impl AsyncWrite + Unpin),
        context: &mut Context<'_>,
    ) -> Poll<Result<(), WriteError>> {
        loop {
            let waits = self.state == WriteState::Body
                && self.frame.is_none()
                && self.poll_frame(context)?.is_pending();
            if self.head.has_remaining() || self.frame.is_some() {
                ready!(self.poll_write_some(stream, context))
                    .map_err(|error| WriteError::connection(&error))?;
                continue;
            }
            match self.state {
                WriteState::Body if waits => {
                    // The part written so far must not stay in a buffer of TLS while the body is waited for.
                    _ = Pin::new(&mut *stream).poll_flush(context);
                    return Poll::Pending;
                }
                WriteState::Body => {}
                WriteState::Flush => {
                    ready!(Pin::new(&mut *stream).poll_flush(context))
                        .map_err(|error| WriteError::connection(&error))?;
                    self.state = WriteState::Done;
                }
                WriteState::Done => return Poll::Ready(Ok(())),
            }
        }
    }

    fn poll_write_some(
        &mut self,
        stream: &mut (impl AsyncWrite + Unpin),
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        let mut slices = [IoSlice::new(&[]); MAX_SLICES];
        slices[0] = IoSlice::new(&self.head);
        let first = usize::from(self.head.has_remaining());
        let count =
            first + self.frame.as_ref().map_or(0, |frame| frame.chunks_vectored(&mut slices[first..]));
        let written = ready!(Pin::new(stream).poll_write_vectored(context, &slices[..count]))?;
        if written == 0 {
            return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
        }
        let of_head = written.min(self.head.len());
        self.head.advance(of_head);
        if let Some(frame) = &mut self.frame {
            frame.advance(written - of_head);
            self.frame.take_if(|frame| !frame.has_remaining());
        }
        Poll::Ready(Ok(()))
    }

    /// Takes the next part of the body.
    fn poll_frame(&mut self, context: &mut Context<'_>) -> Poll<Result<(), WriteError>> {
        let data = match ready!(Pin::new(&mut self.body).poll_frame(context)) {
            Some(Err(error)) => {
                return Poll::Ready(Err(WriteError::Body(EgressError::request_body(error.as_ref()))));
            }
            Some(Ok(frame)) => frame.into_data().ok(),
            None => {
                self.state = WriteState::Flush;
                match self.framing {
                    RequestFraming::Length(0) => return Poll::Ready(Ok(())),
                    RequestFraming::Length(_) => {
                        return Poll::Ready(Err(WriteError::Body(EgressError::request_length())));
                    }
                    RequestFraming::Chunked => Some(Rope::new(vec![Bytes::from_static(b"0\r\n\r\n")])),
                }
            }
        };
        let Some(data) = data.filter(|data| data.has_remaining()) else { return Poll::Ready(Ok(())) };
        match &mut self.framing {
            _ if self.state == WriteState::Flush => self.frame = Some(data),
            RequestFraming::Length(left) => {
                *left = left
                    .checked_sub(data.remaining() as u64)
                    .ok_or_else(|| WriteError::Body(EgressError::request_length()))?;
                self.frame = Some(data);
            }
            RequestFraming::Chunked => {
                let size = format!("{:x}\r\n", data.remaining());
                self.frame = Some(data.enclosed(size.into(), Bytes::from_static(b"\r\n")));
            }
        }
        Poll::Ready(Ok(()))
    }
}
