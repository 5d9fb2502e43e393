//! The client side of a format: reads a client's request, and renders answers and errors for it.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use domain::canon::{Event, Prompt, Reply, Tool};
use domain::fault::Fault;

use super::{EchoedRequest, IdGenerator, Request, RequestShape};
use crate::splice::Patch;

/// Reads the bytes of a client's request, for one operation.
pub trait RequestReader: Send + Sync {
    /// Reads the few fields the gateway acts on; the body itself is kept unchanged.
    fn peek(&self, body: Bytes) -> Result<Request, Fault>;

    /// Reads the facts that decide what the request may cost and which targets can serve it.
    fn shape<'a>(&self, request: &'a Request) -> RequestShape<'a>;

    /// The edit that sets the output limit; `None` for an operation without an output to limit.
    fn limit_output(&self, request: &Request, limit: u64) -> Option<Patch>;
}

/// A format that clients use: their requests become canonical prompts, and canonical answers are rendered for them.
pub trait ClientCodec: RequestReader {
    /// Parses and validates a client's request. Faults name the field by its path.
    fn parse(&self, request: &Request) -> Result<Prompt, Fault>;

    fn render(&self, reply: &Reply, rendering: &mut Rendering) -> Bytes;

    fn renderer(&self, rendering: Rendering) -> Box<dyn Renderer>;

    /// The error body in the format's shape.
    fn render_error(&self, fault: &Fault, request_id: &str) -> Bytes;

    /// The fault as an event in a stream that has begun. Nothing may follow it, in particular no regular end of stream.
    fn render_error_event(&self, fault: &Fault, broken: Broken<'_>) -> Bytes;
}

/// Renders a client's stream.
pub trait Renderer: Send {
    fn write(&mut self, event: &Event, out: &mut BytesMut);

    /// Writes an error event in the client's format after an interrupted response. Nothing may follow it, in particular
    /// no regular end of stream.
    fn fail(&mut self, fault: &Fault, out: &mut BytesMut);
}

/// Context that a renderer needs besides the canonical answer.
#[derive(Clone, Debug)]
pub struct Rendering {
    /// Generates the ids of the answer and its items.
    pub ids: IdGenerator,
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

impl Rendering {
    /// The context for the record of an answer: without the client's request, which is recorded by itself.
    pub fn without_request(&self) -> Self {
        Self { request: EchoedRequest::default(), ..self.clone() }
    }
}

/// State of an interrupted answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Broken<'a> {
    /// The answer's id, as the client received it.
    pub id: &'a str,
    pub model: &'a str,
    /// Unix time in seconds.
    pub created: i64,
    /// The sequence number that the next event would have had.
    pub sequence: u64,
}
