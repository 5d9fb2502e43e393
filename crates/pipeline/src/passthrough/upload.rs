//! The client's body on its way up: let through as it arrives, with a look at the model it names.

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

use crate::audit::Recording;
use crate::body_work::LARGE_BODY;
use crate::ownership::{Check, Checking};
use inspector::Inspector;

/// So much of a body is held, at most, to find the model it names.
const AHEAD: usize = 64 * 1024;

/// No provider makes more answers at a time.
const MOST_ANSWERS: u64 = 128;

pub(super) struct Upload {
    body: StreamedBody,
    length: Option<u64>,
    /// Read to look at it, and not yet let through.
    ahead: VecDeque<Bytes>,
    /// The last part of that, which came along and was not looked at.
    beyond: Bytes,
    ended: bool,
    /// Reads what is, or begins like, JSON; pictures, sound and what is compressed pass unread.
    inspector: Option<Inspector>,
    /// With budgets, it matters how much is asked for.
    budgeted: bool,
    kind: Kind,
    /// The first byte of data was looked at.
    sniffed: bool,
    /// Decides whether the caller may name the objects that the body refers to; none for those who may name all.
    check: Option<Check>,
    /// A check that is under way, and the part of the body that waits for it.
    checking: Option<(Checking, Bytes)>,
    sent: Arc<Sent>,
    patience: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    /// Takes down what comes, where the audit log wants it.
    recording: Option<Arc<Recording>>,
    /// Bytes that were inspected since other connections had their turn.
    inspected: usize,
}

/// What is known of the body so far; outlives it.
pub(super) struct Sent(Mutex<Record>);

struct Record {
    bytes: u64,
    model: Option<String>,
    /// Models that may serve in its place, as some providers have it.
    alternatives: Vec<String>,
    /// How many answers are asked for, as far as it says.
    answers: Option<u64>,
    /// The body says whether the answer is to be kept.
    store: Option<bool>,
    /// The request asks for work that goes on after the answer.
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

    /// Every model that the body names.
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

    /// One, where the body does not say so in words that are read here.
    pub(super) fn answers(&self) -> u64 {
        self.0.lock().answers.unwrap_or(1)
    }

    /// Why the body broke off, if that was not the provider's doing.
    pub(super) fn trouble(&self) -> Option<Fault> {
        self.0.lock().trouble.clone()
    }

    /// When the client last sent anything.
    pub(super) fn moved(&self) -> Instant {
        self.0.lock().moved
    }
}

impl Upload {
    pub(super) fn new<B>(
        body: B,
        headers: &HeaderMap,
        patience: Duration,
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
        let kind = Kind::of(headers);
        Self {
            length: body.size_hint().exact(),
            ended: body.is_end_stream(),
            body: Box::pin(body.map_err(Into::into)),
            ahead: VecDeque::new(),
            beyond: Bytes::new(),
            inspector: (kind != Kind::Packed).then(|| Inspector::new(is_plain_json(headers))),
            budgeted: false,
            kind,
            sniffed: false,
            check: None,
            checking: None,
            sent: Arc::new(Sent(Mutex::new(record))),
            patience,
            timer: None,
            recording,
            inspected: 0,
        }
    }

    /// Has the body read before it leaves, as far as it is not too long, and refuses one that cannot be read.
    /// `unfollowed` is the answer to a call that is to go on in the background. An endpoint that `infers` takes JSON.
    pub(super) fn apply_budget(&mut self, infers: bool, unfollowed: Option<Fault>) -> Result<(), Fault> {
        self.budgeted = true;
        if let Some(inspector) = &mut self.inspector {
            inspector.refuse_background(unfollowed);
        }
        match self.kind {
            _ if self.is_empty() => Ok(()),
            Kind::Data if !infers => Ok(()),
            Kind::Text if self.is_json() => Ok(()),
            Kind::Text | Kind::Data => Err(not_json()),
            Kind::Packed => Err(compressed()),
        }
    }

    /// Has the objects that the body refers to checked before it leaves. Refuses a body that cannot be checked: one that is
    /// compressed, or labelled as something that the endpoint does not take.
    pub(super) fn check_references(&mut self, check: Check, infers: bool) -> Result<(), Fault> {
        self.check = Some(check);
        match self.kind {
            _ if self.is_empty() => Ok(()),
            Kind::Packed => Err(compressed()),
            Kind::Data if infers => Err(not_json()),
            Kind::Data | Kind::Text => Ok(()),
        }
    }

    fn is_empty(&self) -> bool {
        self.ended && self.ahead.is_empty()
    }

    fn is_json(&self) -> bool {
        self.inspector.as_ref().is_some_and(Inspector::is_json)
    }

    /// The body, if all of it has come.
    pub(super) fn whole(&self) -> Option<Vec<u8>> {
        (self.ended && self.kind == Kind::Text).then(|| self.ahead.iter().flatten().copied().collect())
    }

    /// How many answers a body can ask for that was not read to its end.
    pub(super) fn most_answers(&self) -> u64 {
        match self.kind {
            // What follows is looked at as it passes.
            Kind::Text if self.is_json() => 1,
            Kind::Text | Kind::Packed => MOST_ANSWERS,
            Kind::Data => 1,
        }
    }

    pub(super) fn sent(&self) -> Arc<Sent> {
        self.sent.clone()
    }

    /// Looks for the model at the body's beginning: as far as it takes where the caller is limited to some,
    /// otherwise only at what comes first. `strict` demands valid UTF-8 JSON of what calls itself JSON.
    pub(super) async fn peek(&mut self, guarded: bool, strict: bool) -> Result<(), Fault> {
        let whole = self.budgeted && self.kind == Kind::Text;
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

    /// The models named so far were judged: no other may follow. Of what has come, the objects it refers to are checked.
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

    /// A body that has already come is sent as a whole, and can be sent again.
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
        drop(record);
        self.ended |= self.body.is_end_stream();
        Poll::Ready(read)
    }

    fn poll_patience(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let patience = self.patience;
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        timer.as_mut().poll(context)
    }

    fn look(&mut self, data: &[u8]) -> Result<(), Fault> {
        // A label does not make a picture: what begins like JSON is read as JSON.
        if self.kind == Kind::Data
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

    /// Starts the check of the ids that were found since the last one.
    fn begin_check(&mut self) -> Option<Checking> {
        let found = self.inspector.as_mut()?.take_references();
        let check = self.check.as_ref()?;
        (!found.is_empty()).then(|| check(found))
    }

    /// The next part of the body, once it may leave.
    fn poll_part(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, Fault>> {
        if self.checking.is_none() {
            // A client that sends without a pause must not keep the thread from other connections.
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

/// Whether a body can be read here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    /// Pictures, sound, files and forms around them.
    Data,
    Packed,
}

impl Kind {
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

/// Anything else, two media types at once included, could be read otherwise by the provider than by us.
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

    /// As the client announced it.
    fn size_hint(&self) -> SizeHint {
        self.length.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

#[cfg(test)]
mod tests;
