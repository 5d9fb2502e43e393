//! The client's request body: streamed to the provider while it is inspected for the model and objects it names.

mod inspector;

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use domain::fault::{self, Fault};
use egress::{BodyError, OutboundBody, StreamedBody};
use http::{HeaderMap, HeaderValue, header};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt as _;
use parking_lot::Mutex;
use tokio::time::{Instant, Sleep};

use crate::call::ownership::{Check, Checking};
use crate::services::audit::Recording;
use crate::services::body_work::{BodyLease, LARGE_BODY};
use inspector::Inspector;

/// The most bytes that are buffered to find the model.
const AHEAD: usize = 64 * 1024;

/// The most answers that any provider generates per request.
const MOST_ANSWERS: u64 = 128;

pub(super) struct Upload {
    body: StreamedBody,
    length: Option<u64>,
    /// Chunks that were read for inspection and not yet sent.
    ahead: VecDeque<Bytes>,
    /// The end of the last chunk in `ahead` that exceeds the limit; inspected by `seal`.
    beyond: Bytes,
    ended: bool,
    /// Inspects bodies that are, or begin like, JSON. Media and compressed bodies are not inspected.
    inspector: Option<Inspector>,
    /// A budget applies, so the amount of work requested matters.
    budgeted: bool,
    kind: BodyClass,
    /// The first byte of a media body was inspected.
    sniffed: bool,
    /// Checks the ids of objects that the body refers to; none for callers that may refer to all.
    check: Option<Check>,
    /// A check in progress, and the chunk that is held until it completes.
    checking: Option<(Checking, Bytes)>,
    sent: Arc<Sent>,
    timeout: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    /// Records the body for the audit log.
    recording: Option<Arc<Recording>>,
    /// Bytes inspected since the task last yielded.
    inspected: usize,
}

/// The facts learned about the body so far. Shared with the meter, and outlives the body.
pub(super) struct Sent(Mutex<Record>);

struct Record {
    bytes: u64,
    model: Option<String>,
    /// Fallback models that the request allows, where the provider supports them.
    alternatives: Vec<String>,
    /// The number of answers requested, if stated.
    answers: Option<u64>,
    /// The value of `store`, if the body has it.
    store: Option<bool>,
    /// The request asks for a background response.
    background: bool,
    trouble: Option<Fault>,
    moved: Instant,
}

impl Sent {
    pub(super) fn bytes(&self) -> u64 {
        self.0.lock().bytes
    }

    pub(super) fn model(&self) -> Option<String> {
        self.0.lock().model.clone()
    }

    /// All models that the body names.
    pub(super) fn models(&self) -> Vec<String> {
        let record = self.0.lock();
        record.model.iter().chain(&record.alternatives).cloned().collect()
    }

    pub(super) fn store(&self) -> Option<bool> {
        self.0.lock().store
    }

    pub(super) fn is_background(&self) -> bool {
        self.0.lock().background
    }

    /// The number of answers requested; one if the body does not state it under a known name.
    pub(super) fn answers(&self) -> u64 {
        self.0.lock().answers.unwrap_or(1)
    }

    /// The reason the body failed, if the provider was not at fault.
    pub(super) fn trouble(&self) -> Option<Fault> {
        self.0.lock().trouble.clone()
    }

    /// The time at which the client last sent anything.
    pub(super) fn moved(&self) -> Instant {
        self.0.lock().moved
    }
}

impl Upload {
    pub(super) fn new<B>(
        body: B,
        headers: &HeaderMap,
        timeout: Duration,
        recording: Option<Arc<Recording>>,
    ) -> Self
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BodyError>,
    {
        let record = Record {
            bytes: 0,
            model: None,
            alternatives: Vec::new(),
            answers: None,
            store: None,
            background: false,
            trouble: None,
            moved: Instant::now(),
        };
        let kind = BodyClass::of(headers);
        Self {
            length: body.size_hint().exact(),
            ended: body.is_end_stream(),
            body: Box::pin(body.map_err(Into::into)),
            ahead: VecDeque::new(),
            beyond: Bytes::new(),
            inspector: (kind != BodyClass::Packed).then(|| Inspector::new(is_plain_json(headers))),
            budgeted: false,
            kind,
            sniffed: false,
            check: None,
            checking: None,
            sent: Arc::new(Sent(Mutex::new(record))),
            timeout,
            timer: None,
            recording,
            inspected: 0,
        }
    }

    /// Applies the rules for calls with a budget: `peek` buffers the body up to its limit before it is sent, and a
    /// body that cannot be inspected is refused. `background_untracked` is the refusal of background requests. An endpoint that
    /// `infers` accepts only JSON.
    pub(super) fn apply_budget(
        &mut self,
        infers: bool,
        background_untracked: Option<Fault>,
    ) -> Result<(), Fault> {
        self.budgeted = true;
        if let Some(inspector) = &mut self.inspector {
            inspector.refuse_background(background_untracked);
        }
        match self.kind {
            _ if self.is_empty() => Ok(()),
            BodyClass::Data if !infers => Ok(()),
            BodyClass::Text if self.is_json() => Ok(()),
            BodyClass::Text | BodyClass::Data => Err(not_json()),
            BodyClass::Packed => Err(compressed()),
        }
    }

    /// Enables the check of objects that the body refers to. Refuses a body that cannot be checked: a compressed one,
    /// or a media type that an inference endpoint does not accept.
    pub(super) fn check_references(&mut self, check: Check, infers: bool) -> Result<(), Fault> {
        self.check = Some(check);
        match self.kind {
            _ if self.is_empty() => Ok(()),
            BodyClass::Packed => Err(compressed()),
            BodyClass::Data if infers => Err(not_json()),
            BodyClass::Data | BodyClass::Text => Ok(()),
        }
    }

    fn is_empty(&self) -> bool {
        self.ended && self.ahead.is_empty()
    }

    /// Whether the body is labelled as plain JSON.
    pub(super) fn is_json(&self) -> bool {
        self.inspector.as_ref().is_some_and(Inspector::is_json)
    }

    /// The body, if it has been received completely and is text.
    pub(super) fn whole(&self) -> Option<Vec<u8>> {
        (self.ended && self.kind == BodyClass::Text).then(|| self.joined())
    }

    /// The chunks that were read and not yet sent, as one.
    fn joined(&self) -> Vec<u8> {
        let mut joined = Vec::with_capacity(self.ahead.iter().map(Bytes::len).sum());
        self.ahead.iter().for_each(|part| joined.extend_from_slice(part));
        joined
    }

    /// The most answers that a body can request if it was not read to its end.
    pub(super) fn most_answers(&self) -> u64 {
        match self.kind {
            // The inspector refuses larger numbers in the rest as it is streamed.
            BodyClass::Text if self.is_json() => 1,
            BodyClass::Text | BodyClass::Packed => MOST_ANSWERS,
            BodyClass::Data => 1,
        }
    }

    pub(super) fn sent(&self) -> Arc<Sent> {
        self.sent.clone()
    }

    /// Reads the beginning of the body to find the model: up to `AHEAD` bytes if admission depends on the model or a
    /// budget applies, otherwise only the first chunk. `strict` requires valid UTF-8 JSON of a body labelled as JSON.
    pub(super) async fn peek(&mut self, guarded: bool, strict: bool) -> Result<(), Fault> {
        let whole = self.budgeted && self.kind == BodyClass::Text;
        if let Some(inspector) = &mut self.inspector {
            inspector.restrict(guarded, self.budgeted, strict || guarded || self.budgeted);
        }
        let enough = if guarded || whole { AHEAD } else { 1 };
        let unnamed = |upload: &Self| upload.inspector.as_ref().is_some_and(Inspector::looks_for_model);
        let mut held = 0;
        while !self.ended && held < enough && (whole || unnamed(self)) {
            if let Some(mut data) = poll_fn(|context| self.poll_read(context)).await? {
                self.ahead.push_back(data.clone());
                self.beyond = data.split_off(data.len().min(AHEAD - held));
                self.look(&data)?;
                held += data.len();
            }
        }
        Ok(())
    }

    /// Forbids further models, since those named so far have been checked, and checks the objects referred to so far.
    pub(super) async fn seal(&mut self) -> Result<(), Fault> {
        let streamed = !self.ended;
        if let Some(inspector) = &mut self.inspector {
            inspector.seal(streamed);
        }
        let beyond = std::mem::take(&mut self.beyond);
        self.look(&beyond)?;
        if self.ended {
            self.look_at_end()?;
        }
        match self.begin_check() {
            Some(checking) => checking.await,
            None => Ok(()),
        }
    }

    /// Whether the body may be JSON: it is not compressed, and not of another type.
    pub(super) fn may_be_json(&self) -> bool {
        self.kind == BodyClass::Text
            || (self.kind == BodyClass::Data && self.inspector.is_some() && self.sniffed)
    }

    /// Reads the rest of the body, with all checks, and returns the whole of it.
    pub(super) async fn collect(&mut self, limit: u64, mut lease: BodyLease) -> Result<Bytes, Fault> {
        let mut held = 0;
        for part in &self.ahead {
            held += part.len() as u64;
        }
        while !self.ended || self.checking.is_some() {
            if let Some(data) = poll_fn(|context| self.poll_part(context)).await? {
                held += data.len() as u64;
                if held > limit {
                    return Err(fault::request_too_large(limit));
                }
                lease.grow(data.len() as u64)?;
                self.ahead.push_back(data);
            }
        }
        let whole = lease.attach(self.joined().into());
        if !self.is_json() {
            // Its models were not read, and a provider that ignores the label reads them.
            Inspector::new(true).look(&whole, &self.sent)?;
        }
        self.replace(whole.clone());
        Ok(whole)
    }

    /// Replaces a body that was received completely.
    pub(super) fn replace(&mut self, body: Bytes) {
        self.sent.0.lock().bytes = body.len() as u64;
        self.length = Some(body.len() as u64);
        self.ahead = VecDeque::from([body]);
    }

    /// A body that was received completely is sent from memory and can be resent; otherwise it is streamed.
    pub(super) fn into_outbound(self) -> OutboundBody {
        if self.ended {
            OutboundBody::Parts(self.ahead.into())
        } else {
            OutboundBody::Streamed(Box::pin(self))
        }
    }

    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, Fault>> {
        let read = loop {
            match self.body.as_mut().poll_frame(context) {
                Poll::Pending => {
                    ready!(self.poll_patience(context));
                    break Err(fault::request_timeout());
                }
                Poll::Ready(None) => {
                    self.ended = true;
                    break Ok(None);
                }
                Poll::Ready(Some(Err(_))) => break Err(fault::client_disconnected()),
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) if !data.is_empty() => break Ok(Some(data)),
                    _ => {}
                },
            }
        };
        // The wait is over; the next one starts a new timeout.
        self.timer = None;
        if let (Some(recording), Ok(Some(data))) = (&self.recording, &read) {
            recording.add(data);
        }
        let mut record = self.sent.0.lock();
        record.moved = Instant::now();
        match &read {
            Ok(data) => record.bytes += data.as_ref().map_or(0, |data| data.len() as u64),
            Err(fault) => record.trouble = Some(fault.clone()),
        }
        // Release the lock before calling into the body again.
        drop(record);
        self.ended |= self.body.is_end_stream();
        Poll::Ready(read)
    }

    fn poll_patience(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let timeout = self.timeout;
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(timeout)));
        timer.as_mut().poll(context)
    }

    fn look(&mut self, data: &[u8]) -> Result<(), Fault> {
        // The media type may be wrong: a body that begins like JSON is inspected as JSON.
        if self.kind == BodyClass::Data
            && let Some(first) = data.iter().find(|byte| !byte.is_ascii_whitespace())
            && !self.sniffed
        {
            self.sniffed = true;
            self.inspector = self.inspector.take().filter(|_| matches!(first, b'{' | b'['));
        }
        let Some(inspector) = &mut self.inspector else { return Ok(()) };
        inspector.look(data, &self.sent).inspect_err(|fault| self.sent.0.lock().trouble = Some(fault.clone()))
    }

    fn look_at_end(&self) -> Result<(), Fault> {
        let Some(inspector) = &self.inspector else { return Ok(()) };
        inspector.finish().inspect_err(|fault| self.sent.0.lock().trouble = Some(fault.clone()))
    }

    /// Starts a check of the ids found since the last one.
    fn begin_check(&mut self) -> Option<Checking> {
        let found = self.inspector.as_mut()?.take_references();
        let check = self.check.as_ref()?;
        (!found.is_empty()).then(|| check(found))
    }

    /// The next chunk that may be sent. A chunk with references is held until their check has passed.
    fn poll_part(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, Fault>> {
        if self.checking.is_none() {
            // Yield after a large amount of data, so that a fast client does not monopolize the thread.
            if self.inspected >= LARGE_BODY {
                self.inspected = 0;
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            let Some(data) = ready!(self.poll_read(context))? else {
                self.look_at_end()?;
                return Poll::Ready(Ok(None));
            };
            self.look(&data)?;
            self.inspected += data.len();
            if self.ended {
                self.look_at_end()?;
            }
            match self.begin_check() {
                None => return Poll::Ready(Ok(Some(data))),
                Some(checking) => self.checking = Some((checking, data)),
            }
        }
        let Some((checking, _)) = &mut self.checking else { return Poll::Ready(Ok(None)) };
        let checked = ready!(checking.as_mut().poll(context));
        let data = self.checking.take().map(|(_, data)| data);
        if let Err(fault) = &checked {
            self.sent.0.lock().trouble = Some(fault.clone());
        }
        Poll::Ready(checked.map(|()| data))
    }
}

fn not_json() -> Fault {
    let message = "The body must be JSON with 'Content-Type: application/json'.";
    fault::unsupported_media_type().with_message(message).param("Content-Type")
}

fn compressed() -> Fault {
    let message = "A compressed body cannot be checked: send it without 'Content-Encoding'.";
    fault::unsupported_media_type().with_message(message).param("Content-Encoding")
}

/// The class of a body by its headers, which decides whether it can be inspected.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BodyClass {
    Text,
    /// Media, files and multipart forms.
    Data,
    Packed,
}

impl BodyClass {
    fn of(headers: &HeaderMap) -> Self {
        let packed = headers.get_all(header::CONTENT_ENCODING).iter().any(|value| value != "identity");
        let mut types = headers.get_all(header::CONTENT_TYPE).iter();
        let data = |value: &HeaderValue| {
            let text = value.to_str().unwrap_or_default().trim().to_ascii_lowercase();
            let kinds = ["multipart/", "audio/", "video/", "image/", "application/octet-stream"];
            kinds.iter().any(|kind| text.starts_with(kind))
        };
        match types.next().is_some_and(data) {
            _ if packed => Self::Packed,
            true if types.next().is_none() => Self::Data,
            _ => Self::Text,
        }
    }
}

/// Whether the body is labelled as plain JSON. With any other label, including two media types at once, the provider
/// could parse it differently than the gateway.
fn is_plain_json(headers: &HeaderMap) -> bool {
    let mut types = headers.get_all(header::CONTENT_TYPE).iter();
    let json = types.next().and_then(|value| value.to_str().ok()).is_some_and(|text| {
        let essence = text.split(';').next().unwrap_or_default().trim();
        essence.eq_ignore_ascii_case("application/json")
    });
    json && types.next().is_none() && !headers.contains_key(header::CONTENT_ENCODING)
}

impl Body for Upload {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if let Some(data) = self.ahead.pop_front() {
            return Poll::Ready(Some(Ok(Frame::data(data))));
        }
        if self.ended && self.checking.is_none() {
            return Poll::Ready(None);
        }
        let read = ready!(self.poll_part(context));
        Poll::Ready(read.map(|data| data.map(Frame::data)).map_err(Into::into).transpose())
    }

    fn is_end_stream(&self) -> bool {
        self.ended && self.ahead.is_empty() && self.checking.is_none()
    }

    /// The length that the client announced.
    fn size_hint(&self) -> SizeHint {
        self.length.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

#[cfg(test)]
mod tests;
