//! Dispatch: tries the targets of the plan until one answers. Encodes, sends and decodes; nothing is sent to the client
//! from here.

mod attempt;
mod continuation_request;
mod dry_run;
mod failover_events;
mod failover_plan;
mod gate;
mod hedge;
mod outbound;
mod progress;
pub(crate) mod provider_request;
mod upstream;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::canon::Reply;
use domain::fault::{Fault, RetryScope};
use tokio::time::Instant;
use wire::codec::{self, Native};
use wire::response_facts::ResponseFacts;

use crate::accounting::reservation::Reservation;
use crate::accounting::ticket::Ticket;
use crate::call::receive::Call;
use crate::routing::health::Admission;
use crate::routing::member_calls::MemberCalls;
use crate::routing::resolve::Plan;
use crate::routing::routes::Deployment;
use crate::services::response_cache::ReplayedAnswer;
use crate::streaming::resume::{self, Resumable};
use crate::streaming::{Translation, UpstreamStream};

use attempt::attempt;
pub use continuation_request::request_continuation;
pub use dry_run::{Dialect, DryRun, RequestPreview, TargetOutlook, dry_run};
use failover_plan::{FailoverPlan, Next, RetryContext};
use outbound::PreparedRequest;
pub use outbound::same_format_answer;
use progress::Progress;
use upstream::retry_after;

/// A provider's response, before it is rendered for the client.
pub enum Answer {
    /// The provider's own bytes, for a client of the same format.
    Native(&'static dyn Native, Bytes, Box<codec::Answer>),
    Translated(Box<Translation>, Box<Reply>),
    Stream(Box<UpstreamStream>),
    /// The answer to an earlier call, from the response cache.
    Replayed(Box<ReplayedAnswer>),
}

impl Answer {
    /// The model and finish reasons of a complete response; a stream has them at its end.
    fn facts(&self) -> Option<ResponseFacts> {
        match self {
            Self::Native(_, bytes, _) => Some(ResponseFacts::of(bytes)),
            Self::Translated(_, reply) => Some(ResponseFacts {
                model: reply.model.clone(),
                finish_reasons: vec![reply.stop.as_finish_reason().to_owned()],
            }),
            Self::Stream(_) | Self::Replayed(_) => None,
        }
    }
}

/// An attempt that is about to be sent.
struct PendingAttempt {
    /// Boxed, because it is handed through several futures.
    prepared: Box<PreparedRequest>,
    asked: ActiveAttempt,
}

/// An attempt in flight.
struct ActiveAttempt {
    deployment: Arc<Deployment>,
    admission: Admission,
    progress: Progress,
    /// The id of the attempt's client span, if the call is traced.
    span_id: Option<String>,
}

impl ActiveAttempt {
    fn new(deployment: Arc<Deployment>, admission: Admission, ticket: &Ticket) -> Self {
        Self { deployment, admission, progress: Progress::default(), span_id: ticket.new_span_id() }
    }
}

/// The limits of an attempt.
#[derive(Clone, Copy)]
struct Bounds {
    deadline: Instant,
    /// Whether no other target is available.
    alone: bool,
}

/// A finished attempt.
struct AttemptResult {
    deployment: Arc<Deployment>,
    outcome: Result<Answer, Fault>,
}

/// Cooldown of a target whose quota is exhausted.
const EXHAUSTED: Duration = Duration::from_secs(600);
/// Cooldown applied after a 429 without `Retry-After` when another target is available.
const A_BREATH: Duration = Duration::from_secs(1);
/// Longest cooldown that a provider's `Retry-After` can cause.
const LONGEST: Duration = Duration::from_secs(300);

/// Tries the plan's targets until one answers. Owns all it needs, so that it can go on while the client is sent
/// heartbeats.
pub async fn dispatch(
    call: Box<Call>,
    plan: Plan,
    reservation: Reservation,
    mut ticket: Box<Ticket>,
) -> (Box<Ticket>, Result<Answer, Fault>) {
    let limits = plan.deployments.iter().map(|deployment| &deployment.instance.limits);
    let deadline = Instant::now() + ticket.context.policy().call_timeout(limits);
    hedge::count(&ticket);
    let deployments = resume::targets(&plan, ticket.context.policy());
    let outcome = try_targets(call, plan.deployments, &reservation, &mut ticket, deadline).await;
    count_pool_calls(&plan.pools, &ticket);
    let outcome = outcome.map(|(call, mut answer)| {
        if let Some(deployment) = ticket.receipt.deployment() {
            call.record_answered_by(&deployment.target, &ticket.context);
        }
        if let (Answer::Stream(stream), Some(deployments)) = (&mut answer, deployments) {
            stream.enable_resume(|| Box::new(Resumable::new(call, deployments, reservation)));
        }
        answer
    });
    (ticket, outcome)
}

/// Counts the call for the pools of its targets: for the member that answered, or that was asked last.
fn count_pool_calls(pools: &[Arc<MemberCalls>], ticket: &Ticket) {
    let Some(deployment) = ticket.receipt.deployment() else { return };
    pools.iter().for_each(|calls| calls.count(&deployment.target.instance, ticket.context.now()));
}

/// The first response, with the call it is for; or the most informative error.
async fn try_targets(
    mut call: Box<Call>,
    deployments: Vec<Arc<Deployment>>,
    reservation: &Reservation,
    ticket: &mut Ticket,
    deadline: Instant,
) -> Result<(Box<Call>, Answer), Fault> {
    let mut failover = FailoverPlan::new(deployments);
    // The share in the retry budget, held while a retry is in flight.
    let mut _retrying = None;
    while let Some(deployment) = failover.target().cloned() {
        let Some(admission) = admit(&deployment, &mut failover, ticket) else {
            _retrying = None;
            continue;
        };
        let prepared;
        (call, prepared) = prepare(call, &deployment, ticket).await?;
        let pending = match prepared {
            Ok(prepared) => PendingAttempt {
                prepared: Box::new(prepared),
                asked: ActiveAttempt::new(deployment, admission, ticket),
            },
            Err(fault) => {
                failover.skip_unsupported(fault);
                _retrying = None;
                continue;
            }
        };
        let AttemptResult { deployment, outcome } =
            ask(&call, pending, &mut failover, reservation, ticket, deadline).await;
        let fault = match outcome {
            Ok(answer) => return Ok((call, answer)),
            Err(fault) => fault,
        };
        // The failed attempt has to be paid for, too: without room for both there is no further one.
        if !ticket.covers(1).await {
            return Err(fault);
        }
        match after(fault, &mut failover, ticket, deadline) {
            Next::Stop(fault) => return Err(fault),
            Next::OtherTarget => {
                _retrying = None;
                failover_events::fallback(&deployment, failover.target(), ticket);
            }
            Next::Again(pause, guard) => {
                _retrying = Some(guard);
                wait(pause, ticket).await;
            }
        }
    }
    Err(failover.final_error(ticket.context.now()))
}

/// Encodes the call for a target, on a blocking thread if its body is large. The outer error ends the call, the inner
/// one rules out this target.
async fn prepare(
    call: Box<Call>,
    deployment: &Arc<Deployment>,
    ticket: &Ticket,
) -> Result<(Box<Call>, Result<PreparedRequest, Fault>), Fault> {
    if call.is_large() {
        return Box::pin(outbound::prepare_large(call, deployment.clone(), ticket)).await;
    }
    let prepared = outbound::prepare(&call, deployment, &ticket.context);
    Ok((call, prepared))
}

/// Waits before a retry; the time does not count as overhead of the gateway.
async fn wait(pause: Duration, ticket: &mut Ticket) {
    let before = ticket.context.now();
    Box::pin(tokio::time::sleep(pause)).await;
    ticket.receipt.waited(ticket.context.now().saturating_sub(before));
}

/// Admits the call to the target if its health allows that; otherwise the plan moves on.
fn admit(deployment: &Deployment, failover: &mut FailoverPlan, ticket: &Ticket) -> Option<Admission> {
    match deployment.health.admit(ticket.context.now()) {
        Ok(admission) => Some(admission),
        Err(availability) => {
            failover.pass_over(&availability);
            None
        }
    }
}

async fn ask(
    call: &Call,
    pending: PendingAttempt,
    failover: &mut FailoverPlan,
    reservation: &Reservation,
    ticket: &mut Ticket,
    deadline: Instant,
) -> AttemptResult {
    if let Some(partner) = hedge::partner(failover, &pending.asked.deployment, ticket) {
        let other = partner.deployment.clone();
        let raced = Box::pin(hedge::race(call, pending, partner, reservation, ticket, deadline)).await;
        if raced.hedged {
            failover.remove_target(&other);
        }
        if let Some(fault) = raced.beside {
            failover.record_hedge_failure(fault, ticket.context.now());
        }
        return raced.tried;
    }
    let alone = failover.alternative(ticket.context.now()).is_none();
    try_one(call, pending, reservation, ticket, Bounds { deadline, alone }).await
}

fn after(fault: Fault, failover: &mut FailoverPlan, ticket: &Ticket, deadline: Instant) -> Next {
    if Instant::now() < deadline {
        failover.failed(fault, &retry_context(ticket, deadline))
    } else {
        Next::Stop(fault)
    }
}

async fn try_one(
    call: &Call,
    pending: PendingAttempt,
    reservation: &Reservation,
    ticket: &mut Ticket,
    Bounds { deadline, alone }: Bounds,
) -> AttemptResult {
    let PendingAttempt { prepared, asked } = pending;
    ticket.receipt.leave_out(prepared.dropped());
    ticket.record_sent(&asked.deployment, reservation);
    let before = ticket.context.now();
    let outcome = attempt(call, prepared, &asked, ticket, deadline).await;
    let duration = ticket.context.now().saturating_sub(before);
    ticket.receipt.waited(duration);
    conclude(asked, outcome, duration, alone, ticket)
}

/// Records the outcome of an attempt in the ticket and in the health of the target.
fn conclude(
    ActiveAttempt { deployment, admission, progress, span_id }: ActiveAttempt,
    mut outcome: Result<Answer, Fault>,
    duration: Duration,
    alone: bool,
    ticket: &mut Ticket,
) -> AttemptResult {
    let now = ticket.context.now();
    if let Err(fault) = &mut outcome {
        ticket.gateway().scrub(fault);
    }
    let (status, error) = match &outcome {
        Ok(_) => (200, None),
        Err(fault) => (fault.upstream_status.map_or(fault.status, u16::from), Some(fault.code.clone())),
    };
    ticket.attempted(&deployment, deployment.attempt(status, error, duration), span_id);
    ticket.audit.record_journey(|journey| {
        let retry_after = outcome.as_ref().err().and_then(|fault| fault.retry_after);
        if let Some(timing) = journey.last_attempt() {
            *timing = progress.timing(retry_after);
        }
    });
    let answer = outcome.as_ref().ok().filter(|_| ticket.records_response());
    if let Some(facts) = answer.and_then(|answer| progress.facts().or_else(|| answer.facts())) {
        ticket.record_response(facts);
    }
    match &mut outcome {
        Ok(answer) => {
            ticket.gateway().report_transition(&deployment, admission.succeeded(now, duration));
            if let Answer::Stream(flow) = answer {
                flow.keep(admission);
            }
        }
        Err(fault) => {
            ticket.record_verdicts(progress.verdicts().to_vec());
            cool(&deployment, fault, now, alone);
            ticket.receipt.refused();
            if let Some(loss) = progress.loss() {
                ticket.receipt.lose(&deployment, loss);
            }
            if fault.is_failure() {
                ticket.gateway().report_transition(&deployment, admission.failed(now, fault.code.as_str()));
            } else if fault.is_upstream_auth_failure() && deployment.client_credential.is_none() {
                failover_events::auth_failed(&deployment, fault, ticket);
                admission.rejected(now, fault.code.as_str());
            } else if fault.upstream_status.is_some() {
                admission.declined(now, fault.status == 429);
            }
        }
    }
    AttemptResult { deployment, outcome }
}

/// Starts the cooldown of a target: as long as its `Retry-After` says, or a fixed time for an exhausted quota. After a
/// 429 without either it is short, and only applied if another target is available.
fn cool(deployment: &Deployment, fault: &mut Fault, now: Duration, alone: bool) {
    let length = match fault.retry_scope {
        RetryScope::Never => return,
        RetryScope::QuotaExhausted => Some(EXHAUSTED),
        _ => fault.retry_after.map(|after| after.min(LONGEST)),
    };
    fault.retry_after = length;
    let breath = (fault.status == 429 && !alone).then_some(A_BREATH);
    if let Some(length) = length.filter(|length| !length.is_zero()).or(breath)
        && deployment.health.cool_down(now, length, fault.status >= 500)
    {
        failover_events::cooldown(deployment, fault, length);
    }
}

fn retry_context(ticket: &Ticket, deadline: Instant) -> RetryContext<'_> {
    let gateway = ticket.gateway();
    let mut bytes = [0; 4];
    gateway.entropy.fill(&mut bytes);
    RetryContext {
        left: deadline.saturating_duration_since(Instant::now()),
        chance: f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX),
        policy: ticket.context.policy(),
        budget: &gateway.retry_budget,
        active: u64::try_from(gateway.metrics.in_flight.get()).unwrap_or_default(),
        now: ticket.context.now(),
    }
}
