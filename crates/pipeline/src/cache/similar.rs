//! The step after the search for an identical call: the answer to a similar one.

use std::sync::Arc;

use domain::fault::Fault;

use super::semantic::{self, SemanticCall};
use super::{count, form, recheck};
use crate::accounting::ticket::Ticket;
use crate::call::arrival::Arrival;
use crate::call::cache_use::{MissReason, ShadowReason};
use crate::call::receive::Call;
use crate::policy::SemanticMode;
use crate::services::response_cache::{CacheLayer, ReplayedAnswer};
use crate::services::semantic_cache::SemanticOutcome;

/// Searches the answer to a similar call; `None` if there is none that is served.
pub async fn similar(
    semantic: Option<&Arc<SemanticCall>>,
    arrival: &Arrival,
    call: &Call,
    ticket: &mut Ticket,
) -> Result<Option<ReplayedAnswer>, Fault> {
    let Some(semantic) = semantic else { return Ok(None) };
    let gateway = ticket.gateway().clone();
    let begun = ticket.context.now();
    // Boxed, so that a call without semantic caching does not carry its size.
    let found = Box::pin(semantic.search(&gateway)).await;
    if !semantic.is_local() || semantic.cache.is_remote() {
        // The time of a provider or of another store is not that of the gateway.
        let waited = ticket.context.now().saturating_sub(begun);
        ticket.receipt.waited(waited);
    }
    let found = match found {
        Ok(found) => found,
        Err(reason) => {
            ticket.cache.set_reason(reason);
            return Ok(None);
        }
    };
    if let Some(details) = ticket.cache.semantic_mut() {
        (details.score, details.word_overlap) = (found.score, found.word_overlap);
    }
    let entry = match found.outcome {
        SemanticOutcome::Hit(entry) => entry,
        SemanticOutcome::NoEntry => return Ok(None),
        SemanticOutcome::BelowThreshold => {
            ticket.cache.set_reason(MissReason::BelowThreshold);
            return Ok(None);
        }
        SemanticOutcome::PromptChanged => {
            ticket.cache.set_reason(MissReason::PromptChanged);
            return Ok(None);
        }
    };
    let answer = form::replayed(entry.cached.clone(), CacheLayer::Semantic, call, &ticket.context).await?;
    let Some(answer) = answer else { return Ok(None) };
    let (policy, score) = (gateway.policy.cache.semantic, found.score.unwrap_or_default());
    let is_sampled = semantic::is_sampled(arrival.request_id.number(), policy.recheck);
    match policy.mode {
        SemanticMode::Serve => {
            if is_sampled {
                recheck::start(semantic, (entry, score), arrival, call, ticket);
            }
            ticket.cache.hit(CacheLayer::Semantic);
            count(ticket);
            Ok(Some(answer))
        }
        SemanticMode::Shadow => {
            if let Some(details) = ticket.cache.semantic_mut() {
                details.shadow = Some(ShadowReason::Shadow);
            }
            semantic.withhold(entry, score, is_sampled);
            Ok(None)
        }
    }
}
