//! Records an answer as it is sent to the client, so that a later call can be given the same answer.

#[cfg(test)]
mod tests;

use bytes::{Bytes, BytesMut};
use domain::call::Target;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use serde::{Deserialize, Serialize};
use store::KeptAnswer;

use crate::call::response_headers;
use crate::delivery::reply::{Reply, ReplyBody};

/// Headers that also hold for a replayed answer. Time and cost do not.
static LASTING: [HeaderName; 7] = [
    header::CONTENT_TYPE,
    header::CACHE_CONTROL,
    response_headers::PROVIDER,
    response_headers::MODEL,
    response_headers::ATTEMPTS,
    response_headers::CACHE,
    response_headers::DROPPED,
];

/// Receives the recorded answer; `None` if its body is larger than the limit.
type OnRecorded = Box<dyn FnOnce(Option<RecordedAnswer>) + Send>;

/// Recorder of one answer: a whole body, or the events of a stream. Dropping it before `finish` abandons the
/// recording: then `keep` is dropped and not called. This is how errors and cut-off answers are left out.
pub struct AnswerRecorder {
    keep: OnRecorded,
    limit: usize,
    head: AnswerHead,
    /// The bytes so far; `None` once they exceed the limit.
    body: Option<BytesMut>,
}

impl AnswerRecorder {
    /// A recorder that holds at most `limit` bytes and gives the complete answer to `keep`.
    pub fn new(limit: usize, keep: impl FnOnce(Option<RecordedAnswer>) + Send + 'static) -> Self {
        Self { keep: Box::new(keep), limit, head: AnswerHead::default(), body: Some(BytesMut::new()) }
    }

    /// Records the status and those headers that hold for a replayed answer, too.
    pub fn start(&mut self, status: StatusCode, headers: &HeaderMap) {
        let lasting = LASTING.iter().filter_map(|name| {
            let value = headers.get(name)?.to_str().ok()?;
            Some((name.as_str().to_owned(), value.to_owned()))
        });
        self.head.headers = lasting.collect();
        self.head.status = status.as_u16();
    }

    /// Records the next bytes of the body.
    pub fn push(&mut self, bytes: &Bytes) {
        match &mut self.body {
            Some(body) if body.len() + bytes.len() <= self.limit => body.extend_from_slice(bytes),
            body => *body = None,
        }
    }

    /// Ends the recording of a complete answer, which came from this target.
    pub fn finish(self, target: Option<&Target>) {
        let Self { keep, mut head, body, .. } = self;
        if let Some(target) = target {
            head.provider = target.provider_type.to_string();
            head.provider_name = target.instance.to_string();
            head.model = target.model.to_string();
        }
        keep(body.map(|body| RecordedAnswer { head, body: body.freeze() }));
    }

    /// Records a complete reply at once. A reply that is still a stream is abandoned.
    pub fn record_whole(mut self, reply: &Reply, target: Option<&Target>) {
        let ReplyBody::Whole { pieces, .. } = &reply.body else { return };
        self.start(reply.status, &reply.headers);
        pieces.iter().for_each(|piece| self.push(piece));
        self.finish(target);
    }
}

/// The status and headers of a recorded answer, and the target that it came from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct AnswerHead {
    /// Absent from answers that earlier versions stored; these had all succeeded.
    #[serde(default = "ok")]
    status: u16,
    headers: Vec<(String, String)>,
    provider: String,
    provider_name: String,
    model: String,
}

fn ok() -> u16 {
    StatusCode::OK.as_u16()
}

/// A complete answer as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedAnswer {
    head: AnswerHead,
    body: Bytes,
}

impl RecordedAnswer {
    /// The target that produced the answer; its names are empty if none is known.
    pub fn target(&self) -> Target {
        let AnswerHead { provider, provider_name, model, .. } = &self.head;
        Target {
            instance: provider_name.as_str().into(),
            provider_type: provider.as_str().into(),
            model: model.as_str().into(),
        }
    }

    /// The same answer once more. Headers about the new call are added by the caller.
    pub fn replay(self) -> Reply {
        let read = |(name, value): &(String, String)| {
            Some((HeaderName::try_from(name).ok()?, HeaderValue::try_from(value).ok()?))
        };
        Reply {
            status: StatusCode::from_u16(self.head.status).unwrap_or(StatusCode::OK),
            headers: self.head.headers.iter().filter_map(read).collect(),
            body: ReplyBody::whole(vec![self.body]),
        }
    }

    /// The stored form of the answer.
    pub fn into_stored(self) -> Option<KeptAnswer> {
        let head = serde_json::to_string(&self.head).ok()?;
        Some(KeptAnswer { head, body: self.body })
    }

    /// Reads an answer back; `None` if it cannot be read.
    pub fn from_stored(KeptAnswer { head, body }: KeptAnswer) -> Option<Self> {
        let head = serde_json::from_str(&head).ok()?;
        Some(Self { head, body })
    }
}
