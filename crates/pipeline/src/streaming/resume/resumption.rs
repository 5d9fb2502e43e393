//! Resumes a stream that broke off: at the other targets of the plan first, at the same one last.

use std::pin::Pin;
use std::sync::Arc;

use domain::canon::Reply;
use domain::fault::{self, Fault};
use tokio::time::Instant;

use super::{Overlap, Resumable};
use crate::accounting::ticket::Ticket;
use crate::routing::routes::Deployment;
use crate::streaming::UpstreamStream;

/// The ticket of the stream and, if a target continues it, the continuation.
pub struct Resumed {
    pub resumable: Box<Resumable>,
    pub ticket: Box<Ticket>,
    pub continuation: Option<(Box<UpstreamStream>, Overlap)>,
}

pub type Resuming = Pin<Box<dyn Future<Output = Resumed> + Send>>;

/// A request to one target for the rest of a stream.
pub struct ContinuationRequest<'a> {
    pub resumable: &'a Resumable,
    pub so_far: &'a Reply,
    pub deployment: &'a Arc<Deployment>,
    pub ticket: &'a mut Ticket,
    pub deadline: Instant,
}

/// The continuation that a target returned.
pub struct Continuation {
    pub stream: Box<UpstreamStream>,
    pub overlap: Overlap,
    /// Whether an empty continuation is accepted at once: the text so far looks complete, or was given to the target as
    /// its own.
    pub may_be_empty: bool,
}

/// The continuation, or `None` after any error: then the next target is tried.
pub type ContinuationReply<'a> = Pin<Box<dyn Future<Output = Option<Continuation>> + Send + 'a>>;

/// Asks one target for the rest of a stream. Passed in, because `dispatch` is the layer above.
pub type RequestContinuation = for<'a> fn(ContinuationRequest<'a>) -> ContinuationReply<'a>;

/// Resumes a stream; `request` asks one target. Owns all it needs: the client is sent heartbeats meanwhile, and this
/// future is dropped if it disconnects.
pub async fn resume(
    mut resumable: Box<Resumable>,
    so_far: Reply,
    fault: Option<Fault>,
    mut ticket: Box<Ticket>,
    request: RequestContinuation,
) -> Resumed {
    record_interruption(&fault.unwrap_or_else(fault::internal_error), &mut ticket);
    ticket.receipt.carry_over(&so_far, &ticket.context.gateway().tasks).await;
    let failed = ticket.receipt.deployment().cloned();
    resumable.order(failed.as_ref());
    let limits = resumable.deployments.iter().map(|deployment| &deployment.instance.limits);
    let deadline = Instant::now() + ticket.context.policy().call_timeout(limits);
    // An empty continuation: either the model has not understood, or nothing was left to say. It is accepted if no
    // other target has more.
    let mut nothing = None;
    for deployment in resumable.deployments.clone() {
        // An empty continuation has to be paid for, too.
        if Instant::now() >= deadline || !ticket.covers(1 + u32::from(nothing.is_some())).await {
            break;
        }
        let asked = ContinuationRequest {
            resumable: &resumable,
            so_far: &so_far,
            deployment: &deployment,
            ticket: &mut ticket,
            deadline,
        };
        let Some(mut rest) = request(asked).await else { continue };
        if rest.stream.is_empty_continuation() && !rest.may_be_empty {
            if nothing.is_some() {
                ticket.receipt.lose(&deployment, rest.stream.loss());
            } else {
                nothing = Some((deployment, rest));
            }
            continue;
        }
        if let Some((deployment, mut discarded)) = nothing {
            ticket.receipt.lose(&deployment, discarded.stream.loss());
        }
        return joined(resumable, ticket, rest);
    }
    if let Some((deployment, rest)) = nothing {
        ticket.receipt.answered_by(&deployment);
        return joined(resumable, ticket, rest);
    }
    if let Some(failed) = failed {
        ticket.receipt.answered_by(&failed);
    }
    Resumed { resumable, ticket, continuation: None }
}

fn record_interruption(fault: &Fault, ticket: &mut Ticket) {
    tracing::warn!(request_id = ticket.context.request_id.as_str(), code = %fault.code, reason = %fault.message, "stream interrupted; resuming");
    ticket.receipt.broke(fault);
}

fn joined(mut resumable: Box<Resumable>, mut ticket: Box<Ticket>, rest: Continuation) -> Resumed {
    resumable.resumed += 1;
    ticket.receipt.record_resumption(resumable.resumed);
    Resumed { resumable, ticket, continuation: Some((rest.stream, rest.overlap)) }
}
