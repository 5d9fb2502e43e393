//! Hedging: a target that is slower than it usually is gets a competitor; the first content wins, the other is cancelled.

use std::sync::Arc;
use std::time::Duration;

use domain::fault::Fault;
use tokio::time::Instant;

use super::{Answer, Course, Tried, Trying, attempt, conclude, outbound};
use crate::health::Admission;
use crate::receive::Call;
use crate::reserve::Reservation;
use crate::settle::Ticket;
use crate::snapshot::routes::Lane;

/// Who would be started, and when.
pub struct Partner {
    pub lane: Arc<Lane>,
    delay: Duration,
}

/// Why the slower one of two was cancelled, in the list of attempts.
const OUTRUN: &str = "outrun";

/// Nobody, unless hedging is on, another target is free and it is known what is slow for this one.
pub fn partner(course: &Course, lane: &Lane, ticket: &Ticket) -> Option<Partner> {
    let gateway = ticket.gateway();
    if gateway.policy.hedge_max_share <= 0.0 {
        return None;
    }
    gateway.hedge_budget.call();
    let delay = lane.health.p95_first_byte()?;
    course.alternative(ticket.now()).map(|lane| Partner { lane: lane.clone(), delay })
}

struct Racer {
    lane: Arc<Lane>,
    admission: Admission,
    started: Duration,
    dropped: domain::canon::Dropped,
}

/// Both at the same time, once the first has taken too long.
pub async fn race(
    call: &Call,
    trying: Trying,
    partner: Partner,
    reservation: &Reservation,
    ticket: &mut Ticket,
    deadline: Instant,
) -> (Tried, bool) {
    let dropped = trying.leaving.dropped();
    let Trying { lane, leaving, admission } = trying;
    ticket.leave(&lane, reservation);
    let first = Racer { lane, admission, started: ticket.now(), dropped };
    let (outcome, second) = {
        let mut running = std::pin::pin!(attempt(call, leaving, &first.lane, ticket, deadline));
        let waited = tokio::time::timeout(partner.delay, running.as_mut()).await;
        match waited {
            Ok(outcome) => (Ended::First(outcome), None),
            Err(_) => match compete(call, &partner.lane, reservation, ticket) {
                None => (Ended::First(running.await), None),
                Some((second, leaving)) => {
                    let other = std::pin::pin!(attempt(call, leaving, &partner.lane, ticket, deadline));
                    (first_content(running, other).await, Some(second))
                }
            },
        }
    };
    let hedged = second.is_some();
    (settle(first, second, outcome, ticket), hedged)
}

/// The competitor, if there may be one.
fn compete(
    call: &Call,
    lane: &Arc<Lane>,
    reservation: &Reservation,
    ticket: &Ticket,
) -> Option<(Racer, outbound::Leaving)> {
    let gateway = ticket.gateway();
    let leaving = outbound::prepare(call, lane, ticket).ok()?;
    let admission = lane.health.admit(ticket.now()).ok()?;
    if !gateway.hedge_budget.try_hedge(gateway.policy.hedge_max_share) {
        return None;
    }
    ticket.note_leaving(lane, reservation);
    let dropped = leaving.dropped();
    Some((Racer { lane: lane.clone(), admission, started: ticket.now(), dropped }, leaving))
}

/// How the race ended.
enum Ended {
    /// Only this one has an outcome; the other, if there was one, is cancelled.
    First(Result<Answer, Fault>),
    Second(Result<Answer, Fault>),
    /// Both failed, the second last.
    Both(Fault, Fault),
}

async fn first_content(
    mut one: std::pin::Pin<&mut impl Future<Output = Result<Answer, Fault>>>,
    mut two: std::pin::Pin<&mut impl Future<Output = Result<Answer, Fault>>>,
) -> Ended {
    tokio::select! {
        outcome = one.as_mut() => match outcome {
            Ok(answer) => Ended::First(Ok(answer)),
            Err(fault) => match two.await {
                Ok(answer) => Ended::Second(Ok(answer)),
                Err(other) => Ended::Both(fault, other),
            },
        },
        outcome = two.as_mut() => match outcome {
            Ok(answer) => Ended::Second(Ok(answer)),
            Err(other) => match one.await {
                Ok(answer) => Ended::First(Ok(answer)),
                Err(fault) => Ended::Both(fault, other),
            },
        },
    }
}

fn settle(first: Racer, second: Option<Racer>, ended: Ended, ticket: &mut Ticket) -> Tried {
    let now = ticket.now();
    ticket.waited(now.saturating_sub(first.started));
    let conclude = |racer: Racer, outcome, ticket: &mut Ticket| {
        ticket.switch(&racer.lane, racer.dropped);
        conclude(racer.lane, racer.admission, outcome, now.saturating_sub(racer.started), ticket)
    };
    let outrun = |racer: &Racer, ticket: &mut Ticket| {
        let attempt = racer.lane.attempt(0, Some(OUTRUN.into()), now.saturating_sub(racer.started));
        ticket.attempted(&racer.lane, attempt);
    };
    match (ended, second) {
        (Ended::First(outcome), second) => {
            if let Some(second) = &second {
                outrun(second, ticket);
            }
            conclude(first, outcome, ticket)
        }
        (Ended::Second(outcome), Some(second)) => {
            outrun(&first, ticket);
            conclude(second, outcome, ticket)
        }
        (Ended::Both(fault, other), Some(second)) => {
            conclude(second, Err(other), ticket);
            conclude(first, Err(fault), ticket)
        }
        (Ended::Second(outcome), None) => conclude(first, outcome, ticket),
        (Ended::Both(fault, _), None) => conclude(first, Err(fault), ticket),
    }
}
