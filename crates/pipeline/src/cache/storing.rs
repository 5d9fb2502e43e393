//! The entries that the answer of a call is added to, for identical calls and for similar ones.

use std::sync::Arc;
use std::time::Duration;

use store::Owner;

use super::request::CacheRequest;
use super::semantic::SemanticCall;
use crate::accounting::ticket::Ticket;
use crate::call::cache_use::MissReason;
use crate::delivery::answer_recorder::{AnswerFacts, AnswerRecorder};
use crate::services::recorded_answer::RecordedAnswer;
use crate::services::response_cache::{CacheKey, CachedAnswer, Claim, Leader, PendingAnswer, ResponseCache};

/// Larger answers are not cached.
const LARGEST_ANSWER: usize = 4 << 20;

/// The entries that the answer of a call is added to.
pub struct Storing {
    pub exact: Option<ExactEntry>,
    pub semantic: Option<Arc<SemanticCall>>,
}

/// The entry of identical calls.
pub struct ExactEntry {
    cache: Arc<ResponseCache>,
    pub key: CacheKey,
    /// The state of the cache when the call was made: an answer from before a purge is not added after it.
    generation: u64,
    /// Set if identical calls wait for the answer.
    leader: Option<Leader>,
}

impl ExactEntry {
    pub fn new(cache: Arc<ResponseCache>, key: CacheKey) -> Self {
        Self { generation: cache.generation(), cache, key, leader: None }
    }
}

impl Storing {
    /// Searches the answer to an identical call. Without one, and without an identical call in flight, this call becomes
    /// the leader, unless another replica has the answer.
    pub async fn claim(&mut self, ticket: &mut Ticket) -> ClaimedAnswer {
        let Some(exact) = &mut self.exact else { return ClaimedAnswer::None };
        match exact.cache.claim(exact.key, ticket.context.now()) {
            Claim::Found(answer) => ClaimedAnswer::Found(answer),
            Claim::InFlight(pending) => ClaimedAnswer::InFlight(pending),
            Claim::Leader { leader, expired } => {
                if let Some(answer) = exact.cache.find_shared(&exact.key, ticket.context.now()).await {
                    leader.found(&answer, exact.generation);
                    return ClaimedAnswer::Found(answer);
                }
                exact.leader = Some(leader);
                if expired {
                    ticket.cache.set_reason(MissReason::Expired);
                }
                ClaimedAnswer::None
            }
        }
    }
}

/// The answer to an identical call.
pub enum ClaimedAnswer {
    None,
    Found(Arc<CachedAnswer>),
    InFlight(PendingAnswer),
}

/// The recorder that adds the answer of a call to the cache.
pub fn recorder(storing: Storing, request: Box<CacheRequest>, ticket: &Ticket) -> Box<AnswerRecorder> {
    let gateway = ticket.gateway().clone();
    let owner = ticket.context.owner().clone();
    Box::new(AnswerRecorder::new(LARGEST_ANSWER, move |answer, facts| {
        let Some(answer) = answer.filter(|_| request.may_store(facts)) else { return };
        let now = gateway.clock.tick();
        let cached = request.cached(answer, facts, owner, now);
        let Storing { exact, semantic } = storing;
        if let Some(semantic) = semantic {
            let similar = CachedAnswer { expires_at: now + semantic.request.ttl, ..cached.clone() };
            semantic.answered(gateway, similar, request.surface());
        }
        let Some(ExactEntry { cache, key, generation, leader }) = exact else { return };
        match leader {
            Some(leader) => leader.answer(cached, generation, now),
            None => cache.insert_for_all(key, Arc::new(cached), generation, now),
        }
    }))
}

impl CacheRequest {
    /// Whether an answer is that of the request alone: all of it from the target that was asked first, inspected by its
    /// guardrails, and not shortened to fit a budget.
    fn may_store(&self, facts: &AnswerFacts<'_>) -> bool {
        let is_first = facts.target.is_some_and(|target| *target == self.target);
        is_first && !facts.is_resumed && !facts.is_clamped && !facts.is_uninspected && !facts.is_from_cache
    }

    fn cached(
        &self,
        answer: RecordedAnswer,
        facts: &AnswerFacts<'_>,
        owner: Owner,
        now: Duration,
    ) -> CachedAnswer {
        CachedAnswer {
            answer,
            is_stream: self.streams,
            includes_usage: self.includes_usage,
            response_id: facts.response_id.map(str::to_owned),
            usage: facts.usage.cloned(),
            cost: facts.cost,
            tenant: owner.tenant,
            user_path: owner.user_path,
            expires_at: now + self.ttl,
        }
    }
}
