//! A client's request, as far as the gateway acts on it without translating it.

use std::borrow::Cow;

use bytes::Bytes;
use domain::call::Format;

use crate::json::{self, Object};

#[derive(Clone, Debug)]
pub struct Request {
    pub format: Format,
    pub body: Bytes,
    pub object: Object,
    pub model: Option<String>,
    pub stream: Option<bool>,
    /// The client itself asked for the usage chunk.
    pub include_usage: bool,
    /// A string `provider`: the gateway's own field, never sent on.
    pub provider_hint: Option<String>,
    /// The most the answer may be, in tokens.
    pub max_output: Option<u64>,
    /// How many answers are asked for.
    pub choices: u64,
    pub places: Places,
}

/// The client's own request, for answers that repeat parts of it: shares the body and is never parsed as a whole.
#[derive(Clone, Debug, Default)]
pub struct EchoedRequest(Option<(Bytes, Object)>);

impl EchoedRequest {
    pub fn new(request: &Request) -> Self {
        Self(Some((request.body.clone(), request.object.clone())))
    }

    /// The text of a member, on one line; none when it is absent or null.
    pub fn member(&self, name: &str) -> Option<Cow<'_, str>> {
        let (body, object) = self.0.as_ref()?;
        let value = object.value(body, name)?;
        std::str::from_utf8(&body[value]).ok().map(json::compact)
    }
}

/// Indexes into the object's members, for edits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Places {
    pub model: Option<usize>,
    pub messages: Option<usize>,
    pub stream: Option<usize>,
    pub stream_options: Option<usize>,
    pub provider: Option<usize>,
    pub temperature: Option<usize>,
    pub max_tokens: Option<usize>,
    pub max_completion_tokens: Option<usize>,
    pub n: Option<usize>,
}
