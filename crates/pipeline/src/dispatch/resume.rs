//! Resumes a stream that broke off: at the other targets of the plan first, at the same one last.

use std::pin::Pin;
use std::sync::Arc;

use domain::canon::Reply;
use domain::fault::{self, Fault};
use tokio::time::Instant;
use wire::codec::IdGenerator;

use super::outbound::{self, PreparedRequest};
use super::{ActiveAttempt, Answer, AttemptResult, Bounds, PendingAttempt, continuation, try_one};
use crate::accounting::reservation::Reservation;
use crate::accounting::ticket::Ticket;
use crate::call::receive::Call;
use crate::routing::resolve::Plan;
use crate::routing::routes::Lane;
use crate::streaming::{Overlap, ResponseMode, Resumable, UpstreamStream};

/// The ticket of the stream and, if a target continues it, the continuation.
pub struct Resumed {
    pub resumable: Box<Resumable>,
    pub ticket: Box<Ticket>,
    pub continuation: Option<(Box<UpstreamStream>, Overlap)>,
}

pub type Resuming = Pin<Box<dyn Future<Output = Resumed> + Send>>;

/// The targets that could continue a stream, if resuming is enabled.
pub fn targets(plan: &Plan, ticket: &Ticket) -> Option<Vec<Arc<Lane>>> {
    ticket.context.policy().resume_streams.then(|| plan.lanes.clone())
}

/// Attaches the state for resuming to a stream.
pub fn enable_resume(
    answer: Answer,
    call: Box<Call>,
    lanes: Option<Vec<Arc<Lane>>>,
    reservation: Reservation,
) -> Answer {
    match (answer, lanes) {
        (Answer::Stream(mut flow), Some(lanes)) => {
            flow.enable_resume(|| Box::new(Resumable { call, lanes, reservation, resumed: 0 }));
            Answer::Stream(flow)
        }
        (answer, _) => answer,
    }
}

/// Resumes a stream. Owns all it needs: the client is sent heartbeats meanwhile, and this future is dropped if it
/// disconnects.
pub async fn resume(
    mut resumable: Box<Resumable>,
    so_far: Reply,
    fault: Option<Fault>,
    mut ticket: Box<Ticket>,
) -> Resumed {
    let fault = fault.unwrap_or_else(fault::internal_error);
    tracing::warn!(request_id = ticket.context.request_id.as_str(), code = %fault.code, reason = %fault.message, "stream interrupted; resuming");
    ticket.receipt.broke(&fault);
    ticket.receipt.carry_over(&so_far, &ticket.context.gateway().tasks).await;
    let failed = ticket.receipt.lane().cloned();
    resumable.order(failed.as_ref());
    let deadline = Instant::now() + ticket.context.policy().request_timeout;
    // An empty continuation: either the model has not understood, or nothing was left to say. It is accepted if no
    // other target has more.
    let mut nothing = None;
    for lane in resumable.lanes.clone() {
        // An empty continuation has to be paid for, too.
        if Instant::now() >= deadline || !ticket.covers(1 + u32::from(nothing.is_some())) {
            break;
        }
        let Some(mut rest) = request_continuation(&resumable, &so_far, &lane, &mut ticket, deadline).await
        else {
            continue;
        };
        if rest.flow.says_nothing() && !rest.may_be_nothing {
            if nothing.is_some() {
                ticket.receipt.lose(&lane, rest.flow.loss());
            } else {
                nothing = Some((lane, rest));
            }
            continue;
        }
        if let Some((lane, mut discarded)) = nothing {
            ticket.receipt.lose(&lane, discarded.flow.loss());
        }
        return joined(resumable, ticket, rest);
    }
    if let Some((lane, rest)) = nothing {
        ticket.receipt.answered_by(&lane);
        return joined(resumable, ticket, rest);
    }
    if let Some(failed) = failed {
        ticket.receipt.answered_by(&failed);
    }
    Resumed { resumable, ticket, continuation: None }
}

fn joined(mut resumable: Box<Resumable>, mut ticket: Box<Ticket>, rest: Rest) -> Resumed {
    resumable.resumed += 1;
    ticket.receipt.record_resumption(resumable.resumed);
    Resumed { resumable, ticket, continuation: Some((rest.flow, rest.overlap)) }
}

/// The continuation that a target returned.
struct Rest {
    flow: Box<UpstreamStream>,
    overlap: Overlap,
    /// Whether an empty continuation is accepted at once: the text so far looks complete, or was given to the target as
    /// its own.
    may_be_nothing: bool,
}

/// Asks one target for the rest. After any error the next target is tried.
async fn request_continuation(
    resumable: &Resumable,
    so_far: &Reply,
    lane: &Arc<Lane>,
    ticket: &mut Ticket,
    deadline: Instant,
) -> Option<Rest> {
    let call = &resumable.call;
    let rules = (lane.instance.vendor.rules)(&lane.target.model);
    let (mut overlap, mut may_be_nothing) = (None, true);
    let prepared = outbound::prepare_rest(call, lane, &ticket.context, |prompt, format| {
        let way = continuation::ContinuationMethod::of(&rules, format);
        may_be_nothing =
            way == continuation::ContinuationMethod::Prefill || continuation::may_be_whole(so_far);
        let (prompt, expected) = continuation::ask(prompt, so_far, way);
        overlap = Some(expected);
        prompt
    });
    let prepared = with_own_ids(prepared.ok()?, ticket, resumable.resumed + 1);
    let admission = lane.health.admit(ticket.context.now()).ok()?;
    let pending = PendingAttempt { prepared, asked: ActiveAttempt::new(lane.clone(), admission, ticket) };
    let reservation = ticket.receipt.reservation_with(&resumable.reservation);
    let AttemptResult { outcome, .. } =
        try_one(call, pending, &reservation, ticket, Bounds { deadline, alone: false }).await;
    match outcome {
        Ok(Answer::Stream(flow)) => Some(Rest { flow, overlap: overlap?, may_be_nothing }),
        _ => None,
    }
}

/// Seeds the generated tool call ids anew: they must differ from those before the interruption.
fn with_own_ids(mut prepared: PreparedRequest, ticket: &Ticket, number: u32) -> PreparedRequest {
    if let ResponseMode::Translated(translation) = &mut prepared.response_mode {
        translation.decoding.mint = IdGenerator::new(format!("{}r{number}", ticket.context.seed()));
    }
    prepared
}
