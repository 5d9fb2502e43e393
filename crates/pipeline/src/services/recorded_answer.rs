//! A complete answer as it was sent to a client, kept so that a later call can be given the same answer.

use bytes::Bytes;
use domain::call::Target;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::{Deserialize, Serialize};
use store::KeptAnswer;

/// The status and headers of a recorded answer, and the target that it came from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerHead {
    /// Absent from answers that earlier versions stored; these had all succeeded.
    #[serde(default = "ok")]
    pub status: u16,
    pub headers: Vec<(String, String)>,
    provider: String,
    provider_name: String,
    model: String,
}

fn ok() -> u16 {
    StatusCode::OK.as_u16()
}

impl AnswerHead {
    /// Sets the target that the answer came from.
    pub fn set_target(&mut self, target: &Target) {
        self.provider = target.provider_type.to_string();
        self.provider_name = target.instance.to_string();
        self.model = target.model.to_string();
    }
}

/// A complete answer as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedAnswer {
    head: AnswerHead,
    body: Bytes,
}

impl RecordedAnswer {
    pub fn new(head: AnswerHead, body: Bytes) -> Self {
        Self { head, body }
    }

    /// The target that produced the answer; its names are empty if none is known.
    pub fn target(&self) -> Target {
        let AnswerHead { provider, provider_name, model, .. } = &self.head;
        Target {
            instance: provider_name.as_str().into(),
            provider_type: provider.as_str().into(),
            model: model.as_str().into(),
        }
    }

    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.head.status).unwrap_or(StatusCode::OK)
    }

    pub fn headers(&self) -> HeaderMap {
        let read = |(name, value): &(String, String)| {
            Some((HeaderName::try_from(name).ok()?, HeaderValue::try_from(value).ok()?))
        };
        self.head.headers.iter().filter_map(read).collect()
    }

    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// The bytes of headers and body.
    pub fn size(&self) -> usize {
        let headers = self.head.headers.iter().map(|(name, value)| name.len() + value.len());
        self.body.len() + headers.sum::<usize>()
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
