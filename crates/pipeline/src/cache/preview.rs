//! The verdict of the response cache on a call that is not made.

use std::sync::Arc;
use std::time::Duration;

use domain::fault::Fault;
use domain::resources::workflow::Workflow;

use super::layers::Layers;
use super::request::{self, CacheRequest, Eligibility};
use super::semantic::SemanticCall;
use super::{form, key};
use crate::call::arrival::Arrival;
use crate::call::cache_use::{CacheStatus, MissReason, SemanticDetails, ShadowReason};
use crate::call::context::CallContext;
use crate::call::receive::Call;
use crate::policy::SemanticMode;
use crate::routing::routes::Deployment;
use crate::services::response_cache::{CacheKey, Entry};
use crate::services::semantic_cache::SemanticOutcome;

/// The verdict of the cache.
#[derive(Clone, Debug)]
pub struct CachePreview {
    pub status: CacheStatus,
    pub miss_reason: Option<MissReason>,
    /// The layers that are searched; none for a call that is not cacheable.
    pub layers: Layers,
    /// The key in hexadecimal digits; `None` if answers to identical calls are not searched.
    pub key: Option<String>,
    pub ttl: Duration,
    /// Present if similar calls are searched.
    pub semantic: Option<SemanticDetails>,
    pub guardrails_hash: String,
}

/// Looks a call up without effects; `None` if the cache is off. A call that would wait for one in flight counts as a
/// miss. With the embedder of a provider, similar calls are not searched, because that is a call.
pub async fn preview(
    arrival: &Arrival,
    call: &Call,
    first: Option<&Arc<Deployment>>,
    context: &CallContext,
) -> Result<Option<CachePreview>, Fault> {
    let mut preview = CachePreview {
        status: CacheStatus::Bypass,
        miss_reason: None,
        layers: Layers { exact: false, semantic: false },
        key: None,
        ttl: context.policy().cache_ttl,
        semantic: None,
        guardrails_hash: guardrails_hash(context),
    };
    let request = match request::eligibility(arrival, call, first, context)? {
        Eligibility::Off => return Ok(None),
        Eligibility::Excluded { reason, .. } => {
            preview.miss_reason = Some(reason);
            return Ok(Some(preview));
        }
        Eligibility::Cacheable(request) => request,
    };
    let key = request.exact.then(|| request.key_here(call));
    let semantic = SemanticCall::of(arrival, call, &request, context);
    preview.layers = request.layers();
    preview.ttl = request.ttl;
    preview.key = key.as_ref().map(key::hex);
    preview.semantic = semantic.as_deref().map(SemanticCall::details);
    if !request.reads {
        preview.miss_reason = Some(MissReason::Bypass);
        return Ok(Some(preview));
    }
    (preview.status, preview.miss_reason) = identical(key, &request, call, context).await;
    if let Some(semantic) = semantic.filter(|semantic| !preview.status.is_hit() && semantic.is_local()) {
        similar(&semantic, call, context, &mut preview).await;
    }
    Ok(Some(preview))
}

/// The verdict on an identical call.
async fn identical(
    key: Option<CacheKey>,
    request: &CacheRequest,
    call: &Call,
    context: &CallContext,
) -> (CacheStatus, Option<MissReason>) {
    let cache = context.gateway().response_cache.as_ref();
    let mut entry = key.zip(cache).map(|(key, cache)| cache.find(&key, context.now()));
    if let (Some(Entry::Absent | Entry::Expired), Some((key, cache))) = (&entry, key.zip(cache))
        && let Some(answer) = cache.find_shared(&key, context.now()).await
    {
        entry = Some(Entry::Fresh(answer));
    }
    let missed = request.not_compared.unwrap_or(MissReason::NotFound);
    match entry {
        Some(Entry::Fresh(cached)) if form::is_available(&cached, call, context) => {
            (CacheStatus::HitExact, None)
        }
        Some(Entry::Fresh(_) | Entry::Absent) | None => (CacheStatus::Miss, Some(missed)),
        Some(Entry::Expired) => (CacheStatus::Miss, Some(MissReason::Expired)),
    }
}

/// Adds the verdict on similar calls.
async fn similar(
    semantic: &Arc<SemanticCall>,
    call: &Call,
    context: &CallContext,
    preview: &mut CachePreview,
) {
    let found = match semantic.search(context.gateway()).await {
        Ok(found) => found,
        Err(reason) => return preview.miss_reason = Some(reason),
    };
    let mut details = semantic.details();
    (details.score, details.word_overlap) = (found.score, found.word_overlap);
    match found.outcome {
        SemanticOutcome::NoEntry => {}
        SemanticOutcome::BelowThreshold => preview.miss_reason = Some(MissReason::BelowThreshold),
        SemanticOutcome::PromptChanged => preview.miss_reason = Some(MissReason::PromptChanged),
        SemanticOutcome::Hit(entry) if form::is_available(&entry.cached, call, context) => {
            match context.gateway().policy.cache.semantic.mode {
                SemanticMode::Shadow => details.shadow = Some(ShadowReason::Shadow),
                SemanticMode::Serve => {
                    (preview.status, preview.miss_reason) = (CacheStatus::HitSemantic, None);
                }
            }
        }
        SemanticOutcome::Hit(_) => {}
    }
    preview.semantic = Some(details);
}

fn guardrails_hash(context: &CallContext) -> String {
    let policies = context.workflow().and_then(|workflow| workflow.policies.as_ref());
    let none = || Workflow::managed_default().guardrails_hash(|_| None);
    policies.map_or_else(none, |policies| policies.guardrails_hash.clone())
}
