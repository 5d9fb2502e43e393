//! A client's request, as far as the gateway acts on it without translating it.

use bytes::Bytes;
use domain::call::Format;

use crate::json::Object;

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
