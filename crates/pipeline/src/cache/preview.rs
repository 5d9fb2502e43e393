//! The verdict of the response cache on a call that is not made.

use std::sync::Arc;
use std::time::Duration;

use domain::fault::Fault;
use domain::resources::workflow::Workflow;

use super::request::{self, Eligibility};
use super::{form, key};
use crate::call::arrival::Arrival;
use crate::call::cache_use::{CacheStatus, MissReason};
use crate::call::context::CallContext;
use crate::call::receive::Call;
use crate::routing::routes::Deployment;
use crate::services::response_cache::Entry;

/// The verdict of the cache.
#[derive(Clone, Debug)]
pub struct CachePreview {
    pub status: CacheStatus,
    pub miss_reason: Option<MissReason>,
    /// The key in hexadecimal digits; `None` for a call that is not cacheable.
    pub key: Option<String>,
    pub ttl: Duration,
    pub guardrails_hash: String,
}

/// Looks a call up without effects; `None` if the cache is off. A call that would wait for one in flight counts as a
/// miss.
pub fn preview(
    arrival: &Arrival,
    call: &Call,
    first: Option<&Arc<Deployment>>,
    context: &CallContext,
) -> Result<Option<CachePreview>, Fault> {
    let Some(cache) = &context.gateway().response_cache else { return Ok(None) };
    let verdict = |status, miss_reason, key, ttl| {
        Ok(Some(CachePreview { status, miss_reason, key, ttl, guardrails_hash: guardrails_hash(context) }))
    };
    let request = match request::eligibility(arrival, call, first, context)? {
        Eligibility::Off => return Ok(None),
        Eligibility::Excluded { reason, .. } => {
            return verdict(CacheStatus::Bypass, Some(reason), None, context.policy().cache_ttl);
        }
        Eligibility::Cacheable(request) => request,
    };
    let key = request.key_here(call);
    let (status, reason) = match cache.find(&key, context.now()) {
        _ if !request.reads => (CacheStatus::Bypass, Some(MissReason::Bypass)),
        Entry::Fresh(cached) if form::is_available(&cached, call, context) => (CacheStatus::HitExact, None),
        Entry::Fresh(_) | Entry::Absent => (CacheStatus::Miss, Some(MissReason::NotFound)),
        Entry::Expired => (CacheStatus::Miss, Some(MissReason::Expired)),
    };
    verdict(status, reason, Some(key::hex(&key)), request.ttl)
}

fn guardrails_hash(context: &CallContext) -> String {
    let policies = context.workflow().and_then(|workflow| workflow.policies.as_ref());
    let none = || Workflow::managed_default().guardrails_hash(|_| None);
    policies.map_or_else(none, |policies| policies.guardrails_hash.clone())
}
