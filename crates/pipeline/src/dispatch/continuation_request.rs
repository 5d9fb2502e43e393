//! Asks one target for the rest of a stream that broke off.

use wire::codec::IdGenerator;

use super::outbound::{self, PreparedRequest};
use super::{ActiveAttempt, Answer, AttemptResult, Bounds, PendingAttempt, try_one};
use crate::accounting::ticket::Ticket;
use crate::streaming::ResponseMode;
use crate::streaming::resume::continuation_prompt::{self, ContinuationMethod};
use crate::streaming::resume::{Continuation, ContinuationReply, ContinuationRequest};

pub fn request_continuation(request: ContinuationRequest<'_>) -> ContinuationReply<'_> {
    Box::pin(send(request))
}

async fn send(request: ContinuationRequest<'_>) -> Option<Continuation> {
    let ContinuationRequest { resumable, so_far, deployment, ticket, deadline } = request;
    let call = &resumable.call;
    let rules = (deployment.instance.vendor.rules)(&deployment.target.model);
    let (mut overlap, mut may_be_empty) = (None, true);
    let prepared = outbound::prepare_rest(call, deployment, &ticket.context, |prompt, format| {
        let method = ContinuationMethod::of(&rules, format);
        may_be_empty = method == ContinuationMethod::Prefill || continuation_prompt::may_be_whole(so_far);
        let (prompt, expected) = continuation_prompt::ask(prompt, so_far, method);
        overlap = Some(expected);
        prompt
    });
    let prepared = Box::new(with_own_ids(prepared.ok()?, ticket, resumable.resumed + 1));
    let admission = deployment.health.admit(ticket.context.now()).ok()?;
    let pending =
        PendingAttempt { prepared, asked: ActiveAttempt::new(deployment.clone(), admission, ticket) };
    let reservation = ticket.receipt.reservation_with(&resumable.reservation);
    let AttemptResult { outcome, .. } =
        try_one(call, pending, &reservation, ticket, Bounds { deadline, alone: false }).await;
    match outcome {
        Ok(Answer::Stream(stream)) => Some(Continuation { stream, overlap: overlap?, may_be_empty }),
        _ => None,
    }
}

/// Seeds the generated tool call ids anew: they must differ from those before the interruption.
fn with_own_ids(mut prepared: PreparedRequest, ticket: &Ticket, number: u32) -> PreparedRequest {
    if let ResponseMode::Translated(translation) = &mut prepared.response_mode {
        translation.decoding.ids = IdGenerator::new(format!("{}r{number}", ticket.context.seed()));
    }
    prepared
}
