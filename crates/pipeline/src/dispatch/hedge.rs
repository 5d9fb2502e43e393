//! Hedged requests: if a target is slower than usual, a second one is tried as well. The first content wins, and the
//! other attempt is cancelled.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use domain::canon::Dropped;
use domain::fault::{Fault, FaultCode};
use tokio::time::Instant;

use super::{
    ActiveAttempt, Answer, AttemptResult, FailoverPlan, PendingAttempt, attempt, conclude, outbound,
};
use crate::accounting::reservation::Reservation;
use crate::accounting::ticket::Ticket;
use crate::call::receive::Call;
use crate::routing::routes::Deployment;

/// The target of a hedge, and the delay before it starts.
pub struct HedgeTarget {
    pub deployment: Arc<Deployment>,
    delay: Duration,
}

/// Counts the call for the hedge budget; used once per call.
pub fn count(ticket: &Ticket) {
    if ticket.context.policy().hedge_max_share > 0.0 {
        ticket.gateway().hedge_budget.call();
    }
}

/// The target of a hedge, if the policy allows one, another target is available and the p95 latency of this one is
/// known.
pub fn partner(failover: &FailoverPlan, deployment: &Deployment, ticket: &Ticket) -> Option<HedgeTarget> {
    if !ticket.context.policy().hedges {
        return None;
    }
    let delay = deployment.health.p95_first_byte()?;
    failover
        .alternative(ticket.context.now())
        .map(|deployment| HedgeTarget { deployment: deployment.clone(), delay })
}

struct Runner {
    asked: ActiveAttempt,
    started: Duration,
    dropped: Dropped,
}

struct Runners {
    first: Runner,
    second: OnceLock<Runner>,
}

/// Charges what both attempts have consumed if the client disconnects during the race.
struct Watch<'a> {
    runners: &'a Runners,
    ticket: &'a mut Ticket,
    over: bool,
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        let Runners { first, second } = self.runners;
        for asked in std::iter::once(first).chain(second.get()).map(|runner| &runner.asked) {
            if !self.over
                && let Some(loss) = asked.progress.loss()
            {
                self.ticket.receipt.lose(&asked.deployment, loss);
                self.ticket.receipt.refused();
            }
        }
    }
}

/// The result of a race.
pub struct Raced {
    pub tried: AttemptResult,
    /// Whether the second attempt was started.
    pub hedged: bool,
    /// The error of the second attempt, if both failed.
    pub beside: Option<Fault>,
}

/// Runs the attempt and, once it takes longer than the delay, a second one at the same time.
pub async fn race(
    call: &Call,
    pending: PendingAttempt,
    partner: HedgeTarget,
    reservation: &Reservation,
    ticket: &mut Ticket,
    deadline: Instant,
) -> Raced {
    let PendingAttempt { prepared, asked } = pending;
    let dropped = prepared.dropped();
    ticket.record_sent(&asked.deployment, reservation);
    let first = Runner { asked, started: ticket.context.now(), dropped };
    let runners = Runners { first, second: OnceLock::new() };
    let mut watch = Watch { runners: &runners, ticket, over: false };
    let outcome = {
        let ticket = &*watch.ticket;
        let mut running = std::pin::pin!(attempt(call, prepared, &runners.first.asked, ticket, deadline));
        // Polled by reference: the first attempt continues after the delay.
        let waited = tokio::time::timeout(partner.delay, running.as_mut()).await;
        match waited {
            Ok(outcome) => Ended::First(outcome),
            Err(_) => {
                // Without waiting for a shared budget, the second attempt is ready at the first poll.
                let second = tokio::select! {
                    biased;
                    second = compete(call, &partner.deployment, reservation, ticket) => Ok(second),
                    outcome = running.as_mut() => Err(outcome),
                };
                match second {
                    Err(outcome) => Ended::First(outcome),
                    Ok(None) => Ended::First(running.await),
                    Ok(Some((runner, prepared))) => {
                        let asked = &runners.second.get_or_init(|| runner).asked;
                        let other = std::pin::pin!(attempt(call, prepared, asked, ticket, deadline));
                        first_content(running, other).await
                    }
                }
            }
        }
    };
    watch.over = true;
    drop(watch);
    let Runners { first, second } = runners;
    settle(first, second.into_inner(), outcome, ticket)
}

/// Prepares the second attempt, if the target and the budgets allow it.
async fn compete(
    call: &Call,
    deployment: &Arc<Deployment>,
    reservation: &Reservation,
    ticket: &Ticket,
) -> Option<(Runner, Box<outbound::PreparedRequest>)> {
    let gateway = ticket.gateway();
    let prepared = outbound::prepare(call, deployment, &ticket.context).ok()?;
    let admission = deployment.health.admit(ticket.context.now()).ok()?;
    // Both attempts may have to be paid for.
    if !gateway.hedge_budget.try_hedge(ticket.context.policy().hedge_max_share) || !ticket.covers(2).await {
        return None;
    }
    ticket.journal_sent(deployment, reservation);
    let dropped = prepared.dropped();
    let asked = ActiveAttempt::new(deployment.clone(), admission, ticket);
    Some((Runner { asked, started: ticket.context.now(), dropped }, Box::new(prepared)))
}

/// The outcome of a race.
enum Ended {
    /// Only this attempt has an outcome; the other one, if it was started, is cancelled.
    First(Result<Answer, Fault>),
    Second(Result<Answer, Fault>),
    /// Both failed; the errors of the first and of the second attempt.
    Both(Fault, Fault),
}

async fn first_content(
    mut one: std::pin::Pin<&mut impl Future<Output = Result<Answer, Fault>>>,
    mut two: std::pin::Pin<&mut impl Future<Output = Result<Answer, Fault>>>,
) -> Ended {
    // A failure does not end the race: the other attempt is awaited. The caller has pinned both futures; it drops, and
    // so cancels, the one that is still running.
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

fn settle(first: Runner, second: Option<Runner>, ended: Ended, ticket: &mut Ticket) -> Raced {
    let now = ticket.context.now();
    ticket.receipt.waited(now.saturating_sub(first.started));
    let hedged = second.is_some();
    let conclude = |runner: Runner, outcome, ticket: &mut Ticket| {
        ticket.receipt.switch(&runner.asked.deployment, runner.dropped);
        conclude(runner.asked, outcome, now.saturating_sub(runner.started), false, ticket)
    };
    let outrun = |Runner { asked, started, .. }: Runner, ticket: &mut Ticket| {
        let ActiveAttempt { deployment, admission, progress, span_id } = asked;
        let took = now.saturating_sub(started);
        admission.took_longer_than(now, took);
        ticket.attempted(&deployment, deployment.attempt(0, Some(FaultCode::Outrun), took), span_id);
        if let Some(loss) = progress.loss() {
            ticket.receipt.lose(&deployment, loss);
        }
    };
    let (tried, beside) = match (ended, second) {
        (Ended::First(outcome), second) => {
            if let Some(second) = second {
                outrun(second, ticket);
            }
            (conclude(first, outcome, ticket), None)
        }
        (Ended::Second(outcome), Some(second)) => {
            outrun(first, ticket);
            (conclude(second, outcome, ticket), None)
        }
        (Ended::Both(fault, other), Some(second)) => {
            let beside = conclude(second, Err(other), ticket).outcome.err();
            (conclude(first, Err(fault), ticket), beside)
        }
        (Ended::Second(outcome), None) => (conclude(first, outcome, ticket), None),
        (Ended::Both(fault, _), None) => (conclude(first, Err(fault), ticket), None),
    };
    Raced { tried, hedged, beside }
}
