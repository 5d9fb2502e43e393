//! The response cache step: a call that equals an earlier one gets its answer, and one that equals a call in flight waits
//! for that. All others are sent, and their answers are added to the cache.

mod conversion;
mod form;
pub mod key;
mod preview;
pub mod request;

use std::sync::Arc;
use std::time::Duration;

use domain::fault::Fault;

use crate::accounting::ticket::Ticket;
use crate::admission::{Prepared, admit};
use crate::call::arrival::Arrival;
use crate::call::cache_use::{CacheDetails, CacheStatus, CacheUse, MissReason};
use crate::call::receive::Call;
use crate::delivery::answer_recorder::{AnswerFacts, AnswerRecorder};
use crate::dispatch::{self, Answer};
use crate::gateway::Gateway;
use crate::services::recorded_answer::RecordedAnswer;
use crate::services::response_cache::{
    CacheKey, CachedAnswer, Claim, Leader, PendingAnswer, ReplayedAnswer, ResponseCache,
};

pub use preview::{CachePreview, preview};
use request::{CacheRequest, Eligibility};

/// Larger answers are not cached.
const LARGEST_ANSWER: usize = 4 << 20;

/// The result of a search.
pub(crate) enum Found {
    Hit(ReplayedAnswer),
    /// The call is sent; its answer is added to the cache if there is a recorder.
    Miss(Option<Box<AnswerRecorder>>),
    /// An identical call is in flight, and this one asks for a stream: it can wait with its head sent.
    InFlight(PendingAnswer, Box<AnswerRecorder>),
}

/// Searches the cache for the answer to a call.
pub(crate) async fn search(
    arrival: &Arrival,
    prepared: &Prepared,
    ticket: &mut Ticket,
) -> Result<Found, Fault> {
    match ticket.gateway().response_cache.clone() {
        None => Ok(Found::Miss(None)),
        // Boxed, because most calls do not need this future and should not carry its size.
        Some(cache) => Box::pin(search_in(&cache, arrival, prepared, ticket)).await,
    }
}

async fn search_in(
    cache: &Arc<ResponseCache>,
    arrival: &Arrival,
    prepared: &Prepared,
    ticket: &mut Ticket,
) -> Result<Found, Fault> {
    let Prepared { call, plan, .. } = prepared;
    let request = match request::eligibility(arrival, call, plan.first(), &ticket.context)? {
        Eligibility::Off => return Ok(Found::Miss(None)),
        Eligibility::Excluded { reason, wants_details } => {
            let details = wants_details.then(|| CacheDetails::without_key(reason));
            ticket.cache = CacheUse { status: CacheStatus::Bypass, details: details.map(Box::new) };
            count(ticket);
            return Ok(Found::Miss(None));
        }
        Eligibility::Cacheable(request) => request,
    };
    let key = request.key(call, ticket.gateway()).await?;
    let mut storing = Storing { cache: cache.clone(), key, generation: cache.generation(), leader: None };
    if !request.reads {
        ticket.cache = request.outcome(CacheStatus::Bypass, Some(MissReason::Bypass), &key);
        count(ticket);
        return Ok(Found::Miss(Some(recorder(storing, request, ticket))));
    }
    ticket.cache = request.outcome(CacheStatus::Miss, Some(MissReason::NotFound), &key);
    let answer = match cache.claim(key, ticket.context.now()) {
        Claim::Found(answer) => Some(answer),
        Claim::Leader { leader, expired } => {
            storing.leader = Some(leader);
            if expired {
                ticket.cache.set_reason(MissReason::Expired);
            }
            None
        }
        // A large call is admitted on a worker thread, which the stream of a waiting call cannot do.
        Claim::InFlight(pending) if call.stream && !call.is_large() => {
            return Ok(Found::InFlight(pending, recorder(storing, request, ticket)));
        }
        Claim::InFlight(pending) => {
            let limit = ticket.context.policy().call_timeout([]);
            wait(pending, limit, ticket).await
        }
    };
    if let Some(replayed) = replayed(answer, call, ticket).await? {
        return Ok(Found::Hit(replayed));
    }
    record_miss(ticket);
    Ok(Found::Miss(Some(recorder(storing, request, ticket))))
}

/// Waits for the answer of the call in flight. Without one in time, the call is sent by itself.
async fn wait(pending: PendingAnswer, limit: Duration, ticket: &mut Ticket) -> Option<Arc<CachedAnswer>> {
    let begun = ticket.context.now();
    let answer = tokio::time::timeout(limit, pending.answer()).await.ok().flatten();
    let waited = ticket.context.now().saturating_sub(begun);
    ticket.receipt.waited(waited);
    answer
}

/// The answer in the form that the call asks for; `None` if it cannot have that.
async fn replayed(
    cached: Option<Arc<CachedAnswer>>,
    call: &Call,
    ticket: &mut Ticket,
) -> Result<Option<ReplayedAnswer>, Fault> {
    let Some(cached) = cached else { return Ok(None) };
    let replayed = form::replayed(cached, call, &ticket.context).await?;
    if replayed.is_some() {
        ticket.cache.hit();
        count(ticket);
    }
    Ok(replayed)
}

/// Records that the cache has no answer to the call.
fn record_miss(ticket: &mut Ticket) {
    ticket.receipt.missed_cache();
    count(ticket);
}

fn count(ticket: &Ticket) {
    ticket.gateway().metrics.looked_up(ticket.cache.status.as_str());
}

/// Waits for the answer of an identical call, and sends the call if there is none. The client is sent heartbeats
/// meanwhile. It waits no longer than for the first event of a provider: a call in flight whose client reads slowly may
/// take much longer.
pub(crate) async fn follow(
    pending: PendingAnswer,
    gateway: Arc<Gateway>,
    draw: u64,
    prepared: Prepared,
    mut ticket: Box<Ticket>,
) -> (Box<Ticket>, Result<Answer, Fault>) {
    let limit = ticket.context.policy().first_event_timeout;
    let answer = wait(pending, limit, &mut ticket).await;
    match replayed(answer, &prepared.call, &mut ticket).await {
        Ok(None) => {}
        Ok(Some(replayed)) => return (ticket, Ok(Answer::Replayed(Box::new(replayed)))),
        Err(fault) => return (ticket, Err(fault)),
    }
    record_miss(&mut ticket);
    match admit(&gateway, draw, prepared, &mut ticket) {
        Ok((Prepared { call, plan, .. }, reservation)) => {
            dispatch::dispatch(call, plan, reservation, ticket).await
        }
        Err(fault) => (ticket, Err(fault)),
    }
}

/// The entry that the answer of a call is added to.
struct Storing {
    cache: Arc<ResponseCache>,
    key: CacheKey,
    /// The state of the cache when the call was made: an answer from before a purge is not added after it.
    generation: u64,
    /// Set if identical calls wait for the answer.
    leader: Option<Leader>,
}

/// The recorder that adds the answer of a call to the cache.
fn recorder(storing: Storing, request: Box<CacheRequest>, ticket: &Ticket) -> Box<AnswerRecorder> {
    let gateway = ticket.gateway().clone();
    let user_path = ticket.context.owner().user_path.clone();
    Box::new(AnswerRecorder::new(LARGEST_ANSWER, move |answer, facts| {
        let Some(answer) = answer.filter(|_| request.may_store(facts)) else { return };
        let cached = request.cached(answer, facts, user_path, gateway.clock.tick());
        let Storing { cache, key, generation, leader } = storing;
        match leader {
            Some(leader) => leader.answer(cached, generation),
            None => cache.insert(key, Arc::new(cached), generation),
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
        user_path: String,
        now: Duration,
    ) -> CachedAnswer {
        CachedAnswer {
            answer,
            is_stream: self.streams,
            includes_usage: self.includes_usage,
            response_id: facts.response_id.map(str::to_owned),
            usage: facts.usage.cloned(),
            cost: facts.cost,
            user_path,
            expires_at: now + self.ttl,
        }
    }

    /// The use of the cache, with details if the client asked for them.
    fn outcome(&self, status: CacheStatus, miss_reason: Option<MissReason>, key: &CacheKey) -> CacheUse {
        let details = self.wants_details.then(|| {
            Box::new(CacheDetails { miss_reason, key: key::hex(key), ttl_seconds: self.ttl.as_secs() })
        });
        CacheUse { status, details }
    }
}
