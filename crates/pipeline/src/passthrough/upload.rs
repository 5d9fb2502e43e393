//! The client's body on its way up: let through as it arrives, with a look at the model it names.

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
use wire::meter::{Gleaner, Place};

use crate::audit::Recording;

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
    /// Only a plain JSON body is looked into.
    gleaner: Option<Gleaner>,
    /// With limits on models, nothing may be named that was not judged.
    guarded: bool,
    /// With budgets, it matters how much is asked for.
    budgeted: bool,
    kind: Kind,
    /// More than one answer is asked for.
    multiplied: bool,
    /// Some of it leaves before the rest has come.
    cut: bool,
    judged: Option<usize>,
    models: usize,
    sent: Arc<Sent>,
    patience: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    /// Takes down what comes, where the audit log wants it.
    recording: Option<Arc<Recording>>,
}

/// What is known of the body so far; outlives it.
pub(super) struct Sent(Mutex<Record>);

struct Record {
    bytes: u64,
    model: Option<String>,
    /// How many answers are asked for, as far as it says.
    answers: Option<u64>,
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
        let record = Record { bytes: 0, model: None, answers: None, trouble: None, moved: Instant::now() };
        Self {
            length: body.size_hint().exact(),
            ended: body.is_end_stream(),
            body: Box::pin(body.map_err(Into::into)),
            ahead: VecDeque::new(),
            beyond: Bytes::new(),
            gleaner: is_plain_json(headers).then(Gleaner::default),
            guarded: false,
            budgeted: false,
            kind: Kind::of(headers),
            multiplied: false,
            cut: false,
            judged: None,
            models: 0,
            sent: Arc::new(Sent(Mutex::new(record))),
            patience,
            timer: None,
            recording,
        }
    }

    /// All of the body is wanted before it leaves, as far as it can be read and is not too long.
    pub(super) fn read_whole(&mut self) {
        self.budgeted = true;
    }

    /// The body, if all of it has come.
    pub(super) fn whole(&self) -> Option<Vec<u8>> {
        (self.ended && self.kind == Kind::Text).then(|| self.ahead.iter().flatten().copied().collect())
    }

    /// How many answers a body can ask for that was not read to its end.
    pub(super) fn most_answers(&self) -> u64 {
        match self.kind {
            // What follows is looked at as it passes.
            Kind::Text if self.gleaner.is_some() => 1,
            Kind::Text | Kind::Packed => MOST_ANSWERS,
            Kind::Data => 1,
        }
    }

    pub(super) fn sent(&self) -> Arc<Sent> {
        self.sent.clone()
    }

    /// Looks for the model at the body's beginning: as far as it takes where the caller is limited to some,
    /// otherwise only at what comes first.
    pub(super) async fn peek(&mut self, guarded: bool) -> Result<(), Fault> {
        self.guarded = guarded;
        let whole = self.budgeted && self.kind == Kind::Text;
        let enough = if guarded || whole { AHEAD } else { 1 };
        let mut held = 0;
        while !self.ended && held < enough && (whole || (self.gleaner.is_some() && self.models == 0)) {
            if let Some(mut data) = poll_fn(|context| self.poll_read(context)).await? {
                self.ahead.push_back(data.clone());
                self.beyond = data.split_off(data.len().min(AHEAD - held));
                self.look(&data)?;
                held += data.len();
            }
        }
        Ok(())
    }

    /// The models named so far were judged: no other may follow.
    pub(super) fn seal(&mut self) -> Result<(), Fault> {
        self.judged = Some(self.models);
        self.cut = !self.ended;
        let beyond = std::mem::take(&mut self.beyond);
        self.look(&beyond)
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
        let Some(gleaner) = &mut self.gleaner else { return Ok(()) };
        let (models, sent) = (&mut self.models, &self.sent);
        let multiplied = &mut self.multiplied;
        gleaner.feed(data, |member| {
            if member.name == "model" && member.place == Place::Top {
                *models += 1;
                let name = wire::json::string_at(member.value, &(0..member.value.len()));
                let name =
                    name.map(|name| name.trim().trim_start_matches("models/").chars().take(300).collect());
                let mut record = sent.0.lock();
                record.model = record.model.take().or(name).filter(|name| !name.is_empty());
            }
            if member.name == "n" && member.place == Place::Top {
                let number = std::str::from_utf8(member.value).ok().and_then(|text| text.trim().parse().ok());
                sent.0.lock().answers = number;
            }
            *multiplied |= member.place == Place::Top
                && ["n", "best_of"].contains(&member.name)
                && !matches!(member.value.trim_ascii(), b"1" | b"null");
        });
        // Of a body that has come as a whole it is reckoned with.
        if self.budgeted && self.multiplied && self.cut {
            let message = "A body of this length may ask for one answer only, where budgets apply.";
            let fault = fault::invalid_parameter("n", message);
            self.sent.0.lock().trouble = Some(fault.clone());
            return Err(fault);
        }
        if self.guarded && self.models > self.judged.unwrap_or(1) {
            let message = "The body names a model more than once, or too late for it to be checked.";
            let fault = fault::invalid_json(message).param("model");
            self.sent.0.lock().trouble = Some(fault.clone());
            return Err(fault);
        }
        Ok(())
    }
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
        if self.ended {
            return Poll::Ready(None);
        }
        let read = match ready!(self.poll_read(context)) {
            Ok(Some(data)) => self.look(&data).map(|()| Some(data)),
            other => other,
        };
        Poll::Ready(read.map(|data| data.map(Frame::data)).map_err(Into::into).transpose())
    }

    fn is_end_stream(&self) -> bool {
        self.ended && self.ahead.is_empty()
    }

    /// As the client announced it.
    fn size_hint(&self) -> SizeHint {
        self.length.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
