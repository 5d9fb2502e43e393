//! A call as it goes up: as it came where the provider speaks the client's dialect, else translated; the instance's own
//! headers, nothing of the client's credentials.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use domain::call::{Format, Surface};
use domain::canon::{CustomTool, Dropped, FunctionTool, Prompt, Tool};
use domain::fault::{self, Fault};
use egress::Outbound;
use http::Method;
use wire::codec::{self, Codec, Decoding, EchoedRequest, Mint, Native, Rendering, Request, Target};
use wire::renames::Renames;

use super::occasion::{Occasion, OwnedOccasion};
use crate::body_work;
use crate::recall;
use crate::receive::Call;
use crate::responses;
use crate::settle::Ticket;
use crate::snapshot::routes::Lane;
use crate::traces::TraceHeaders;

/// A call made ready for one target.
pub struct Leaving {
    /// What is asked of the provider.
    pub surface: Surface,
    pub body: Vec<Bytes>,
    pub passage: Passage,
    /// Parameters that this target cannot take.
    dropped: Dropped,
    /// `traceparent` and `tracestate`, set when the attempt starts.
    pub trace_headers: TraceHeaders,
}

impl Leaving {
    /// Parameters that this target cannot take.
    pub fn dropped(&self) -> Dropped {
        self.dropped.clone()
    }
}

/// How the answer comes back to the client.
pub enum Passage {
    /// As the provider sends it.
    Native(&'static dyn Native),
    Translated(Box<Translation>),
}

pub struct Translation {
    pub upstream: &'static dyn Codec,
    pub client: &'static dyn Codec,
    pub client_format: Format,
    pub decoding: Decoding,
    pub rendering: Rendering,
    pub renames: Renames,
    pub continuity: Continuity,
}

/// Whether a stream may outlive its provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continuity {
    Single,
    Resumable,
    /// It goes on with what another provider began.
    Continuation,
}

impl Passage {
    /// Reads the provider's bytes.
    pub fn upstream(&self) -> &'static dyn Native {
        match self {
            Self::Native(native) => *native,
            Self::Translated(translation) => translation.upstream,
        }
    }
}

pub fn prepare(call: &Call, lane: &Lane, occasion: &dyn Occasion) -> Result<Leaving, Fault> {
    let target = target(call, lane);
    let Surface::Converse(client) = call.surface else {
        if target.vendor.paths.surface(call.surface, call.stream).is_none() {
            return Err(unsupported(call.surface, lane));
        }
        let native = codec::native(call.surface);
        let body = native.splice(&call.request, &target);
        let dropped = native.dropped(&call.request);
        refuse_dropped(&dropped, lane, occasion)?;
        return Ok(Leaving {
            surface: call.surface,
            body,
            passage: Passage::Native(native),
            dropped,
            trace_headers: Vec::new(),
        });
    };
    let upstream = upstream(call, lane, client)?;
    if is_resumable(call, occasion) {
        let prompt = whole_prompt(call, client)?;
        return translate(call, lane, occasion, prompt, (client, upstream), Continuity::Resumable);
    }
    let request = match upstream == client && responses::goes_on_here(call, lane) {
        true => Cow::Borrowed(&call.request),
        false => responses::with_history(call)?,
    };
    if upstream == client && !codec::carries_sealed_state(&request.body) {
        let codec = codec::of(client);
        let body = codec.splice(&request, &target);
        let (surface, passage) = (Surface::Converse(client), Passage::Native(codec));
        return Ok(Leaving {
            surface,
            body,
            passage,
            dropped: Dropped::default(),
            trace_headers: Vec::new(),
        });
    }
    let prompt = read(call, request, client)?;
    translate(call, lane, occasion, prompt, (client, upstream), Continuity::Single)
}

/// Prepares a call with a large body off the connection's thread; the call comes back with the outcome.
pub async fn prepare_large(
    call: Box<Call>,
    lane: Arc<Lane>,
    ticket: &Ticket,
) -> Result<(Box<Call>, Result<Leaving, Fault>), Fault> {
    let gateway = ticket.gateway().clone();
    let occasion = OwnedOccasion::of(ticket);
    body_work::with_call(&gateway, call, move |call| prepare(call, &lane, &occasion)).await
}

/// The rest of an answer that broke off; `ask` makes the question for a target of that format.
pub fn prepare_rest(
    call: &Call,
    lane: &Lane,
    occasion: &dyn Occasion,
    ask: impl FnOnce(Prompt, Format) -> Prompt,
) -> Result<Leaving, Fault> {
    let Surface::Converse(client) = call.surface else { return Err(unsupported(call.surface, lane)) };
    let upstream = upstream(call, lane, client)?;
    let prompt = ask(whole_prompt(call, client)?, upstream);
    translate(call, lane, occasion, prompt, (client, upstream), Continuity::Continuation)
}

/// Such a stream is always translated, so that any provider can go on with it. Several answers at once, and what only
/// one provider remembers, can be passed on only as they are.
fn is_resumable(call: &Call, occasion: &dyn Occasion) -> bool {
    occasion.gateway().policy.resume_streams
        && call.stream
        && call.request.choices <= 1
        && responses::history_is_known(call)
        && !ONLY_THERE.iter().any(|name| call.has(name))
}

/// Members of a response that lead to state of one provider.
const ONLY_THERE: [&str; 3] = ["background", "conversation", "prompt"];

fn target<'a>(call: &Call, lane: &'a Lane) -> Target<'a> {
    Target {
        model: &lane.target.model,
        stream: call.stream,
        vendor: lane.instance.vendor,
        max_output: lane.facts.as_ref().and_then(|facts| facts.max_output_tokens),
    }
}

fn upstream(call: &Call, lane: &Lane, client: Format) -> Result<Format, Fault> {
    let format = lane.instance.vendor.format_for(client, &lane.target.model);
    format.ok_or_else(|| unsupported(call.surface, lane))
}

/// The prompt with everything said before in it.
fn whole_prompt(call: &Call, client: Format) -> Result<Prompt, Fault> {
    read(call, responses::with_history(call)?, client)
}

fn read(call: &Call, request: Cow<'_, Request>, client: Format) -> Result<Prompt, Fault> {
    match request {
        Cow::Borrowed(_) => call.prompt(client).map(Cow::into_owned),
        Cow::Owned(request) => codec::of(client).parse(&request),
    }
}

fn translate(
    call: &Call,
    lane: &Lane,
    occasion: &dyn Occasion,
    prompt: Prompt,
    (client, upstream): (Format, Format),
    continuity: Continuity,
) -> Result<Leaving, Fault> {
    let mut prompt = recall::restore(prompt, occasion);
    let tools = special_tools(&prompt.tools);
    let renames = Renames::fit(&mut prompt, upstream);
    let encoded = codec::of(upstream).encode(&prompt, &target(call, lane))?;
    refuse_dropped(&encoded.dropped, lane, occasion)?;
    let mint = Mint::new(occasion.seed());
    let (provider, model) = (lane.target.instance.clone(), lane.target.model.clone());
    let translation = Translation {
        upstream: codec::of(upstream),
        client: codec::of(client),
        client_format: client,
        decoding: Decoding {
            provider: provider.clone(),
            model: model.clone(),
            schema_tool: encoded.schema_tool,
            mint: mint.clone(),
        },
        rendering: Rendering {
            mint,
            created: occasion.created(),
            provider,
            model,
            requested_model: call.request.model.as_deref().unwrap_or_default().into(),
            latency_ms: 0,
            include_usage: call.request.include_usage,
            tools,
            request: echoed(client, &call.request),
        },
        renames,
        continuity,
    };
    Ok(Leaving {
        surface: Surface::Converse(upstream),
        body: vec![encoded.body],
        passage: Passage::Translated(Box::new(translation)),
        dropped: encoded.dropped,
        trace_headers: Vec::new(),
    })
}

/// With `STRICT_TRANSLATION`, a parameter that cannot be carried is an error.
fn refuse_dropped(dropped: &Dropped, lane: &Lane, occasion: &dyn Occasion) -> Result<(), Fault> {
    match dropped.names().first() {
        Some(name) if occasion.gateway().policy.strict_translation => {
            let target = lane.target.selector();
            let message = format!("'{name}' cannot be carried to '{target}', and STRICT_TRANSLATION is on.");
            Err(fault::invalid_parameter(name.clone(), message))
        }
        _ => Ok(()),
    }
}

/// Only responses repeat what was asked.
fn echoed(client: Format, request: &Request) -> EchoedRequest {
    match client {
        Format::Responses => EchoedRequest::new(request),
        _ => EchoedRequest::default(),
    }
}

/// The tools whose calls are written differently from those of plain functions. Answers need their names alone: schemas
/// would be held for as long as the stream lasts.
fn special_tools(tools: &[Tool]) -> Arc<[Tool]> {
    let special = tools.iter().filter_map(|tool| match tool {
        Tool::Function(FunctionTool { name, namespace: Some(namespace), .. }) => {
            let (name, namespace) = (name.clone(), Some(namespace.clone()));
            Some(Tool::Function(FunctionTool { name, namespace, ..FunctionTool::default() }))
        }
        Tool::Custom(CustomTool { name, namespace, .. }) => {
            let (name, namespace) = (name.clone(), namespace.clone());
            Some(Tool::Custom(CustomTool { name, namespace, ..CustomTool::default() }))
        }
        Tool::Function(_) | Tool::Foreign(_) => None,
    });
    special.collect()
}

fn unsupported(surface: Surface, lane: &Lane) -> Fault {
    let instance = &lane.target.instance;
    match surface {
        Surface::Rerank => fault::unsupported("unsupported_rerank_operation", "reranking", instance),
        Surface::Embeddings | Surface::EmbedContent { .. } => {
            fault::unsupported("unsupported_operation", "embeddings", instance)
        }
        Surface::Completions => fault::unsupported("unsupported_operation", "text completions", instance),
        Surface::Converse(_) => fault::unsupported("unsupported_operation", "conversations", instance),
    }
}

pub fn build(
    destination: Arc<egress::Destination>,
    leaving: &mut Leaving,
    call: &Call,
    lane: &Lane,
) -> Outbound {
    let core = &lane.instance;
    let mut headers = if call.stream { core.stream_headers.clone() } else { core.headers.clone() };
    for (name, value) in std::mem::take(&mut leaving.trace_headers) {
        headers = headers.with(name, value);
    }
    if leaving.surface == call.surface {
        for (name, value) in &call.forwarded {
            headers = headers.with(name.clone(), value.clone());
        }
    }
    Outbound {
        destination,
        method: Method::POST,
        path_and_query: core.path(leaving.surface, call.stream, &lane.target.model).unwrap_or_default(),
        headers,
        body: std::mem::take(&mut leaving.body).into(),
    }
}
