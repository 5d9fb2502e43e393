//! Sends one response over a connection.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use domain::clock::Timestamp;
use http::header::CONNECTION;
use http::{HeaderMap, Response};
use http_body::Body as _;

use super::reader::Reader;
use super::response_head::{self, BodyFraming};
use super::writer::Writer;
use crate::request_context::Outgoing;

/// The state of a response that is being sent.
pub(super) struct ResponseSender {
    body: Outgoing,
    framing: BodyFraming,
    keep_alive: bool,
    progress: Progress,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Sending,
    Complete,
    /// The body failed, or has another length than announced: the client has to notice that it is incomplete.
    Cut,
}

impl ResponseSender {
    /// Writes the head of a response to the buffer of the writer.
    pub(super) fn start(
        response: Response<Outgoing>,
        has_body: bool,
        keep_alive: bool,
        now: Timestamp,
        writer: &mut Writer,
    ) -> Self {
        let (parts, body) = response.into_parts();
        let keep_alive = keep_alive && !closes(&parts.headers);
        let size = body.size_hint();
        let head = writer.head(&size);
        let framing = response_head::write(head, &parts, size, !has_body, keep_alive, now);
        let progress = if framing == BodyFraming::Absent { Progress::Complete } else { Progress::Sending };
        Self { body, framing, keep_alive, progress }
    }

    /// Sends the response. Returns whether the connection can serve another request; fails if the client is gone.
    pub(super) async fn send(mut self, reader: &Reader, writer: &mut Writer) -> io::Result<bool> {
        poll_fn(|context| self.poll_send(context, reader, writer)).await?;
        writer.release();
        Ok(self.keep_alive && self.progress == Progress::Complete)
    }

    fn poll_send(
        &mut self,
        context: &mut Context<'_>,
        reader: &Reader,
        writer: &mut Writer,
    ) -> Poll<io::Result<()>> {
        loop {
            let mut waits_for_body = false;
            // Pieces that are ready at the same time are written together.
            while self.progress == Progress::Sending && !writer.is_full() && !waits_for_body {
                match Pin::new(&mut self.body).poll_frame(context) {
                    Poll::Ready(Some(Ok(frame))) => {
                        if let Ok(piece) = frame.into_data() {
                            self.push(piece, writer);
                        }
                    }
                    Poll::Ready(Some(Err(error))) => {
                        tracing::debug!(%error, "response body failed");
                        self.progress = Progress::Cut;
                    }
                    Poll::Ready(None) => self.end(writer),
                    Poll::Pending => waits_for_body = true,
                }
            }
            let flushed = writer.poll_flush(context)?;
            if flushed.is_pending() || waits_for_body {
                return reader.poll_closed(context).map(|()| Err(io::ErrorKind::ConnectionAborted.into()));
            }
            if self.progress != Progress::Sending {
                return Poll::Ready(Ok(()));
            }
        }
    }

    fn push(&mut self, piece: Bytes, writer: &mut Writer) {
        match &mut self.framing {
            _ if piece.is_empty() => {}
            BodyFraming::Chunked => writer.push_chunk(piece),
            BodyFraming::Length(left) if piece.len() as u64 <= *left => {
                *left -= piece.len() as u64;
                writer.push(piece);
            }
            BodyFraming::Length(_) | BodyFraming::Absent => self.progress = Progress::Cut,
        }
    }

    fn end(&mut self, writer: &mut Writer) {
        self.progress = match self.framing {
            BodyFraming::Length(1..) => Progress::Cut,
            BodyFraming::Chunked => {
                writer.push_last_chunk();
                Progress::Complete
            }
            BodyFraming::Length(0) | BodyFraming::Absent => Progress::Complete,
        };
    }
}

/// Whether the handler wants the connection to be closed after its response.
fn closes(headers: &HeaderMap) -> bool {
    headers.get_all(CONNECTION).iter().any(|value| value.as_bytes().eq_ignore_ascii_case(b"close"))
}
