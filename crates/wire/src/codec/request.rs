//! A client's request: the fields the gateway acts on without translating the body.

use std::borrow::Cow;

use bytes::Bytes;
use domain::call::Format;

use crate::json::{self, KeyFilter, Object};

#[derive(Clone, Debug)]
pub struct Request {
    pub format: Format,
    pub body: Bytes,
    pub object: Object,
    pub model: Option<String>,
    pub stream: Option<bool>,
    /// Whether the client itself requested the usage chunk.
    pub include_usage: bool,
    /// The value of a string `provider` member, which is the gateway's own field and never forwarded.
    pub provider_hint: Option<String>,
    /// The output limit in tokens.
    pub max_output: Option<u64>,
    /// The number of choices requested.
    pub choices: u64,
    pub places: MemberIndexes,
}

impl Request {
    /// Whether the request may declare tools or an output format, on which the reading of its answer depends.
    pub fn may_shape_answer(&self) -> bool {
        const CHAT: KeyFilter = KeyFilter::of(&["tools", "functions", "response_format"]);
        const MESSAGES: KeyFilter = KeyFilter::of(&["tools", "output_format", "output_config"]);
        const RESPONSES: KeyFilter = KeyFilter::of(&["tools", "text"]);
        const GEMINI: KeyFilter = KeyFilter::of(&["tools", "generationConfig", "generation_config"]);
        let keys = match self.format {
            Format::Chat => CHAT,
            Format::Messages => MESSAGES,
            Format::Responses => RESPONSES,
            Format::Gemini => GEMINI,
        };
        self.object.keys.may_share_key(keys)
    }

    /// Whether the request may repeat tool calls of earlier answers.
    pub fn may_repeat_tool_calls(&self) -> bool {
        const TOOL_CALLS: KeyFilter = KeyFilter::of(&["tool_calls"]);
        self.object.keys.may_share_key(TOOL_CALLS)
    }
}

/// The client's request, for formats whose answers repeat parts of it. Shares the body, which is never parsed as a
/// whole.
#[derive(Clone, Debug, Default)]
pub struct EchoedRequest(Option<(Bytes, Object)>);

impl EchoedRequest {
    pub fn new(request: &Request) -> Self {
        Self(Some((request.body.clone(), request.object.clone())))
    }

    /// The JSON text of a member on one line; `None` if it is absent or null.
    pub fn member(&self, name: &str) -> Option<Cow<'_, str>> {
        let (body, object) = self.0.as_ref()?;
        let value = object.value(body, name)?;
        std::str::from_utf8(&body[value]).ok().map(json::compact)
    }
}

/// Indexes into the object's members, for edits.
#[derive(Clone, Copy, Debug, Default)]
pub struct MemberIndexes {
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
