//! Builds the request to a provider: the client's own body if the provider has the same format, otherwise a translated
//! one. It has the headers of the instance and none of the client's credentials.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use domain::call::{Format, Surface};
use domain::canon::{CustomTool, Dropped, FunctionTool, Prompt, Tool};
use domain::fault::{self, Fault, FaultCode};
use egress::Outbound;
use http::Method;
use wire::codec::{self, Decoding, EchoedRequest, IdGenerator, Rendering, Request, Target};
use wire::formats;
use wire::renames::Renames;

use crate::accounting::ticket::Ticket;
use crate::call::context::CallContext;
use crate::call::previous;
use crate::call::receive::{self, Call};
use crate::routing::routes::{Accept, Deployment, InstanceRequest};
use crate::services::traces::TraceHeaders;
use crate::streaming::{
    Continuity, ForwardingInputs, ForwardingMode, ResponseMode, Translation, TranslationReason, resume,
};

/// A request prepared for one target.
pub struct PreparedRequest {
    /// The API surface of the provider that is called.
    pub surface: Surface,
    pub body: Vec<Bytes>,
    pub response_mode: ResponseMode,
    /// Parameters that this target does not support.
    dropped: Dropped,
    /// `traceparent` and `tracestate`, set when the attempt starts.
    pub trace_headers: TraceHeaders,
}

impl PreparedRequest {
    /// The format that the request was translated to; `None` if it is sent in the client's own.
    pub fn translated_format(&self) -> Option<Format> {
        match (&self.response_mode, self.surface) {
            (ResponseMode::Translated(_), Surface::Converse(format)) => Some(format),
            _ => None,
        }
    }

    /// Parameters that this target does not support.
    pub fn dropped(&self) -> Dropped {
        self.dropped.clone()
    }
}

pub fn prepare(
    call: &Call,
    deployment: &Deployment,
    context: &CallContext,
) -> Result<PreparedRequest, Fault> {
    let target = target(call, deployment, context);
    let Surface::Converse(client) = call.surface else {
        if target.vendor.paths.surface(call.surface, call.streams_upstream()).is_none() {
            return Err(unsupported(call.surface, deployment));
        }
        let native = formats::native(call.surface);
        let body = native.splice(&call.request, &target);
        let dropped = native.dropped(&call.request);
        refuse_dropped(&dropped, deployment, context)?;
        return Ok(PreparedRequest {
            surface: call.surface,
            body,
            response_mode: ResponseMode::Native(native),
            dropped,
            trace_headers: Vec::new(),
        });
    };
    let upstream = upstream(call, deployment, client)?;
    let resumable = resume::is_resumable(call, context.policy());
    let is_inspected = is_inspected(call, client, context);
    let request =
        match upstream == client && !resumable && !is_inspected && previous::goes_on_here(call, deployment) {
            true => Cow::Borrowed(&call.request),
            false => previous::with_history(call)?,
        };
    match ForwardingMode::decide(&ForwardingInputs {
        client,
        upstream,
        resumable,
        is_inspected,
        body: &request.body,
    }) {
        ForwardingMode::Bytes => {
            let native = formats::native(Surface::Converse(client));
            Ok(in_client_format(client, &request, &target, ResponseMode::Native(native)))
        }
        ForwardingMode::Translated(TranslationReason::Guardrails)
            if is_sent_unchanged(call, client, &request) =>
        {
            let translation = Box::new(same_format_answer(call, deployment, context, client));
            Ok(in_client_format(client, &request, &target, ResponseMode::Translated(translation)))
        }
        ForwardingMode::Translated(why) => {
            let continuity = if resumable { Continuity::Resumable } else { Continuity::Single };
            let prompt = read(call, request, client)?;
            translate(call, deployment, context, prompt, Conversion { client, upstream, why, continuity })
        }
    }
}

/// A request that is sent in the client's own bytes, with the necessary edits.
fn in_client_format(
    client: Format,
    request: &Request,
    target: &Target<'_>,
    response_mode: ResponseMode,
) -> PreparedRequest {
    let surface = Surface::Converse(client);
    PreparedRequest {
        surface,
        body: formats::native(surface).splice(request, target),
        response_mode,
        dropped: Dropped::default(),
        trace_headers: Vec::new(),
    }
}

/// Whether a request whose answer alone is inspected is sent in the client's own bytes. It is not if the gateway may hold
/// reasoning state that belongs into it, has to store its answer under an id of its own, or holds the answer back, which
/// is then not streamed by the provider.
fn is_sent_unchanged(call: &Call, client: Format, request: &Request) -> bool {
    let may_lack_state = client == Format::Chat && request.may_repeat_tool_calls();
    let is_excluded = client == Format::Responses || call.holds_answer || may_lack_state;
    !is_excluded && !codec::carries_sealed_state(&request.body)
}

/// Whether guardrails need the answer in the canonical model: they inspect it, or have changed the request that the
/// Responses format repeats in it.
fn is_inspected(call: &Call, client: Format, context: &CallContext) -> bool {
    let repeats_changes = client == Format::Responses && call.original.is_some();
    // Where nothing depends on it, a conversation that only its provider knows is not refused.
    let is_possible = context.must_filter_answer() || previous::history_is_known(call);
    call.has_inspectable_answer() && is_possible && (context.filters_answer() || repeats_changes)
}

/// Prepares a call with a large body on a blocking thread; returns the call with the outcome.
pub async fn prepare_large(
    call: Box<Call>,
    deployment: Arc<Deployment>,
    ticket: &Ticket,
) -> Result<(Box<Call>, Result<PreparedRequest, Fault>), Fault> {
    let gateway = ticket.gateway().clone();
    let context = ticket.context.clone();
    receive::with_call(&gateway, call, move |call| prepare(call, &deployment, &context)).await
}

/// Prepares the request for the rest of a response that broke off; `ask` builds the prompt for a target of that format.
pub fn prepare_rest(
    call: &Call,
    deployment: &Deployment,
    context: &CallContext,
    ask: impl FnOnce(Prompt, Format) -> Prompt,
) -> Result<PreparedRequest, Fault> {
    let Surface::Converse(client) = call.surface else { return Err(unsupported(call.surface, deployment)) };
    let upstream = upstream(call, deployment, client)?;
    let prompt = ask(read(call, previous::with_history(call)?, client)?, upstream);
    let (why, continuity) = (TranslationReason::Continuation, Continuity::Continuation);
    translate(call, deployment, context, prompt, Conversion { client, upstream, why, continuity })
}

fn target<'a>(call: &Call, deployment: &'a Deployment, context: &CallContext) -> Target<'a> {
    Target {
        model: &deployment.target.model,
        stream: call.streams_upstream(),
        vendor: deployment.instance.vendor,
        max_output: deployment.facts.as_ref().and_then(|facts| facts.max_output_tokens),
        prompt_cache: context.policy().prompt_cache,
    }
}

fn upstream(call: &Call, deployment: &Deployment, client: Format) -> Result<Format, Fault> {
    let format = deployment.instance.vendor.format_for(client, &deployment.target.model);
    format.ok_or_else(|| unsupported(call.surface, deployment))
}

fn read(call: &Call, request: Cow<'_, Request>, client: Format) -> Result<Prompt, Fault> {
    match request {
        Cow::Borrowed(_) => call.prompt(client).map(Cow::into_owned),
        Cow::Owned(request) => formats::client(client).parse(&request),
    }
}

/// The formats of a translation, and the reason for it.
struct Conversion {
    client: Format,
    upstream: Format,
    why: TranslationReason,
    continuity: Continuity,
}

fn translate(
    call: &Call,
    deployment: &Deployment,
    context: &CallContext,
    prompt: Prompt,
    Conversion { client, upstream, why, continuity }: Conversion,
) -> Result<PreparedRequest, Fault> {
    let mut prompt = context.gateway().reasoning_states.restore(prompt, context.owner());
    let is_json = prompt.output.is_some();
    let tools = special_tools(&prompt.tools);
    let renames = Renames::fit(&mut prompt, upstream);
    let encoded = formats::upstream(upstream).encode(&prompt, &target(call, deployment, context))?;
    refuse_dropped(&encoded.dropped, deployment, context)?;
    let schema_tool = encoded.schema_tool;
    let decoded = AnswerTraits { schema_tool, tools, renames, is_json };
    let translation =
        translation(call, deployment, context, Conversion { client, upstream, why, continuity }, decoded);
    Ok(PreparedRequest {
        surface: Surface::Converse(upstream),
        body: vec![encoded.body],
        response_mode: ResponseMode::Translated(Box::new(translation)),
        dropped: encoded.dropped,
        trace_headers: Vec::new(),
    })
}

/// The facts about a request that the reading of its answer depends on.
#[derive(Default)]
struct AnswerTraits {
    schema_tool: Option<String>,
    tools: Arc<[Tool]>,
    renames: Renames,
    is_json: bool,
}

fn translation(
    call: &Call,
    deployment: &Deployment,
    context: &CallContext,
    Conversion { client, upstream, why, continuity }: Conversion,
    AnswerTraits { schema_tool, tools, renames, is_json }: AnswerTraits,
) -> Translation {
    let ids = IdGenerator::new(context.seed());
    let (provider, model) = (deployment.target.instance.clone(), deployment.target.model.clone());
    Translation {
        upstream: formats::upstream(upstream),
        client: formats::client(client),
        client_format: client,
        decoding: Decoding {
            provider: provider.clone(),
            model: model.clone(),
            schema_tool,
            ids: ids.clone(),
        },
        rendering: Rendering {
            ids,
            created: context.created(),
            provider,
            model,
            requested_model: call.request.model.as_deref().unwrap_or_default().into(),
            latency_ms: 0,
            include_usage: call.request.include_usage,
            tools,
            request: echoed(client, call.original.as_deref().unwrap_or(&call.request)),
        },
        renames,
        why,
        continuity,
        // The rest of a stream passes the filter of its first part.
        filter: (continuity != Continuity::Continuation).then(|| context.answer_filter(is_json)).flatten(),
    }
}

/// The reading of an answer to a request that was sent in the client's own format, for guardrails to inspect it.
pub fn same_format_answer(
    call: &Call,
    deployment: &Deployment,
    context: &CallContext,
    format: Format,
) -> Translation {
    // A request that cannot be parsed has no tools and no schema that are known here.
    let prompt = call.request.may_shape_answer().then(|| call.prompt(format).ok()).flatten();
    let traits = prompt.map(|prompt| AnswerTraits {
        tools: special_tools(&prompt.tools),
        is_json: prompt.output.is_some(),
        ..AnswerTraits::default()
    });
    let (why, continuity) = (TranslationReason::Guardrails, Continuity::Single);
    let conversion = Conversion { client: format, upstream: format, why, continuity };
    translation(call, deployment, context, conversion, traits.unwrap_or_default())
}

/// With `STRICT_TRANSLATION`, a parameter that cannot be translated is an error.
fn refuse_dropped(dropped: &Dropped, deployment: &Deployment, context: &CallContext) -> Result<(), Fault> {
    match dropped.names().first() {
        Some(name) if context.policy().strict_translation => {
            let target = deployment.target.selector();
            let message = format!("'{name}' cannot be carried to '{target}', and STRICT_TRANSLATION is on.");
            Err(fault::invalid_parameter(name.clone(), message))
        }
        _ => Ok(()),
    }
}

/// Only the Responses format echoes the request.
fn echoed(client: Format, request: &Request) -> EchoedRequest {
    match client {
        Format::Responses => EchoedRequest::new(request),
        _ => EchoedRequest::default(),
    }
}

/// The tools whose calls are written differently from those of plain functions. Only their names are kept: schemas
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

fn unsupported(surface: Surface, deployment: &Deployment) -> Fault {
    let instance = &deployment.target.instance;
    match surface {
        Surface::Rerank => fault::unsupported(FaultCode::UnsupportedRerankOperation, "reranking", instance),
        Surface::Embeddings | Surface::EmbedContent { .. } => {
            fault::unsupported(FaultCode::UnsupportedOperation, "embeddings", instance)
        }
        Surface::Completions => {
            fault::unsupported(FaultCode::UnsupportedOperation, "text completions", instance)
        }
        Surface::Converse(_) => {
            fault::unsupported(FaultCode::UnsupportedOperation, "conversations", instance)
        }
    }
}

pub fn build(
    destination: Arc<egress::Destination>,
    prepared: &mut PreparedRequest,
    call: &Call,
    deployment: &Deployment,
) -> Outbound {
    let core = &deployment.instance;
    let request = InstanceRequest {
        destination,
        method: Method::POST,
        path_and_query: core
            .path(prepared.surface, call.streams_upstream(), &deployment.target.model)
            .unwrap_or_default(),
        accept: if call.streams_upstream() { Accept::Stream } else { Accept::Document },
        body: std::mem::take(&mut prepared.body).into(),
        client_credential: deployment.client_credential.clone(),
    };
    core.outbound(request, |mut headers| {
        for (name, value) in std::mem::take(&mut prepared.trace_headers) {
            headers = headers.with(name, value);
        }
        if prepared.surface == call.surface {
            for (name, value) in &call.forwarded {
                headers = headers.with(name.clone(), value.clone());
            }
        }
        headers
    })
}
