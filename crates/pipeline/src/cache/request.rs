//! The eligibility of a call for the response cache, by the call itself, its headers and its policy.

use std::sync::Arc;
use std::time::Duration;

use domain::call::{Format, Surface, Target};
use domain::fault::Fault;
use http::HeaderName;
use wire::codec::{Request, RequestShape};
use wire::request_identity;

use super::headers::{self, CacheControl};
use super::key::{self, KeyParts, Origin, SemanticKeys, Sharing};
use super::layers::Layers;
use super::semantic_request::{self, SemanticRequest};
use crate::call::arrival::Arrival;
use crate::call::cache_use::MissReason;
use crate::call::context::CallContext;
use crate::call::receive::Call;
use crate::gateway::Gateway;
use crate::routing::routes::Deployment;
use crate::services::response_cache::CacheKey;

const CACHE_DEBUG: HeaderName = HeaderName::from_static("x-cache-debug");

/// Whether a call may be answered from the cache.
pub enum Eligibility {
    /// The cache is off for the gateway.
    Off,
    Excluded {
        reason: MissReason,
        layers: Layers,
        wants_details: bool,
    },
    Cacheable(Box<CacheRequest>),
}

/// A call that may be answered from the cache.
pub struct CacheRequest {
    parts: KeyParts,
    /// The target that the call is sent to first.
    pub target: Target,
    /// Whether answers to identical calls are searched.
    pub exact: bool,
    /// Set if answers to similar calls are searched.
    pub semantic: Option<SemanticRequest>,
    /// The reason why they are not, if the client is told.
    pub not_compared: Option<MissReason>,
    /// False if the client wants a new answer, which replaces the cached one.
    pub reads: bool,
    /// The lifetime of its answer.
    pub ttl: Duration,
    /// Whether the client asked for the decision in headers.
    pub wants_details: bool,
    /// Whether the client asked for a stream, and for usage in it.
    pub streams: bool,
    pub includes_usage: bool,
}

impl CacheRequest {
    /// The key of the call; hashed on a worker thread if its body is large.
    pub async fn key(&self, call: &Call, gateway: &Gateway) -> Result<CacheKey, Fault> {
        if !call.is_large() {
            return Ok(self.key_here(call));
        }
        let (parts, request, echoed) = (self.parts.clone(), call.request.clone(), echoed(call).cloned());
        let size = call.request.body.len();
        gateway.with_bytes(size, move || key::key(&parts, &request, echoed.as_ref())).await
    }

    /// As [`CacheRequest::key`], on the calling thread.
    pub fn key_here(&self, call: &Call) -> CacheKey {
        key::key(&self.parts, &call.request, echoed(call))
    }

    /// The keys of the call without its last text.
    pub fn semantic_keys(&self, call: &Call, request: &SemanticRequest) -> SemanticKeys {
        key::semantic_keys(&self.parts, &call.request, &request.value)
    }

    pub fn surface(&self) -> Surface {
        self.parts.surface
    }

    pub fn layers(&self) -> Layers {
        Layers { exact: self.exact, semantic: self.semantic.is_some() }
    }
}

/// The request that the answer repeats parts of, if guardrails have changed it.
fn echoed(call: &Call) -> Option<&Request> {
    call.original.as_deref().filter(|_| call.surface == Surface::Converse(Format::Responses))
}

/// Decides whether a call may be answered from the cache. Errors are headers that cannot be read.
pub fn eligibility(
    arrival: &Arrival,
    call: &Call,
    first: Option<&Arc<Deployment>>,
    context: &CallContext,
) -> Result<Eligibility, Fault> {
    if !context.gateway().policy.cache.is_on() {
        return Ok(Eligibility::Off);
    }
    let wants_details = arrival.header(CACHE_DEBUG) == Some("1");
    let on = Layers::of(context.gateway());
    let excluded = |reason, layers| Ok(Eligibility::Excluded { reason, layers, wants_details });
    if !context.policy().features.cache {
        return excluded(MissReason::Disabled, on);
    }
    let asked_ttl = headers::ttl(arrival)?;
    let bounds = headers::bounds(arrival, context)?;
    let layers = on.and(headers::layers(arrival)?);
    let control = CacheControl::of(arrival);
    // An answer that a client paid for itself is neither shared nor replaced by a shared one.
    let is_shared = |first: &&Arc<Deployment>| first.client_credential.is_none();
    let Some(first) = first.filter(is_shared).filter(|_| is_cacheable(arrival, call, context)) else {
        return excluded(MissReason::NotCacheable, layers);
    };
    if control.no_store || !(layers.exact || layers.semantic) {
        return excluded(MissReason::Bypass, layers);
    }
    let semantic = match layers.semantic {
        // The answer repeats parts of another request.
        true if echoed(call).is_some() => Err(None),
        true => semantic_request::find(call, context, bounds, asked_ttl),
        false => Err(None),
    };
    let (semantic, not_compared) = match semantic {
        Ok(semantic) => (Some(semantic), None),
        Err(reason) if !layers.exact => return excluded(reason.unwrap_or(MissReason::NotCacheable), layers),
        Err(reason) => (None, reason),
    };
    Ok(Eligibility::Cacheable(Box::new(CacheRequest {
        parts: parts(call, first, context),
        target: first.target.clone(),
        exact: layers.exact,
        semantic,
        not_compared,
        reads: !control.no_cache,
        ttl: asked_ttl.unwrap_or(context.policy().cache_ttl),
        wants_details,
        streams: call.stream,
        includes_usage: call.request.include_usage,
    })))
}

/// Whether calls of this kind are cached: one request with everything that decides its answer in it.
fn is_cacheable(arrival: &Arrival, call: &Call, context: &CallContext) -> bool {
    let is_kind = match call.surface {
        Surface::Converse(_) | Surface::Embeddings | Surface::EmbedContent { .. } => true,
        Surface::Completions | Surface::Rerank => false,
    };
    let RequestShape { stored_context, bound_to_provider, .. } = call.shape();
    is_kind
        && arrival.method == "POST"
        && !arrival.headers.contains_key("x-gateway-force-provider")
        && call.previous.is_none()
        && !stored_context
        && !bound_to_provider
        // The answer has values in it that the request has not.
        && context.placeholders().is_none()
}

fn parts(call: &Call, first: &Deployment, context: &CallContext) -> KeyParts {
    let form = (call.stream, call.request.include_usage);
    let form = request_identity::is_bound_to_form(call.surface, &call.request).then_some(form);
    KeyParts {
        sharing: Sharing::of(context.gateway().policy.cache.scope, context.owner()),
        surface: call.surface,
        requested_model: call.request.model.clone().unwrap_or_default(),
        origin: Origin::of(first),
        forwarded: call.forwarded.clone(),
        guardrails: guardrails(context),
        form,
    }
}

/// The guardrails of a call; empty if it has none.
fn guardrails(context: &CallContext) -> Vec<String> {
    let Some(guardrails) = context.guardrails() else { return Vec::new() };
    let policies = context.workflow().and_then(|workflow| workflow.policies.as_ref());
    let hash = policies.map(|policies| policies.guardrails_hash.clone()).unwrap_or_default();
    let names = [&guardrails.request, &guardrails.answer];
    let names = names.into_iter().flatten().flatten().map(|guardrail| guardrail.name().to_owned());
    [hash].into_iter().chain(names).collect()
}
