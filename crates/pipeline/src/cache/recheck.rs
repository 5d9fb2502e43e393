//! Re-checks of served hits: a share of them is asked again in the background, on behalf of the caller, and both answers are
//! compared. The calls are ordinary ones of the caller, which its budgets and token limits admit.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::call::{Format, Surface};
use domain::fault::{self, Fault};
use http::HeaderMap;
use wire::codec::Request;
use wire::splice::{self, Patch};

use super::semantic::SemanticCall;
use crate::accounting::ticket::Ticket;
use crate::call::arrival::Arrival;
use crate::call::receive::Call;
use crate::delivery::commit::{self, AnswerForm};
use crate::gateway::Gateway;
use crate::internal_call::{self, InternalCaller};
use crate::services::recorded_answer::{AnswerHead, RecordedAnswer};
use crate::services::response_cache::CachedAnswer;
use crate::services::semantic_cache::SemanticEntry;

/// The longest time for a call, however long the caller's own may take.
const LIMIT: Duration = Duration::from_secs(60);
/// The interval at which a call looks whether the process stops.
const STOP_INTERVAL: Duration = Duration::from_millis(200);

/// A request that is asked again.
struct RepeatedRequest {
    caller: InternalCaller,
    endpoint: &'static str,
    surface: Surface,
    addressed: Option<(String, Option<bool>)>,
    /// Headers that are forwarded to the provider.
    forwarded: HeaderMap,
    /// The request as its guardrails have left it, for a whole answer.
    body: Bytes,
    timeout: Duration,
}

/// Asks a call again whose hit is served, and compares the answers. Nothing is asked while as many calls as allowed are in
/// flight, or the process stops.
pub fn start(
    semantic: &Arc<SemanticCall>,
    (entry, score): (Arc<SemanticEntry>, f64),
    arrival: &Arrival,
    call: &Call,
    ticket: &Ticket,
) {
    let gateway = ticket.gateway().clone();
    let Surface::Converse(format) = call.surface else { return };
    let Ok(slot) = semantic.cache.recheck_slots.clone().try_acquire_owned() else { return };
    let (Ok(runtime), false) = (tokio::runtime::Handle::try_current(), gateway.tasks.is_closed()) else {
        return;
    };
    let request = RepeatedRequest {
        caller: InternalCaller::of(ticket),
        endpoint: arrival.endpoint,
        surface: call.surface,
        addressed: arrival.addressed.as_ref().map(|(model, _)| (model.clone(), Some(false))),
        forwarded: call.forwarded.iter().cloned().collect(),
        body: as_document(&call.request, format),
        timeout: ticket.context.policy().call_timeout([]).min(LIMIT),
    };
    let (semantic, tasks) = (semantic.clone(), gateway.tasks.clone());
    let recheck = async move {
        let _slot = slot;
        let answered = tokio::select! {
            answered = ask(&gateway, request, &entry) => answered,
            () = stopped(&gateway) => return,
        };
        match answered {
            Ok(Some(body)) => {
                _ = semantic.compare(&gateway, (&*entry, score), &as_cached(&entry, body), format).await
            }
            Ok(None) => tracing::debug!("semantic cache hit was asked again, and another target answered"),
            // For example, because a budget of the caller has no room.
            Err(fault) => tracing::debug!(code = %fault.code, "semantic cache hit was not asked again"),
        }
    };
    tasks.spawn_on(recheck, &runtime);
}

/// The body of a request without the members that ask for a stream, or to keep the answer: nobody reads either.
fn as_document(Request { body, object, .. }: &Request, format: Format) -> Bytes {
    let mut patch = Patch::new();
    // Responses are kept unless the request says otherwise.
    let keeps_by_default = format == Format::Responses;
    for name in ["stream", "stream_options", "store"] {
        match object.position(body, name) {
            Some(index) if name == "store" && keeps_by_default => {
                patch.replace(object.members[index].value.clone(), "false");
            }
            Some(index) => patch.remove_member(object, index),
            None if name == "store" && keeps_by_default => patch.insert_member(object, "\"store\":false"),
            None => {}
        }
    }
    splice::concat(&patch.apply(body))
}

/// Waits until the process stops: its remaining tasks are waited for then, and a call could take too long.
async fn stopped(gateway: &Gateway) {
    while !gateway.tasks.is_closed() {
        tokio::time::sleep(STOP_INTERVAL).await;
    }
}

/// Makes the call; returns the body of its answer, a document in the format of the caller, or `None` if another target than
/// that of the entry has answered. A call that is not admitted leaves no row.
async fn ask(
    gateway: &Arc<Gateway>,
    request: RepeatedRequest,
    entry: &SemanticEntry,
) -> Result<Option<Bytes>, Fault> {
    let RepeatedRequest { caller, endpoint, surface, addressed, forwarded, body, timeout } = request;
    let mut arrival = caller.arrival_at(endpoint, surface);
    arrival.addressed = addressed;
    arrival.headers.edit(|headers| headers.extend(forwarded));
    let mut ticket = Ticket::open(gateway, &arrival);
    ticket.is_optional = true;
    let answering = internal_call::admit(ticket, caller.principal(), &arrival, body, timeout).await?;
    let (ticket, outcome) = Box::pin(answering).await;
    let target = entry.cached.answer.target();
    let is_same_target = ticket
        .receipt
        .receipt()
        .is_some_and(|receipt| receipt.provider_name == *target.instance && receipt.model == *target.model);
    let answered = std::future::ready((ticket, outcome));
    let reply = commit::whole(Box::pin(answered), None, AnswerForm::Document).await;
    let body = reply.map_err(|refused| refused.fault)?.body.joined().ok_or_else(fault::internal_error)?;
    Ok(is_same_target.then_some(body))
}

/// The new answer in the form in which both are compared.
fn as_cached(entry: &SemanticEntry, body: Bytes) -> CachedAnswer {
    let mut head = AnswerHead::default();
    head.set_target(&entry.cached.answer.target());
    CachedAnswer { answer: RecordedAnswer::new(head, body), is_stream: false, ..(*entry.cached).clone() }
}
