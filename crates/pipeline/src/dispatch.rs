//! Station: over the plan's targets until one answers. Encode, send, decode; nothing is sent to the client from here.

mod attempt;
mod continuation;
mod course;
mod foresee;
mod gate;
mod hedge;
mod inflate;
mod occasion;
mod outbound;
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
pub use resume::{Resumable, Resumed, Resuming, resume};
pub use upstream::{UpstreamBody, retry_after};

/// What a provider answered, before it is rendered for the client.
pub enum Answer {
    /// The provider's own bytes, for a client that speaks the same.
    Native(&'static dyn Native, Bytes, Box<codec::Answer>),
    Translated(Box<Translation>, Box<Reply>),
    Stream(Box<Flow>),
}

/// A target about to be asked.
struct Trying {
    lane: Arc<Lane>,
    leaving: Leaving,
    admission: Admission,
}

/// A target that was asked.
struct Tried {
    lane: Arc<Lane>,
    outcome: Result<Answer, Fault>,
}

/// How long an account that is used up is left alone.
const EXHAUSTED: Duration = Duration::from_secs(600);

/// Owns all it needs: a client that is waiting is sent heartbeats while this goes on.
pub async fn dispatch(
    call: Call,
    plan: Plan,
    reservation: Reservation,
    mut ticket: Ticket,
) -> (Ticket, Result<Answer, Fault>) {
    let deadline = Instant::now() + ticket.gateway().policy.request_timeout;
    let resumable = resume::targets(&plan, &call, &ticket);
    let mut course = Course::new(plan.lanes);
    // Held while the retry it was given for goes on.
    let mut _retrying = None;
    while let Some(lane) = course.target().cloned() {
        let now = ticket.now();
        let admission = match lane.health.admit(now) {
            Ok(admission) => admission,
            Err(availability) => {
                course.pass_over(&availability, now);
                continue;
            }
        };
        let leaving = match outbound::prepare(&call, &lane, &ticket) {
            Ok(leaving) => leaving,
            Err(fault) => match course.lacks(fault) {
                Next::Nowhere(fault) => return (ticket, Err(fault)),
                Next::Elsewhere | Next::Again(..) => continue,
            },
        };
        let trying = Trying { lane, leaving, admission };
        let tried = match hedge::partner(&course, &trying.lane, &ticket) {
            None => try_one(&call, trying, &reservation, &mut ticket, deadline).await,
            Some(partner) => {
                let other = partner.lane.clone();
                let race = hedge::race(&call, trying, partner, &reservation, &mut ticket, deadline);
                let (tried, hedged) = Box::pin(race).await;
                if hedged {
                    course.strike(&other);
                }
                tried
            }
        };
        let Tried { lane, outcome } = tried;
        let fault = match outcome {
            Ok(answer) => return (ticket, Ok(resume::arm(answer, call, resumable, reservation))),
            Err(fault) => fault,
        };
        let next = if Instant::now() < deadline {
            course.failed(fault, &moment(&ticket, deadline))
        } else {
            Next::Nowhere(fault)
        };
        match next {
            Next::Nowhere(fault) => return (ticket, Err(fault)),
            Next::Elsewhere => {
                _retrying = None;
                tell::fallback(&lane, course.target(), &ticket);
            }
            Next::Again(pause, guard) => {
                _retrying = Some(guard);
                let before = ticket.now();
                Box::pin(tokio::time::sleep(pause)).await;
                ticket.waited(ticket.now().saturating_sub(before));
            }
        }
    }
    (ticket, Err(course.verdict()))
}

async fn try_one(
    call: &Call,
    trying: Trying,
    reservation: &Reservation,
    ticket: &mut Ticket,
    deadline: Instant,
) -> Tried {
    let Trying { lane, leaving, admission } = trying;
    ticket.leave_out(leaving.dropped());
    ticket.leave(&lane, reservation);
    let before = ticket.now();
    let outcome = attempt(call, leaving, &lane, ticket, deadline).await;
    let duration = ticket.now().saturating_sub(before);
    ticket.waited(duration);
    conclude(lane, admission, outcome, duration, ticket)
}

/// What came of an attempt goes into the books and into what is known of the target's health.
fn conclude(
    lane: Arc<Lane>,
    admission: Admission,
    mut outcome: Result<Answer, Fault>,
    duration: Duration,
    ticket: &mut Ticket,
) -> Tried {
    let now = ticket.now();
    let (status, error) = match &outcome {
        Ok(_) => (200, None),
        Err(fault) => (fault.status, Some(fault.code.to_string())),
    };
    ticket.attempted(&lane, lane.attempt(status, error, duration));
    match &mut outcome {
        Ok(answer) => {
            tell::transition(&lane, admission.succeeded(now, duration), ticket.gateway());
            if let Answer::Stream(flow) = answer {
                flow.keep(admission);
            }
        }
        Err(fault) => {
            if fault.recourse == Recourse::Exhausted {
                fault.retry_after = Some(EXHAUSTED);
            }
            if let Some(after) = fault.retry_after {
                lane.health.cool_down(now, after);
            }
            if fault.is_failure() {
                tell::transition(&lane, admission.failed(now, &fault.code), ticket.gateway());
            }
        }
    }
    Tried { lane, outcome }
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
