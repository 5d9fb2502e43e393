//! Codec traits: native pass-through of a format's bytes, and translation to and from the canonical model.

mod fields;
mod id_generator;
mod request;
pub mod shape;

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use bytes::{Bytes, BytesMut};
use domain::canon::{Dropped, Event, Prompt, Reply, SEAL_MARK, Tool};
use domain::fault::Fault;
use domain::usage::Usage;
use memchr::memmem;

use crate::json::{self, Object, ScanError};
use crate::provider_error;
use crate::splice::Patch;
use crate::sse;
use crate::vendors::Vendor;

pub use fields::{Fields, number};
pub use id_generator::IdGenerator;
pub use request::{EchoedRequest, Places, Request};
pub use shape::RequestShape;

/// Pass-through operations of a format, for clients and providers that use the same one: the body is edited, not
/// re-serialised.
pub trait Native: Send + Sync {
    /// Reads the few fields the gateway acts on; the body itself is kept unchanged.
    fn peek(&self, body: Bytes) -> Result<Request, Fault>;

    /// Reads the facts that decide what the request may cost and which targets can serve it.
    fn shape<'a>(&self, request: &'a Request) -> RequestShape<'a>;

    /// The edit that sets the output limit; `None` for an operation without an output to limit.
    fn limit_output(&self, request: &Request, limit: u64) -> Option<Patch>;

    /// Builds the upstream body from the client's body and the edits this provider needs, as a chain of slices.
    fn splice(&self, request: &Request, target: &Target<'_>) -> Vec<Bytes>;

    /// Parameters that cannot be forwarded although no codec translates the request.
    fn dropped(&self, _request: &Request) -> Dropped {
        Dropped::default()
    }

    fn classify(&self, event: &sse::Event) -> Seen;

    /// Whether an event ends a block. Formats with blocks send usage after the last block, which looks like any other.
    fn ends_block(&self, _data: &[u8]) -> bool {
        false
    }

    /// Returns the upstream's response id, if this event's data contains one.
    fn event_id(&self, data: &[u8]) -> Option<String>;

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

    /// Builds the response for the client from the provider's body: members the gateway adds or renames are spliced in.
    fn splice_answer(&self, body: &Bytes, answer: &Answer, served: &Served<'_>) -> Vec<Bytes>;

    /// Reads an error response. Its text is shown only if it is a readable error object, never as raw bytes.
    fn read_error(&self, status: u16, body: &[u8], provider: &str) -> Fault {
        provider_error::read_error(status, body, provider)
    }

    /// Reads an error object found in a stream event's data or in a successful response.
    fn read_stream_error(&self, data: &[u8], provider: &str) -> Fault {
        provider_error::read_stream_error(data, provider)
    }

    /// Rewrites a native event for the client; `None` if it is forwarded unchanged. `requested_model` is the model name
    /// as the client wrote it.
    fn reframe(&self, _event: &sse::Event, _requested_model: &str) -> Option<Bytes> {
        None
    }

    /// Bytes that the gateway appends after the provider's terminal event.
    fn closing(&self) -> &'static [u8] {
        b""
    }

    /// Whether the end of the body ends the response once a finish reason was seen, because the format has no terminal
    /// event.
    fn ends_with_the_body(&self) -> bool {
        false
    }
}

/// A format that can be translated through the canonical model: `parse` and `render` serve a client, `encode` and
/// `decode` call a provider.
pub trait Codec: Native {
    /// Parses and validates a client's request. Faults name the field by its path.
    fn parse(&self, request: &Request) -> Result<Prompt, Fault>;

    fn encode(&self, prompt: &Prompt, target: &Target<'_>) -> Result<Encoded, Fault>;

    fn decode(&self, body: &[u8], decoding: &mut Decoding) -> Result<Reply, Fault>;

    fn decoder(&self, decoding: Decoding) -> Box<dyn Decoder>;

    fn render(&self, reply: &Reply, rendering: &mut Rendering) -> Bytes;

    fn renderer(&self, rendering: Rendering) -> Box<dyn Renderer>;
}

/// Decodes a provider's stream. Canonical events are emitted as soon as they are read, without buffering.
pub trait Decoder: Send {
    fn read(&mut self, event: &sse::Event, out: &mut Vec<Event>) -> Result<(), Fault>;

    /// Handles the end of the provider's stream. An incomplete response is a fault, unless the format has no terminal
    /// event.
    fn close(&mut self, out: &mut Vec<Event>) -> Result<(), Fault>;
}

/// Renders a client's stream.
pub trait Renderer: Send {
    fn write(&mut self, event: &Event, out: &mut BytesMut);

    /// Writes an error event in the client's format after an interrupted response. Nothing may follow it, in particular
    /// no regular end of stream.
    fn fail(&mut self, fault: &Fault, out: &mut BytesMut);
}

/// Whether the body contains state that was sealed for its client. Such a body must not be sent to a provider
/// unchanged.
pub fn carries_sealed_state(body: &[u8]) -> bool {
    static MARK: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(SEAL_MARK));
    MARK.find(body).is_some()
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
    pub mint: IdGenerator,
}

/// Context that a renderer needs besides the canonical answer.
#[derive(Clone, Debug)]
pub struct Rendering {
    /// Generates the ids of the answer and its items.
    pub mint: IdGenerator,
    /// Unix time in seconds.
    pub created: i64,
    /// The provider instance that served the request.
    pub provider: Arc<str>,
    /// The model that was called, by its name at the provider; shown unless the answer itself names one.
    pub model: Arc<str>,
    /// The model name as the client wrote it.
    pub requested_model: Arc<str>,
    pub latency_ms: u64,
    /// Whether the client requested usage in its stream.
    pub include_usage: bool,
    /// The prompt's tools that are custom or have a namespace, without their schemas.
    pub tools: Arc<[Tool]>,
    /// The client's request, most of which is repeated in a Responses API answer.
    pub request: EchoedRequest,
}

/// Values that are spliced into a native answer.
pub struct Served<'a> {
    pub provider: &'a str,
    pub model: &'a str,
    /// The model name as the client wrote it.
    pub requested_model: &'a str,
    pub latency_ms: u64,
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
}

impl Seen {
    pub fn of(class: Class) -> Self {
        Self { class, usage: None, finish: false, content_bytes: 0 }
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
