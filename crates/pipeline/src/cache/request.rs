//! The eligibility of a call for the response cache, by the call itself, its headers and its policy.

use std::sync::Arc;
use std::time::Duration;

use domain::call::{Format, Surface, Target};
use domain::fault::{self, Fault};
use http::HeaderName;
use wire::codec::{Request, RequestShape};
use wire::request_identity;

use super::key::{self, KeyParts, Origin, Sharing};
use crate::call::arrival::Arrival;
use crate::call::cache_use::MissReason;
use crate::call::context::CallContext;
use crate::call::receive::Call;
use crate::gateway::Gateway;
use crate::routing::routes::Deployment;
use crate::services::response_cache::CacheKey;

const CACHE_DEBUG: HeaderName = HeaderName::from_static("x-cache-debug");
const TTL: &str = "X-Cache-TTL";
const TYPE: &str = "X-Cache-Type";
/// The longest lifetime that a client can ask for.
const MAX_TTL: u64 = 30 * 24 * 3600;

/// Whether a call may be answered from the cache.
pub enum Eligibility {
    /// The cache is off for the gateway.
    Off,
    Excluded {
        reason: MissReason,
        wants_details: bool,
    },
    Cacheable(Box<CacheRequest>),
}

/// A call that may be answered from the cache.
pub struct CacheRequest {
    parts: KeyParts,
    /// The target that the call is sent to first.
    pub target: Target,
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
    if !context.gateway().policy.cache.enabled {
        return Ok(Eligibility::Off);
    }
    let wants_details = arrival.header(CACHE_DEBUG) == Some("1");
    let excluded = |reason| Ok(Eligibility::Excluded { reason, wants_details });
    if !context.policy().features.cache {
        return excluded(MissReason::Disabled);
    }
    let ttl = requested_ttl(arrival)?.unwrap_or(context.policy().cache_ttl);
    let is_exact = accepts_exact(arrival)?;
    let control = CacheControl::of(arrival);
    let Some(first) = first.filter(|_| is_cacheable(arrival, call, context)) else {
        return excluded(MissReason::NotCacheable);
    };
    if control.no_store || !is_exact {
        return excluded(MissReason::Bypass);
    }
    Ok(Eligibility::Cacheable(Box::new(CacheRequest {
        parts: parts(call, first, context),
        target: first.target.clone(),
        reads: !control.no_cache,
        ttl,
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

/// The `Cache-Control` header of a request.
struct CacheControl {
    no_cache: bool,
    no_store: bool,
}

impl CacheControl {
    fn of(arrival: &Arrival) -> Self {
        let values = arrival.headers.get_all(http::header::CACHE_CONTROL).iter();
        let texts: Vec<&str> = values.filter_map(|value| value.to_str().ok()).collect();
        let has = |name: &str| {
            let mut directives = texts.iter().flat_map(|text| text.split(','));
            directives.any(|directive| directive.trim().eq_ignore_ascii_case(name))
        };
        Self { no_cache: has("no-cache"), no_store: has("no-store") }
    }
}

/// The lifetime that the client asked for.
fn requested_ttl(arrival: &Arrival) -> Result<Option<Duration>, Fault> {
    let Some(value) = arrival.headers.get(TTL) else { return Ok(None) };
    let seconds = value.to_str().ok().and_then(|text| text.trim().parse::<u64>().ok());
    match seconds.filter(|seconds| (1..=MAX_TTL).contains(seconds)) {
        Some(seconds) => Ok(Some(Duration::from_secs(seconds))),
        None => {
            Err(fault::invalid_parameter(TTL, format!("'{TTL}' is a number of seconds from 1 to {MAX_TTL}.")))
        }
    }
}

/// Whether the client accepts answers to identical requests.
fn accepts_exact(arrival: &Arrival) -> Result<bool, Fault> {
    match arrival.headers.get(TYPE).map(|value| value.as_bytes().to_ascii_lowercase()).as_deref() {
        None | Some(b"exact" | b"both") => Ok(true),
        Some(b"semantic") => Ok(false),
        Some(_) => Err(fault::invalid_parameter(TYPE, format!("'{TYPE}' is exact, semantic or both."))),
    }
}
