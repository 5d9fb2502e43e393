//! The upstream side of a format: encodes requests for a provider, and reads its answers, streams and errors.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use domain::canon::{Dropped, Event, Prompt, Reply};
use domain::fault::Fault;
use domain::usage::Usage;

use super::{IdGenerator, PromptCacheMode};
use crate::json::{self, Object, ScanError};
use crate::provider_error;
use crate::sse;
use crate::vendors::Vendor;

/// Reads the bytes of a provider's answer to one operation: events, usage and errors, without decoding the content.
pub trait AnswerReader: Send + Sync {
    fn classify(&self, event: &sse::Event) -> Seen;

    /// Whether an event ends a block. Formats with blocks send usage after the last block, which looks like any other.
    fn ends_block(&self, _data: &[u8]) -> bool {
        false
    }

    /// Returns the upstream's response id, if this event's data contains one.
    fn event_id(&self, data: &[u8]) -> Option<String>;

    /// Whether the end of the body ends the response once a finish reason was seen, because the format has no terminal
    /// event.
    fn ends_with_the_body(&self) -> bool {
        false
    }

    /// Reads a usage object. Some formats report usage in several parts; `so_far` holds the parts read before.
    fn read_usage(&self, raw: &[u8], so_far: Option<&Usage>) -> Option<Usage>;

    /// The name of the usage object in an answer.
    fn usage_member(&self) -> &'static str {
        "usage"
    }

    /// Reads the usage of a document that is not a valid answer.
    fn find_usage(&self, body: &[u8]) -> Option<Usage> {
        let object = json::scan(body).ok()?;
        self.read_usage(&body[object.value(body, self.usage_member())?], None)
    }

    fn read_answer(&self, body: &[u8]) -> Result<Answer, ScanError>;

    /// Reads an error response. Its text is shown only if it is a readable error object, never as raw bytes.
    fn read_error(&self, status: u16, body: &[u8], provider: &str) -> Fault {
        provider_error::read_error(status, body, provider)
    }

    /// Reads an error object found in a stream event's data or in a successful response.
    fn read_stream_error(&self, data: &[u8], provider: &str) -> Fault {
        provider_error::read_stream_error(data, provider)
    }
}

/// A format that providers use: canonical prompts are encoded for them, and their answers become canonical.
pub trait UpstreamCodec: AnswerReader {
    fn encode(&self, prompt: &Prompt, target: &Target<'_>) -> Result<Encoded, Fault>;

    fn decode(&self, body: &[u8], decoding: &mut Decoding) -> Result<Reply, Fault>;

    fn decoder(&self, decoding: Decoding) -> Box<dyn Decoder>;
}

/// Decodes a provider's stream. Canonical events are emitted as soon as they are read, without buffering.
pub trait Decoder: Send {
    fn decode_event(&mut self, event: &sse::Event, out: &mut Vec<Event>) -> Result<(), Fault>;

    /// Handles the end of the provider's stream. An incomplete response is a fault, unless the format has no terminal
    /// event.
    fn close(&mut self, out: &mut Vec<Event>) -> Result<(), Fault>;
}

/// The upstream model that a request is prepared for.
pub struct Target<'a> {
    /// The model's id at the provider.
    pub model: &'a str,
    /// Whether the response is streamed; the request may have said so in the body or in the path.
    pub stream: bool,
    pub vendor: &'a Vendor,
    /// The model's output limit in tokens, if the catalogue has it.
    pub max_output: Option<u64>,
    /// Whether cache breakpoints are added or removed; read by the Messages format alone.
    pub prompt_cache: PromptCacheMode,
}

/// A translated request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Encoded {
    pub body: Bytes,
    /// Parameters that could not be translated, by their names in the client's format.
    pub dropped: Dropped,
    /// The tool that emulates a JSON schema: its input is the content of the answer.
    pub schema_tool: Option<String>,
}

/// Context that a decoder needs besides the provider's bytes.
#[derive(Clone, Debug)]
pub struct Decoding {
    /// The provider instance, named in faults.
    pub provider: Arc<str>,
    /// The model that was called, by its name at the provider: the origin of opaque state.
    pub model: Arc<str>,
    pub schema_tool: Option<String>,
    /// Generates ids for tool calls that the provider sent without one.
    pub ids: IdGenerator,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// The answer has begun but has no content yet.
    Lifecycle,
    Content,
    /// Usage only.
    Usage,
    /// The end of a successful answer.
    Terminal,
    /// The end of a failed answer, as the format itself reports it.
    Failed,
    Error,
    /// A comment or a ping.
    Ignorable,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub class: Class,
    /// Position of the usage object in the event's data, unless it is null.
    pub usage: Option<Range<usize>>,
    /// Whether the event contains a finish reason.
    pub finish: bool,
    /// Bytes of text, reasoning and tool arguments, the basis of usage estimates.
    pub content_bytes: usize,
    /// Position of the text in the event's data, without quotes, if another text there would only change
    /// `content_bytes`.
    pub text: Option<Range<usize>>,
}

impl Seen {
    pub fn of(class: Class) -> Self {
        Self { class, usage: None, finish: false, content_bytes: 0, text: None }
    }
}

/// The fields of a complete answer that the gateway reads.
#[derive(Clone, Debug)]
pub struct Answer {
    pub object: Object,
    pub id: Option<String>,
    /// Position of the usage object, unless it is null.
    pub usage: Option<Range<usize>>,
    /// Bytes of text, reasoning and tool arguments for a usage estimate; counted only when there is no usage.
    pub content_bytes: usize,
    /// Position of an error object inside a successful response.
    pub error: Option<Range<usize>>,
}
