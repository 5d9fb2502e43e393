//! Reads the request body, with limits on size and time, and parses the few fields that the gateway acts on.

mod conversation;
mod output_bound;

use std::borrow::Cow;
use std::pin::pin;
use std::sync::OnceLock;

use bytes::{Bytes, BytesMut};
use domain::call::{Format, Surface};
use domain::canon::Prompt;
use domain::fault::{self, Fault};
use domain::scope::{Action, Scope};
use futures_util::FutureExt as _;
use http::{HeaderMap, HeaderName, HeaderValue};
use http_body_util::BodyExt as _;
use wire::codec::shape::ASSUMED_OUTPUT;
use wire::codec::{Request, RequestShape};
use wire::formats;

use crate::call::arrival::Arrival;
use crate::call::previous::Previous;
use crate::gateway::Gateway;
use crate::policy::Policy;
use crate::routing::choose::{SelectionContext, SelectionMode};
use crate::routing::resolve::RoutingRequest;
use crate::routing::resolve::access::Access;
use crate::routing::resolve::fallback::{Needs, RequiredCapabilities};
use crate::services::body_work::{BodyLease, LARGE_BODY, SMALL_BODY};
use crate::services::prompt_affinity::ConversationKey;

const FORCE_PROVIDER: HeaderName = HeaderName::from_static("x-gateway-force-provider");

/// A parsed call: the original body, the fields read from it, and related request data.
pub struct Call {
    pub surface: Surface,
    pub request: Request,
    pub stream: bool,
    /// Client headers that are forwarded to providers of the same API format.
    pub forwarded: Vec<(HeaderName, HeaderValue)>,
    /// The previous response that this one continues.
    pub previous: Option<Previous>,
    /// The request as it came, if guardrails have changed it.
    pub original: Option<Box<Request>>,
    /// Whether the answer is held back until it is complete, because a guardrail decides about the whole of it.
    pub holds_answer: bool,
    /// The request in the canonical model, parsed when a target first needs it.
    prompt: OnceLock<Result<Prompt, Fault>>,
    /// The conversation that the call belongs to, identified when there is a choice between targets.
    conversation: OnceLock<Option<ConversationKey>>,
}

/// The header that enables preview features, which only providers of the same API format understand.
fn switch(surface: Surface) -> Option<HeaderName> {
    match surface {
        Surface::Converse(Format::Messages) => Some(HeaderName::from_static("anthropic-beta")),
        Surface::Converse(Format::Responses) => Some(HeaderName::from_static("openai-beta")),
        _ => None,
    }
}

impl Call {
    fn new(surface: Surface, request: Request, stream: bool) -> Self {
        Self {
            surface,
            request,
            stream,
            forwarded: Vec::new(),
            previous: None,
            original: None,
            holds_answer: false,
            prompt: OnceLock::new(),
            conversation: OnceLock::new(),
        }
    }

    /// The routing question of this call.
    pub fn asking<'a>(
        &'a self,
        access: Access<'a>,
        arrival: &'a Arrival,
        policy: &'a Policy,
    ) -> Result<RoutingRequest<'a>, Fault> {
        Ok(RoutingRequest {
            forced: forced(&access, arrival)?,
            access,
            model: self.request.model.as_deref(),
            hint: self.request.provider_hint.as_deref(),
            fallback: &policy.fallback,
            needs: self,
        })
    }

    /// The inputs of target selection, without a warm target. The seed comes from the call, so that the selection can be
    /// reproduced.
    pub fn selection(&self, gateway: &Gateway, seed: u64, mode: SelectionMode) -> SelectionContext {
        let input_tokens = catalog::estimate_tokens_from_bytes(self.request.body.len() as u64);
        let output_tokens = self.request.max_output.unwrap_or(ASSUMED_OUTPUT);
        SelectionContext { now: gateway.clock.tick(), seed, input_tokens, output_tokens, mode, warm: None }
    }

    /// The facts about the request that decide its cost and its targets.
    pub fn shape(&self) -> RequestShape<'_> {
        formats::native(self.surface).shape(&self.request)
    }

    /// Whether the answer can be inspected: it is one turn of a conversation, made while the client waits.
    pub fn has_inspectable_answer(&self) -> bool {
        let Request { body, object, choices, .. } = &self.request;
        match self.surface {
            Surface::Converse(Format::Responses) => {
                let in_background = object.value(body, "background");
                *choices <= 1 && in_background.is_none_or(|value| &body[value] != b"true")
            }
            Surface::Converse(_) => *choices <= 1,
            // Scores contain no text, unless they come with the documents.
            Surface::Rerank => {
                object.value(body, "return_documents").is_none_or(|value| &body[value] != b"true")
            }
            Surface::Embeddings | Surface::EmbedContent { .. } => true,
            Surface::Completions => false,
        }
    }

    /// Whether the provider is asked for a stream. An answer that is held back is not, and still sent as one.
    pub fn streams_upstream(&self) -> bool {
        self.stream && !self.holds_answer
    }

    /// Replaces the request by one that guardrails have changed.
    pub fn change_request(self: Box<Self>, mut changed: Box<Self>) -> Box<Self> {
        let Self { request, previous, original, conversation, .. } = *self;
        changed.original = Some(original.unwrap_or_else(|| Box::new(request)));
        changed.previous = previous;
        changed.conversation = conversation;
        changed
    }

    /// Whether work on the body, or on the turns before it, belongs on a worker thread.
    pub fn is_large(&self) -> bool {
        let earlier = self.previous.as_ref().map_or(0, Previous::byte_count);
        self.request.body.len() + earlier >= LARGE_BODY
    }

    /// The request in the canonical model. A large body is parsed again each time, because the parsed form takes many
    /// times the body's size and would be held for the whole call.
    pub fn prompt(&self, format: Format) -> Result<Cow<'_, Prompt>, Fault> {
        if self.is_large() {
            return formats::client(format).parse(&self.request).map(Cow::Owned);
        }
        let parsed = self.prompt.get_or_init(|| formats::client(format).parse(&self.request));
        parsed.as_ref().map(Cow::Borrowed).map_err(Clone::clone)
    }
}

/// The provider instance that the request header forces; requires admin write access.
fn forced<'a>(access: &Access<'_>, arrival: &'a Arrival) -> Result<Option<&'a str>, Fault> {
    let Some(value) = arrival.headers.get(FORCE_PROVIDER) else { return Ok(None) };
    access.principal.require(Scope::Admin(None, Action::Write))?;
    let named = value.to_str().map(str::trim).ok().filter(|name| !name.is_empty());
    named
        .map(Some)
        .ok_or_else(|| fault::invalid_parameter("X-Gateway-Force-Provider", "Name a provider instance."))
}

impl RequiredCapabilities for Call {
    /// Searches the body for required capabilities. Called only when a fallback to another model is considered.
    fn needs(&self) -> Needs {
        let RequestShape { tools, content, .. } = self.shape();
        Needs { tools, vision: content.has_images(), json_schema: content.json_schema() }
    }
}

pub async fn receive<B>(body: B, headers: &HeaderMap, gateway: &Gateway) -> Result<Bytes, Fault>
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    let policy = &gateway.policy;
    let media_type =
        headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if media_type.trim_start().to_ascii_lowercase().starts_with("multipart/") {
        return Err(fault::unsupported_media_type());
    }
    if let Some(coding) = headers.get(http::header::CONTENT_ENCODING).filter(|coding| *coding != "identity") {
        let shown: String = coding.to_str().unwrap_or("?").chars().take(40).collect();
        let message = format!("A body with 'Content-Encoding: {shown}' is not read: send it as it is.");
        return Err(fault::unsupported_media_type().with_message(message).param("Content-Encoding"));
    }
    // Refuse a body whose announced size is too large before reading any of it.
    if body.size_hint().lower() > policy.body_limit {
        return Err(fault::request_too_large(policy.body_limit));
    }
    let lease = gateway.body_work.lease(policy.body_memory_limit);
    let mut reading = pin!(read(body, policy.body_limit, lease));
    // Most bodies have arrived with the head: they need no timer.
    if let Some(bytes) = reading.as_mut().now_or_never() {
        return bytes;
    }
    match tokio::time::timeout(policy.body_timeout, reading).await {
        Ok(bytes) => bytes,
        Err(_) => Err(fault::request_timeout()),
    }
}

async fn read<B>(mut body: B, limit: u64, mut lease: BodyLease) -> Result<Bytes, Fault>
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    let announced = body.size_hint().exact();
    let mut buffer: Option<BytesMut> = None;
    let mut first: Option<Bytes> = None;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| fault::client_disconnected())?;
        let Ok(data) = frame.into_data() else { continue };
        let held = buffer.as_ref().map_or(0, BytesMut::len) + first.as_ref().map_or(0, Bytes::len);
        if (held + data.len()) as u64 > limit {
            return Err(fault::request_too_large(limit));
        }
        // Memory is leased as data arrives, so that an announced but unsent body does not use up the shared limit.
        if held + data.len() > SMALL_BODY {
            let counted = if held > SMALL_BODY { held } else { 0 };
            lease.grow((held + data.len() - counted) as u64)?;
        }
        // A body in one chunk is used without copying; a buffer is allocated only for a second chunk.
        match (&mut buffer, first.take()) {
            (Some(buffer), _) => buffer.extend_from_slice(&data),
            (None, None) => first = Some(data),
            (None, Some(start)) => {
                let size = announced.unwrap_or(0).max((start.len() + data.len()) as u64);
                let mut grown = BytesMut::with_capacity(size as usize);
                grown.extend_from_slice(&start);
                grown.extend_from_slice(&data);
                buffer = Some(grown);
            }
        }
    }
    Ok(lease.attach(buffer.map(BytesMut::freeze).or(first).unwrap_or_default()))
}

/// Parses the fields that the gateway acts on; a large body is scanned on a worker thread.
pub async fn parse(body: Bytes, arrival: &Arrival, gateway: &Gateway) -> Result<Box<Call>, Fault> {
    let native = formats::native(arrival.surface);
    let request = match body.len() < LARGE_BODY {
        true => native.peek(body)?,
        false => Box::pin(gateway.body_work.run(&gateway.tasks, move || native.peek(body))).await??,
    };
    interpret(request, arrival)
}

/// As [`parse`], on the calling thread whatever the size of the body.
pub fn parse_here(body: Bytes, arrival: &Arrival) -> Result<Box<Call>, Fault> {
    interpret(formats::native(arrival.surface).peek(body)?, arrival)
}

/// Runs `work` on a call: inline if its body is small, on a blocking thread if it is large.
pub async fn with_call<T: Send + 'static>(
    gateway: &Gateway,
    call: Box<Call>,
    work: impl FnOnce(&Call) -> T + Send + 'static,
) -> Result<(Box<Call>, T), Fault> {
    if !call.is_large() {
        let result = work(&call);
        return Ok((call, result));
    }
    let elements = call.request.object.elements;
    let work = move || {
        let result = work(&call);
        (call, result)
    };
    Box::pin(gateway.body_work.run_on_tree(&gateway.tasks, elements, work)).await
}

fn interpret(mut request: Request, arrival: &Arrival) -> Result<Box<Call>, Fault> {
    let asked = match arrival.query_value("stream") {
        None | Some("false") => false,
        Some("true" | "1" | "") => true,
        Some(other) => {
            return Err(fault::invalid_parameter("stream", format!("'{other}' is not true or false.")));
        }
    };
    if asked && request.stream == Some(false) {
        return Err(fault::invalid_parameter(
            "stream",
            "The query says stream=true and the body says false.",
        ));
    }
    let mut stream = asked || request.stream == Some(true);
    if stream && matches!(arrival.surface, Surface::Embeddings | Surface::Rerank) {
        return Err(fault::invalid_parameter("stream", "Nothing is streamed here."));
    }
    if let Some((model, streams)) = &arrival.addressed {
        request.model = Some(model.clone());
        stream = streams.unwrap_or(stream);
    }
    let header = |name: HeaderName| arrival.headers.get(&name).map(|value| (name, value.clone()));
    let forwarded = switch(arrival.surface).and_then(header).into_iter().collect();
    refuse_second_model(&request)?;
    // Boxed, because it is moved through all stages of the pipeline.
    let mut call = Box::new(Call::new(arrival.surface, request, stream));
    call.forwarded = forwarded;
    Ok(call)
}

/// Refuses a second `model` key in another case: a server that ignores case would use a model that was not checked.
fn refuse_second_model(request: &Request) -> Result<(), Fault> {
    let is_second = |key: &[u8]| key.eq_ignore_ascii_case(b"model") && key != b"model";
    match request.object.named(&request.body).find(|(key, _)| is_second(key)) {
        None => Ok(()),
        Some((key, _)) => {
            let key = String::from_utf8_lossy(&key);
            let message = format!("'{key}' could be taken for 'model': write it in small letters, once.");
            Err(fault::invalid_json(message).param(key))
        }
    }
}
