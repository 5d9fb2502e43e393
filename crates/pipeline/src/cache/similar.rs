//! The step after the search for an identical call: the answer to a similar one.

use std::sync::Arc;

use domain::fault::Fault;

use super::semantic::{self, SemanticCall};
use super::{count, form};
use crate::accounting::ticket::Ticket;
use crate::call::cache_use::{MissReason, ShadowReason};
use crate::call::receive::Call;
use crate::policy::SemanticMode;
use crate::services::response_cache::{CacheLayer, ReplayedAnswer};
use crate::services::semantic_cache::SemanticOutcome;

/// The answer to a similar call.
pub enum Similar {
    None,
    Served(ReplayedAnswer),
    /// It is compared with a new answer.
    Rechecked(ReplayedAnswer),
}

/// Searches the answer to a similar call.
pub async fn similar(
    semantic: Option<&Arc<SemanticCall>>,
    draw: u64,
    call: &Call,
    ticket: &mut Ticket,
) -> Result<Similar, Fault> {
    let Some(semantic) = semantic else { return Ok(Similar::None) };
    let gateway = ticket.gateway().clone();
    let begun = ticket.context.now();
    let found = semantic.search(&gateway).await;
    if !semantic.is_local() {
        // The time of a provider is not that of the gateway.
        let waited = ticket.context.now().saturating_sub(begun);
        ticket.receipt.waited(waited);
    }
    let found = match found {
        Ok(found) => found,
        Err(reason) => {
            ticket.cache.set_reason(reason);
            return Ok(Similar::None);
        }
    };
    if let Some(details) = ticket.cache.semantic_mut() {
        (details.score, details.word_overlap) = (found.score, found.word_overlap);
    }
    let entry = match found.outcome {
        SemanticOutcome::Hit(entry) => entry,
        SemanticOutcome::NoEntry => return Ok(Similar::None),
        SemanticOutcome::BelowThreshold => {
            ticket.cache.set_reason(MissReason::BelowThreshold);
            return Ok(Similar::None);
        }
        SemanticOutcome::PromptChanged => {
            ticket.cache.set_reason(MissReason::PromptChanged);
            return Ok(Similar::None);
        }
    };
    let answer = form::replayed(entry.cached.clone(), CacheLayer::Semantic, call, &ticket.context).await?;
    let Some(answer) = answer else { return Ok(Similar::None) };
    let policy = gateway.policy.cache.semantic;
    let is_sampled = semantic::is_sampled(draw, policy.recheck);
    let shadow = match policy.mode {
        SemanticMode::Serve if !is_sampled => {
            ticket.cache.hit(CacheLayer::Semantic);
            count(ticket);
            return Ok(Similar::Served(answer));
        }
        SemanticMode::Serve => ShadowReason::Recheck,
        SemanticMode::Shadow => ShadowReason::Shadow,
    };
    if let Some(details) = ticket.cache.semantic_mut() {
        details.shadow = Some(shadow);
    }
    semantic.withhold(entry, found.score.unwrap_or_default(), &gateway, is_sampled);
    Ok(match shadow {
        ShadowReason::Shadow => Similar::None,
        ShadowReason::Recheck => Similar::Rechecked(answer),
    })
}
