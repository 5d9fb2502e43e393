//! What the upstream does with one request, as data: every behaviour is reduced to this and played by one player.

use std::time::Duration;

use bytes::Bytes;

/// An answer prepared in advance.
#[derive(Clone, Debug)]
pub enum Script {
    /// Behave as if this model had been asked for.
    Like(String),
    /// Send exactly this.
    Exact(Answer),
}

impl Script {
    pub fn like(model: &str) -> Self {
        Self::Like(model.to_owned())
    }

    /// A status with a whole body.
    pub fn status(status: u16, content_type: &str, body: impl Into<Bytes>) -> Self {
        let body = body.into();
        let length = Some(body.len() as u64);
        let steps = vec![Step::send(body)];
        Self::Exact(Answer {
            status,
            content_type: content_type.to_owned(),
            length,
            steps,
            ..Answer::default()
        })
    }

    /// A 200 event stream that sends these bytes, each in a write of its own.
    pub fn stream(parts: impl IntoIterator<Item = impl Into<Bytes>>) -> Self {
        Self::Exact(Answer::stream(parts.into_iter().map(|part| Step::send(part)).collect()))
    }
}

#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub content_type: String,
    pub headers: Vec<(String, String)>,
    /// Announced as Content-Length; chunked without it.
    pub length: Option<u64>,
    /// Waits, hangs and resets before the head.
    pub before: Vec<Step>,
    pub steps: Vec<Step>,
    /// What the prompt costs; `None` costs nothing.
    pub billed: Option<Billed>,
}

/// The prompt's side of a line on the bill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Billed {
    pub prompt_tokens: u64,
    pub cached_tokens: u64,
    pub cache_write_5m_tokens: u64,
    pub cache_write_1h_tokens: u64,
}

impl Default for Answer {
    fn default() -> Self {
        Self {
            status: 200,
            content_type: "application/json".into(),
            headers: Vec::new(),
            length: None,
            before: Vec::new(),
            steps: Vec::new(),
            billed: None,
        }
    }
}

impl Answer {
    pub fn stream(steps: Vec<Step>) -> Self {
        Self { content_type: "text/event-stream; charset=utf-8".into(), steps, ..Self::default() }
    }

    pub fn whole(body: impl Into<Bytes>) -> Self {
        let body = body.into();
        Self { length: Some(body.len() as u64), steps: vec![Step::send(body)], ..Self::default() }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// The tokens are what the bill grows by once the bytes are on their way; reasoning is part of completion.
    Send {
        bytes: Bytes,
        completion: u64,
        reasoning: u64,
    },
    /// These bytes again and again, until the client goes away; each time they cost that much.
    Repeat {
        bytes: Bytes,
        pause: Duration,
        completion: u64,
    },
    Wait(Duration),
    /// Silence, until the client goes away.
    Hang,
    /// The connection is reset.
    Reset,
    /// The connection is closed in the middle of the body.
    Cut,
    /// A clean end, but not the answer's.
    End,
}

impl Step {
    pub fn send(bytes: impl Into<Bytes>) -> Self {
        Self::costing(bytes, 0, 0)
    }

    pub fn costing(bytes: impl Into<Bytes>, completion: u64, reasoning: u64) -> Self {
        Self::Send { bytes: bytes.into(), completion, reasoning }
    }
}
