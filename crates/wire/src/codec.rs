//! What a format can do: pass bytes through as they are, and translate to and from the canonical model.

mod fields;
mod mint;
mod request;

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use bytes::{Bytes, BytesMut};
use domain::call::{Format, Surface};
use domain::canon::{Dropped, Event, Prompt, Reply, SEAL_MARK, Tool};
use domain::fault::Fault;
use domain::usage::Usage;
use memchr::memmem;

use crate::formats::{chat, completions, embed_content, embeddings, generate, messages, rerank, responses};
use crate::json::{Object, ScanError};
use crate::sse;
use crate::vendors::Vendor;

pub use fields::{Fields, number};
pub use mint::Mint;
pub use request::{EchoedRequest, Places, Request};

/// Clients and providers that speak the same: bytes stay bytes.
pub trait Native: Send + Sync {
    /// The few fields the gateway acts on; the body is kept as it came.
    fn peek(&self, body: Bytes) -> Result<Request, Fault>;

    /// The client's body with the few edits this provider needs, as a chain of slices.
    fn splice(&self, request: &Request, target: &Target<'_>) -> Vec<Bytes>;

    /// Parameters that cannot be carried although the request is not translated by a codec.
    fn dropped(&self, _request: &Request) -> Dropped {
        Dropped::default()
    }

    fn classify(&self, event: &sse::Event) -> Seen;

    /// The upstream's id for its answer, if this event's data names one.
    fn event_id(&self, data: &[u8]) -> Option<String>;

    /// A usage object; some formats tell it in parts, `so_far` is what was read before.
    fn read_usage(&self, raw: &[u8], so_far: Option<&Usage>) -> Option<Usage>;

    fn read_answer(&self, body: &[u8]) -> Result<Answer, ScanError>;

    /// The provider's answer as the client gets it: what the gateway adds or renames, spliced in.
    fn splice_answer(&self, body: &Bytes, answer: &Answer, served: &Served<'_>) -> Vec<Bytes>;

    /// An error answer. Its text is shown only when it is a readable error object, never as raw bytes.
    fn read_error(&self, status: u16, body: &[u8], provider: &str) -> Fault {
        chat::read_error(status, body, provider)
    }

    /// An error object inside a stream event's data or inside a success.
    fn read_stream_error(&self, data: &[u8], provider: &str) -> Fault {
        chat::read_stream_error(data, provider)
    }

    /// A native event as the client must see it, where that differs from what the provider sent. `requested_model` is the
    /// model's name as the client wrote it.
    fn reframe(&self, _event: &sse::Event, _requested_model: &str) -> Option<Bytes> {
        None
    }

    /// What the gateway adds after the provider's terminal event.
    fn closing(&self) -> &'static [u8] {
        b""
    }

    /// The end of the body is the end of the answer, once a finish was seen: there is no terminal event.
    fn ends_with_the_body(&self) -> bool {
        false
    }
}

/// A dialect that can be translated: `parse` and `render` serve a client, `encode` and `decode` call a provider,
/// all through the canonical model.
pub trait Codec: Native {
    /// A client's request, checked. Faults name the field by its path.
    fn parse(&self, request: &Request) -> Result<Prompt, Fault>;

    fn encode(&self, prompt: &Prompt, target: &Target<'_>) -> Result<Encoded, Fault>;

    fn decode(&self, body: &[u8], decoding: &mut Decoding) -> Result<Reply, Fault>;

    fn decoder(&self, decoding: Decoding) -> Box<dyn Decoder>;

    fn render(&self, reply: &Reply, rendering: &mut Rendering) -> Bytes;

    fn renderer(&self, rendering: Rendering) -> Box<dyn Renderer>;
}

/// Follows a provider's stream. Events leave as they are read: nothing waits for the next one.
pub trait Decoder: Send {
    fn read(&mut self, event: &sse::Event, out: &mut Vec<Event>) -> Result<(), Fault>;

    /// The provider closed its stream. What was not said to its end is a fault, unless the format ends so.
    fn close(&mut self, out: &mut Vec<Event>) -> Result<(), Fault>;
}

/// Writes a client's stream.
pub trait Renderer: Send {
    fn write(&mut self, event: &Event, out: &mut BytesMut);

    /// The answer breaks off: an error event in the client's dialect. Nothing follows it, least of all a clean end.
    fn fail(&mut self, fault: &Fault, out: &mut BytesMut);
}

pub fn of(format: Format) -> &'static dyn Codec {
    match format {
        Format::Chat => &chat::Chat,
        Format::Responses => &responses::Responses,
        Format::Messages => &messages::Messages,
        Format::Generate => &generate::Generate,
    }
}

/// The byte side of whatever is asked.
pub fn native(surface: Surface) -> &'static dyn Native {
    match surface {
        Surface::Converse(format) => of(format),
        Surface::Completions => &completions::Completions,
        Surface::Embeddings => &embeddings::Embeddings,
        Surface::EmbedContent { batch: false } => &embed_content::EmbedContent { batch: false },
        Surface::EmbedContent { batch: true } => &embed_content::EmbedContent { batch: true },
        Surface::Rerank => &rerank::Rerank,
    }
}

/// The body carries state that was sealed for its client: it must not go to a provider as it is.
pub fn carries_sealed_state(body: &[u8]) -> bool {
    static MARK: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(SEAL_MARK));
    MARK.find(body).is_some()
}

/// Where a request goes.
pub struct Target<'a> {
    /// The model's id as the provider knows it.
    pub model: &'a str,
    /// Whether the answer is streamed, wherever that was said.
    pub stream: bool,
    pub vendor: &'a Vendor,
    /// The most the model can answer, where the catalogue knows it.
    pub max_output: Option<u64>,
}

/// A translated request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Encoded {
    pub body: Bytes,
    /// What could not be carried, in the client's words.
    pub dropped: Dropped,
    /// The tool that stands in for a JSON schema: its input is the content of the answer.
    pub schema_tool: Option<String>,
}

/// What a decoder must know beside the provider's bytes.
#[derive(Clone, Debug)]
pub struct Decoding {
    /// The instance, for faults.
    pub provider: Arc<str>,
    /// The model that was asked, as its provider names it: the origin of opaque state.
    pub model: Arc<str>,
    pub schema_tool: Option<String>,
    /// For calls the provider gave no id.
    pub mint: Mint,
}

/// What a renderer must know beside the canonical answer.
#[derive(Clone, Debug)]
pub struct Rendering {
    /// For the ids of the answer and its items.
    pub mint: Mint,
    /// Unix time in seconds.
    pub created: i64,
    /// The instance that served.
    pub provider: Arc<str>,
    /// The model that was asked, as its provider names it; shown unless the answer itself names one.
    pub model: Arc<str>,
    /// The model's name as the client wrote it.
    pub requested_model: Arc<str>,
    pub latency_ms: u64,
    /// The client asked for usage in its stream.
    pub include_usage: bool,
    /// The prompt's tools that are custom or have a namespace, without their schemas.
    pub tools: Arc<[Tool]>,
    /// The client's own request: responses repeat most of it.
    pub request: EchoedRequest,
}

/// What is spliced into a native answer.
pub struct Served<'a> {
    pub provider: &'a str,
    pub model: &'a str,
    /// The model's name as the client wrote it.
    pub requested_model: &'a str,
    pub latency_ms: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// The answer has begun and says nothing yet: nothing a client could miss.
    Lifecycle,
    Content,
    /// Usage and nothing else.
    Usage,
    /// The end of a good answer.
    Terminal,
    /// The end of an answer that failed, in the format's own words.
    Failed,
    Error,
    /// A comment or a ping.
    Ignorable,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub class: Class,
    /// Where the usage object is in the event's data, unless it is null.
    pub usage: Option<Range<usize>>,
    /// The event says why the answer ends.
    pub finish: bool,
    /// Bytes of text, reasoning and tool arguments: what an estimate is made of.
    pub content_bytes: usize,
}

impl Seen {
    pub fn of(class: Class) -> Self {
        Self { class, usage: None, finish: false, content_bytes: 0 }
    }
}

/// A whole answer, as far as the gateway reads it.
#[derive(Clone, Debug)]
pub struct Answer {
    pub object: Object,
    pub id: Option<String>,
    /// Where the usage object is, unless it is null.
    pub usage: Option<Range<usize>>,
    /// Bytes of text, reasoning and tool arguments for an estimate; counted only when there is no usage.
    pub content_bytes: usize,
    /// An error object inside a success.
    pub error: Option<Range<usize>>,
}
