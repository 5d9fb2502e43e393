//! The answer to one request as data: every fault script is reduced to this and played back by the same code.

use std::time::Duration;

use bytes::Bytes;

#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub content_type: String,
    pub headers: Vec<(String, String)>,
    /// The Content-Length; chunked if absent.
    pub length: Option<u64>,
    /// Waits, hangs and resets before the head.
    pub before: Vec<Step>,
    pub steps: Vec<Step>,
    /// The prompt's cost; `None` if the answer is free.
    pub billed: Option<Billed>,
}

/// The prompt part of a bill line.
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

    /// The index of the first step with content, or the number of steps.
    pub(super) fn first_content(&self) -> usize {
        self.steps.iter().take_while(|step| !step.has_content()).count()
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Sends bytes; the tokens are billed once the bytes are written. Reasoning is part of completion.
    Send {
        bytes: Bytes,
        completion: u64,
        reasoning: u64,
    },
    /// Sends these bytes repeatedly until the client disconnects, with that cost each time.
    Repeat {
        bytes: Bytes,
        pause: Duration,
        completion: u64,
    },
    Wait(Duration),
    /// Sends nothing until the client disconnects.
    Hang,
    /// Resets the connection.
    Reset,
    /// Closes the connection in the middle of the body.
    Cut,
    /// Ends the body cleanly without the answer's end.
    End,
}

impl Step {
    pub fn send(bytes: impl Into<Bytes>) -> Self {
        Self::send_billed(bytes, 0, 0)
    }

    pub fn send_billed(bytes: impl Into<Bytes>, completion: u64, reasoning: u64) -> Self {
        Self::Send { bytes: bytes.into(), completion, reasoning }
    }

    /// Whether it sends content or reasoning, which is billed.
    pub(super) fn has_content(&self) -> bool {
        matches!(self, Self::Send { completion: 1.., .. })
    }
}
