//! Station: over the plan's targets until one answers. Encode, send, decode; nothing is sent to the client from here.

mod attempt;
mod continuation;
mod course;
mod foresee;
mod gate;
mod hedge;
mod occasion;
mod outbound;
mod progress;
mod resume;
pub(crate) mod tell;
mod upstream;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::canon::Reply;
use domain::fault::{Fault, Recourse};
use tokio::time::Instant;
use wire::codec::{self, Native};
use wire::response_facts::ResponseFacts;

use crate::health::Admission;
use crate::receive::Call;
use crate::reserve::Reservation;
use crate::resolve::Plan;
use crate::settle::Ticket;
use crate::snapshot::routes::Lane;
use crate::stream::Flow;

use attempt::attempt;
use course::{Course, Moment, Next};
pub use foresee::{Departure, Dialect, Foreseen, Prospect, foresee};
pub use occasion::Occasion;
use outbound::Leaving;
pub use outbound::{Continuity, Passage, Translation};
pub use progress::Loss;
use progress::Progress;
pub use resume::{Resumable, Resumed, Resuming, resume};
pub use upstream::{UpstreamBody, interrupted, retry_after};

/// What a provider answered, before it is rendered for the client.
pub enum Answer {
    /// The provider's own bytes, for a client that speaks the same.
    Native(&'static dyn Native, Bytes, Box<codec::Answer>),
    Translated(Box<Translation>, Box<Reply>),
    Stream(Box<Flow>),
}

impl Answer {
    /// Model and finish reasons of a whole answer; a stream tells them at its end.
    fn facts(&self) -> Option<ResponseFacts> {
        match self {
            Self::Native(_, bytes, _) => Some(ResponseFacts::of(bytes)),
            Self::Translated(_, reply) => Some(ResponseFacts {
                model: reply.model.clone(),
                finish_reasons: vec![reply.stop.as_finish_reason().to_owned()],
            }),
            Self::Stream(_) => None,
        }
    }
}

/// A target about to be asked.
struct Trying {
    leaving: Leaving,
    asked: Asked,
}

/// A target that is being asked.
struct Asked {
    lane: Arc<Lane>,
    admission: Admission,
    progress: Progress,
    /// The id of the attempt's client span, where the call is traced.
    span_id: Option<String>,
}

impl Asked {
    fn new(lane: Arc<Lane>, admission: Admission, ticket: &Ticket) -> Self {
        Self { lane, admission, progress: Progress::default(), span_id: ticket.new_span_id() }
    }
}

/// What an attempt has to keep to.
#[derive(Clone, Copy)]
struct Bounds {
    deadline: Instant,
    /// There is nobody else to ask.
    alone: bool,
}

/// A target that was asked.
struct Tried {
    lane: Arc<Lane>,
    outcome: Result<Answer, Fault>,
}

/// Cooldown of a target whose account is used up.
const EXHAUSTED: Duration = Duration::from_secs(600);
/// Cooldown applied after a 429 without `Retry-After` when another target is available.
const A_BREATH: Duration = Duration::from_secs(1);
/// Longest cooldown that a provider's `Retry-After` can cause.
const LONGEST: Duration = Duration::from_secs(300);

/// Tries the plan's targets until one answers. Owns all it needs: a client that is waiting is sent heartbeats meanwhile.
pub async fn dispatch(
    call: Box<Call>,
    plan: Plan,
    reservation: Reservation,
    mut ticket: Box<Ticket>,
) -> (Box<Ticket>, Result<Answer, Fault>) {
    let deadline = Instant::now() + patience(&plan, &ticket);
    hedge::count(&ticket);
    let resumable = resume::targets(&plan, &call, &ticket);
    let outcome = try_targets(call, plan.lanes, &reservation, &mut ticket, deadline).await;
    let outcome = outcome.map(|(call, answer)| resume::arm(answer, call, resumable, reservation));
    (ticket, outcome)
}

/// The first answer, with the call it is for; or the error that says most about why there is none.
async fn try_targets(
    mut call: Box<Call>,
    lanes: Vec<Arc<Lane>>,
    reservation: &Reservation,
    ticket: &mut Ticket,
    deadline: Instant,
) -> Result<(Box<Call>, Answer), Fault> {
    let mut course = Course::new(lanes);
    // Held while the retry it was given for goes on.
    let mut _retrying = None;
    while let Some(lane) = course.target().cloned() {
        let Some(admission) = admit(&lane, &mut course, ticket) else {
            _retrying = None;
            continue;
        };
        let prepared;
        (call, prepared) = prepare(call, &lane, ticket).await?;
        let trying = match prepared {
            Ok(leaving) => Trying { leaving, asked: Asked::new(lane, admission, ticket) },
            Err(fault) => {
                course.lacks(fault);
                _retrying = None;
                continue;
            }
        };
        let Tried { lane, outcome } = ask(&call, trying, &mut course, reservation, ticket, deadline).await;
        let fault = match outcome {
            Ok(answer) => return Ok((call, answer)),
            Err(fault) => fault,
        };
        // The failed attempt has to be paid, too: without room for both there is no other one.
        if !ticket.covers(1) {
            return Err(fault);
        }
        match after(fault, &mut course, ticket, deadline) {
            Next::Nowhere(fault) => return Err(fault),
            Next::Elsewhere => {
                _retrying = None;
                tell::fallback(&lane, course.target(), ticket);
            }
            Next::Again(pause, guard) => {
                _retrying = Some(guard);
                wait(pause, ticket).await;
            }
        }
    }
    Err(course.verdict(ticket.now()))
}

/// Encodes the call for a target, a large body off the connection's thread. The outer error ends the call, the inner one
/// rules out this target.
async fn prepare(
    call: Box<Call>,
    lane: &Arc<Lane>,
    ticket: &Ticket,
) -> Result<(Box<Call>, Result<Leaving, Fault>), Fault> {
    if call.is_large() {
        return Box::pin(outbound::prepare_large(call, lane.clone(), ticket)).await;
    }
    let prepared = outbound::prepare(&call, lane, ticket);
    Ok((call, prepared))
}

/// Waits before a retry; the time does not count as the gateway's own.
async fn wait(pause: Duration, ticket: &mut Ticket) {
    let before = ticket.now();
    Box::pin(tokio::time::sleep(pause)).await;
    ticket.waited(ticket.now().saturating_sub(before));
}

/// Admission to the target, if its health allows a call now; else the course moves on.
fn admit(lane: &Lane, course: &mut Course, ticket: &Ticket) -> Option<Admission> {
    match lane.health.admit(ticket.now()) {
        Ok(admission) => Some(admission),
        Err(availability) => {
            course.pass_over(&availability);
            None
        }
    }
}

async fn ask(
    call: &Call,
    trying: Trying,
    course: &mut Course,
    reservation: &Reservation,
    ticket: &mut Ticket,
    deadline: Instant,
) -> Tried {
    // A large body is not prepared a second time while the first attempt is under way.
    let partner = hedge::partner(course, &trying.asked.lane, ticket).filter(|_| !call.is_large());
    if let Some(partner) = partner {
        let other = partner.lane.clone();
        let raced = Box::pin(hedge::race(call, trying, partner, reservation, ticket, deadline)).await;
        if raced.hedged {
            course.strike(&other);
        }
        if let Some(fault) = raced.beside {
            course.failed_beside(fault, ticket.now());
        }
        return raced.tried;
    }
    let alone = course.alternative(ticket.now()).is_none();
    try_one(call, trying, reservation, ticket, Bounds { deadline, alone }).await
}

fn after(fault: Fault, course: &mut Course, ticket: &Ticket, deadline: Instant) -> Next {
    if Instant::now() < deadline {
        course.failed(fault, &moment(ticket, deadline))
    } else {
        Next::Nowhere(fault)
    }
}

async fn try_one(
    call: &Call,
    trying: Trying,
    reservation: &Reservation,
    ticket: &mut Ticket,
    Bounds { deadline, alone }: Bounds,
) -> Tried {
    let Trying { leaving, asked } = trying;
    ticket.leave_out(leaving.dropped());
    ticket.leave(&asked.lane, reservation);
    let before = ticket.now();
    let outcome = attempt(call, leaving, &asked, ticket, deadline).await;
    let duration = ticket.now().saturating_sub(before);
    ticket.waited(duration);
    conclude(asked, outcome, duration, alone, ticket)
}

/// What came of an attempt goes into the books and into what is known of the target's health.
fn conclude(
    Asked { lane, admission, progress, span_id }: Asked,
    mut outcome: Result<Answer, Fault>,
    duration: Duration,
    alone: bool,
    ticket: &mut Ticket,
) -> Tried {
    let now = ticket.now();
    if let Err(fault) = &mut outcome {
        ticket.gateway().scrub(fault);
    }
    let (status, error) = match &outcome {
        Ok(_) => (200, None),
        Err(fault) => (fault.upstream_status.map_or(fault.status, u16::from), Some(fault.code.to_string())),
    };
    ticket.attempted(&lane, lane.attempt(status, error, duration), span_id);
    let answer = outcome.as_ref().ok().filter(|_| ticket.is_traced());
    if let Some(facts) = answer.and_then(|answer| progress.facts().or_else(|| answer.facts())) {
        ticket.trace_response(facts);
    }
    match &mut outcome {
        Ok(answer) => {
            tell::transition(&lane, admission.succeeded(now, duration), ticket.gateway());
            if let Answer::Stream(flow) = answer {
                flow.keep(admission);
            }
        }
        Err(fault) => {
            cool(&lane, fault, now, alone);
            ticket.refused();
            if let Some(loss) = progress.loss() {
                ticket.lose(&lane, loss);
            }
            if fault.is_failure() {
                tell::transition(&lane, admission.failed(now, &fault.code), ticket.gateway());
            } else if fault.is_upstream_auth_failure() {
                tell::auth_failed(&lane, fault, ticket);
                admission.rejected(now, &fault.code);
            }
        }
    }
    Tried { lane, outcome }
}

/// A target that says when to come back is left alone until then. One that does not say so is let breathe if somebody
/// else can be asked.
fn cool(lane: &Lane, fault: &mut Fault, now: Duration, alone: bool) {
    let length = match fault.recourse {
        Recourse::Nowhere => return,
        Recourse::Exhausted => Some(EXHAUSTED),
        _ => fault.retry_after.map(|after| after.min(LONGEST)),
    };
    fault.retry_after = length;
    let breath = (fault.status == 429 && !alone).then_some(A_BREATH);
    if let Some(length) = length.filter(|length| !length.is_zero()).or(breath)
        && lane.health.cool_down(now, length, fault.status >= 500)
    {
        tell::cooldown(lane, fault, length);
    }
}

/// One deadline covers all attempts; a provider that is given longer than the setting says gets it.
fn patience(plan: &Plan, ticket: &Ticket) -> Duration {
    let policy = &ticket.gateway().policy;
    plan.lanes.iter().map(|lane| lane.total_timeout(policy)).fold(policy.request_timeout, Duration::max)
}

fn moment(ticket: &Ticket, deadline: Instant) -> Moment<'_> {
    let gateway = ticket.gateway();
    let mut bytes = [0; 4];
    gateway.entropy.fill(&mut bytes);
    Moment {
        left: deadline.saturating_duration_since(Instant::now()),
        chance: f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX),
        retries: &gateway.policy.retries,
        budget: &gateway.retry_budget,
        active: u64::try_from(gateway.metrics.in_flight.get()).unwrap_or_default(),
        now: ticket.now(),
    }
}
