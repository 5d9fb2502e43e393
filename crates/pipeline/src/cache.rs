//! The response cache step: a call that equals an earlier one gets its answer, and one that equals a call in flight waits
//! for that; then the answers to similar calls are searched. All others are sent, and their answers are added to the
//! cache.

mod conversion;
mod embedding;
mod form;
mod headers;
pub mod key;
pub mod layers;
mod preview;
mod recheck;
pub mod request;
mod semantic;
mod semantic_request;
mod similar;
mod storing;

use std::sync::Arc;
use std::time::Duration;

use domain::fault::Fault;

use crate::accounting::ticket::Ticket;
use crate::admission::{Prepared, admit_waiting};
use crate::call::arrival::Arrival;
use crate::call::cache_use::{CacheDetails, CacheStatus, CacheUse, MissReason};
use crate::call::receive::Call;
use crate::delivery::answer_recorder::AnswerRecorder;
use crate::dispatch::{self, Answer};
use crate::gateway::Gateway;
use crate::services::response_cache::{CacheKey, CacheLayer, CachedAnswer, PendingAnswer, ReplayedAnswer};

pub use preview::{CachePreview, preview};
use request::{CacheRequest, Eligibility};
use semantic::SemanticCall;
use similar::similar;
use storing::{ClaimedAnswer, ExactEntry, Storing, recorder};

/// The result of a search.
pub(crate) enum Found {
    Hit(ReplayedAnswer),
    /// The call is sent; its answer is added to the cache if there is a recorder.
    Miss(Option<Box<AnswerRecorder>>),
    /// An identical call is in flight, and this one asks for a stream: it can wait with its head sent.
    InFlight(Waiting, Box<AnswerRecorder>),
}

/// A stream that waits for the answer of an identical call.
pub(crate) struct Waiting {
    pending: PendingAnswer,
    /// Set if the answers to similar calls are searched afterwards.
    semantic: Option<Arc<SemanticCall>>,
}

/// Searches the cache for the answer to a call.
pub(crate) async fn search(
    arrival: &Arrival,
    prepared: &Prepared,
    ticket: &mut Ticket,
) -> Result<Found, Fault> {
    match ticket.gateway().policy.cache.is_on() {
        false => Ok(Found::Miss(None)),
        // Boxed, because most calls do not need this future and should not carry its size.
        true => Box::pin(search_in(arrival, prepared, ticket)).await,
    }
}

async fn search_in(arrival: &Arrival, prepared: &Prepared, ticket: &mut Ticket) -> Result<Found, Fault> {
    let Prepared { call, plan, .. } = prepared;
    let request = match request::eligibility(arrival, call, plan.first(), &ticket.context)? {
        Eligibility::Off => return Ok(Found::Miss(None)),
        Eligibility::Excluded { reason, layers, wants_details } => {
            let details = wants_details.then(|| CacheDetails::without_key(reason, layers.as_str()));
            return Ok(bypass(reason, details, ticket));
        }
        Eligibility::Cacheable(request) => request,
    };
    let key = match request.exact {
        true => Some(request.key(call, ticket.gateway()).await?),
        false => None,
    };
    let semantic = SemanticCall::of(arrival, call, &request, &ticket.context);
    let cache = ticket.gateway().response_cache.clone();
    let exact = key.zip(cache).map(|(key, cache)| ExactEntry::new(cache, key));
    let mut storing = Storing { exact, semantic: semantic.clone() };
    if !request.reads {
        ticket.cache =
            request.outcome(CacheStatus::Bypass, MissReason::Bypass, key.as_ref(), semantic.as_deref());
        count(ticket);
        return Ok(Found::Miss(Some(recorder(storing, request, ticket))));
    }
    let reason = request.not_compared.unwrap_or(MissReason::NotFound);
    ticket.cache = request.outcome(CacheStatus::Miss, reason, key.as_ref(), semantic.as_deref());
    let answer = match storing.claim(ticket).await {
        ClaimedAnswer::None => None,
        ClaimedAnswer::Found(answer) => Some(answer),
        // A large call is admitted on a worker thread, which the stream of a waiting call cannot do.
        ClaimedAnswer::InFlight(pending) if call.stream && !call.is_large() => {
            let waiting = Waiting { pending, semantic };
            return Ok(Found::InFlight(waiting, recorder(storing, request, ticket)));
        }
        ClaimedAnswer::InFlight(pending) => {
            let limit = ticket.context.policy().call_timeout([]);
            wait(pending, limit, ticket).await
        }
    };
    if let Some(replayed) = replayed(answer, call, ticket).await? {
        return Ok(Found::Hit(replayed));
    }
    if let Some(answer) = similar(semantic.as_ref(), arrival, call, ticket).await? {
        return Ok(Found::Hit(answer));
    }
    record_miss(ticket);
    Ok(Found::Miss(Some(recorder(storing, request, ticket))))
}

/// Records that the cache is not searched for a call, and that its answer is not added.
fn bypass(reason: MissReason, details: Option<CacheDetails>, ticket: &mut Ticket) -> Found {
    let details = details.map(Box::new);
    ticket.cache = CacheUse { status: CacheStatus::Bypass, reason: Some(reason), details };
    count(ticket);
    Found::Miss(None)
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
    let replayed = form::replayed(cached, CacheLayer::Exact, call, &ticket.context).await?;
    if replayed.is_some() {
        ticket.cache.hit(CacheLayer::Exact);
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
    Waiting { pending, semantic }: Waiting,
    gateway: Arc<Gateway>,
    arrival: Arrival,
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
    match similar(semantic.as_ref(), &arrival, &prepared.call, &mut ticket).await {
        Ok(None) => record_miss(&mut ticket),
        Ok(Some(answer)) => return (ticket, Ok(Answer::Replayed(Box::new(answer)))),
        Err(fault) => return (ticket, Err(fault)),
    }
    let admitted = admit_waiting(&gateway, arrival.request_id.number(), prepared, &mut ticket).await;
    match admitted {
        Ok((Prepared { call, plan, .. }, reservation)) => {
            dispatch::dispatch(call, plan, reservation, ticket).await
        }
        Err(fault) => (ticket, Err(fault)),
    }
}

impl CacheRequest {
    /// The use of the cache, with details if the client asked for them.
    fn outcome(
        &self,
        status: CacheStatus,
        reason: MissReason,
        key: Option<&CacheKey>,
        semantic: Option<&SemanticCall>,
    ) -> CacheUse {
        let details = self.wants_details.then(|| {
            Box::new(CacheDetails {
                miss_reason: Some(reason),
                layers: self.layers().as_str(),
                key: key.map(key::hex).unwrap_or_default(),
                ttl_seconds: self.ttl.as_secs(),
                semantic: semantic.map(SemanticCall::details),
            })
        });
        CacheUse { status, reason: Some(reason), details }
    }
}
