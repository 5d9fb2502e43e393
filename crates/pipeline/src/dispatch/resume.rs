//! An answer that broke off is continued: on the other targets of the plan first, on the same one last.

use std::pin::Pin;
use std::sync::Arc;

use domain::canon::Reply;
use domain::fault::{self, Fault};
use tokio::time::Instant;
use wire::codec::Mint;

use super::outbound::{self, Leaving, Passage};
use super::{Answer, Asked, Bounds, Tried, Trying, continuation, try_one};
use crate::receive::Call;
use crate::reserve::Reservation;
use crate::resolve::Plan;
use crate::settle::Ticket;
use crate::snapshot::routes::Lane;
use crate::stream::{Flow, Overlap};

/// More deaths than that are no accident.
const MOST: u32 = 3;

/// What it takes to go on with a stream elsewhere; made only where that is wanted.
pub struct Resumable {
    call: Box<Call>,
    lanes: Vec<Arc<Lane>>,
    reservation: Reservation,
    resumed: u32,
}

/// The stream's account and, if anybody goes on, how.
pub struct Resumed {
    pub resumable: Box<Resumable>,
    pub ticket: Box<Ticket>,
    pub continuation: Option<(Box<Flow>, Overlap)>,
}

pub type Resuming = Pin<Box<dyn Future<Output = Resumed> + Send>>;

impl Resumable {
    pub fn may_go_on(&self) -> bool {
        self.resumed < MOST
    }

    pub fn resumed(&self) -> u32 {
        self.resumed
    }

    /// Who died is asked last.
    fn order(&mut self, dead: Option<&Arc<Lane>>) {
        let Some(dead) = dead else { return };
        self.lanes.sort_by_key(|lane| Arc::ptr_eq(lane, dead));
    }
}

/// Who could go on with a stream, if that is wanted.
pub fn targets(plan: &Plan, call: &Call, ticket: &Ticket) -> Option<Vec<Arc<Lane>>> {
    (call.stream && ticket.gateway().policy.resume_streams).then(|| plan.lanes.clone())
}

/// A stream that may be resumed takes along what that needs.
pub fn arm(
    answer: Answer,
    call: Box<Call>,
    lanes: Option<Vec<Arc<Lane>>>,
    reservation: Reservation,
) -> Answer {
    match (answer, lanes) {
        (Answer::Stream(mut flow), Some(lanes)) => {
            flow.arm(|| Box::new(Resumable { call, lanes, reservation, resumed: 0 }));
            Answer::Stream(flow)
        }
        (answer, _) => answer,
    }
}

/// Owns all it needs: the client is sent heartbeats meanwhile, and when it goes away this is dropped.
pub async fn resume(
    mut resumable: Box<Resumable>,
    so_far: Reply,
    fault: Option<Fault>,
    mut ticket: Box<Ticket>,
) -> Resumed {
    let fault = fault.unwrap_or_else(fault::internal_error);
    tracing::warn!(request_id = ticket.request_id.as_str(), code = %fault.code, reason = %fault.message, "stream broke off and is resumed");
    ticket.broke(&fault);
    ticket.carry_over(&so_far).await;
    let dead = ticket.lane().cloned();
    resumable.order(dead.as_ref());
    let deadline = Instant::now() + ticket.gateway().policy.request_timeout;
    // Who was asked for the rest and says nothing has not understood, or there is none: that is believed if nobody else
    // knows more.
    let mut nothing = None;
    for lane in resumable.lanes.clone() {
        // What said nothing has to be paid, too.
        if Instant::now() >= deadline || !ticket.covers(1 + u32::from(nothing.is_some())) {
            break;
        }
        let Some(mut rest) = go_on(&resumable, &so_far, &lane, &mut ticket, deadline).await else { continue };
        if rest.flow.says_nothing() && !rest.may_be_nothing {
            if nothing.is_some() {
                ticket.lose(&lane, rest.flow.loss());
            } else {
                nothing = Some((lane, rest));
            }
            continue;
        }
        if let Some((lane, mut unheard)) = nothing {
            ticket.lose(&lane, unheard.flow.loss());
        }
        return joined(resumable, ticket, rest);
    }
    if let Some((lane, rest)) = nothing {
        ticket.answered_by(&lane);
        return joined(resumable, ticket, rest);
    }
    if let Some(dead) = dead {
        ticket.answered_by(&dead);
    }
    Resumed { resumable, ticket, continuation: None }
}

fn joined(mut resumable: Box<Resumable>, mut ticket: Box<Ticket>, rest: Rest) -> Resumed {
    resumable.resumed += 1;
    ticket.goes_on(resumable.resumed);
    Resumed { resumable, ticket, continuation: Some((rest.flow, rest.overlap)) }
}

/// What a target says to the question for the rest.
struct Rest {
    flow: Box<Flow>,
    overlap: Overlap,
    /// There may be none: the text so far ends like one, or the target was given it as its own.
    may_be_nothing: bool,
}

/// One target, asked for the rest. Whatever it has against that, the next may not.
async fn go_on(
    resumable: &Resumable,
    so_far: &Reply,
    lane: &Arc<Lane>,
    ticket: &mut Ticket,
    deadline: Instant,
) -> Option<Rest> {
    let call = &resumable.call;
    let rules = (lane.instance.vendor.rules)(&lane.target.model);
    let (mut overlap, mut may_be_nothing) = (None, true);
    let leaving = outbound::prepare_rest(call, lane, ticket, |prompt, format| {
        let way = continuation::Way::of(&rules, format);
        may_be_nothing = way == continuation::Way::Prefill || continuation::may_be_whole(so_far);
        let (prompt, expected) = continuation::ask(prompt, so_far, way);
        overlap = Some(expected);
        prompt
    });
    let leaving = with_own_ids(leaving.ok()?, ticket, resumable.resumed + 1);
    let admission = lane.health.admit(ticket.now()).ok()?;
    let trying = Trying { leaving, asked: Asked::new(lane.clone(), admission, ticket) };
    let reservation = ticket.reservation_with(&resumable.reservation);
    let Tried { outcome, .. } =
        try_one(call, trying, &reservation, ticket, Bounds { deadline, alone: false }).await;
    match outcome {
        Ok(Answer::Stream(flow)) => Some(Rest { flow, overlap: overlap?, may_be_nothing }),
        _ => None,
    }
}

/// Calls that get their ids from us must not get those of calls before the break.
fn with_own_ids(mut leaving: Leaving, ticket: &Ticket, number: u32) -> Leaving {
    if let Passage::Translated(translation) = &mut leaving.passage {
        translation.decoding.mint = Mint::new(format!("{}r{number}", ticket.seed()));
    }
    leaving
}
