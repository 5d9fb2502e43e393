//! Waiting for room in budgets that replicas share: a call that does not fit into the lease of this process waits,
//! without holding anything, until the lease has grown or the budgets turn out to have too little left.

use std::time::Duration;

use domain::fault::{self, Fault};
use domain::money::Nanos;

use super::Prepared;
use crate::accounting::ticket::Ticket;
use crate::budgets::{BudgetScope, Check, Hold, LeaseOutcome};
use crate::gateway::Gateway;

/// The progress of a call towards its holds.
pub struct BudgetProgress {
    pub check: Check,
    /// Whether it is known how much is left. Until then a call that does not fit into the lease is neither clamped nor
    /// refused.
    pub is_final: bool,
    /// The refusal by the budgets, if a cheaper model is tried now.
    pub refusal: Option<Fault>,
    /// The room that the call has waited for, held until its cost takes the place.
    pub room: Option<Hold>,
    /// The monotonic time at which the call stops waiting.
    deadline: Option<Duration>,
}

impl BudgetProgress {
    pub fn new(gateway: &Gateway) -> Self {
        let is_final = !gateway.budgets.is_leased();
        Self { check: Check::Lease, is_final, refusal: None, room: None, deadline: None }
    }

    /// Starts again with a cheaper model, which is refused like the first one.
    #[must_use]
    pub fn downgraded(self, gateway: &Gateway, refusal: Fault) -> Self {
        let is_final = !gateway.budgets.is_leased() || self.check == Check::Amount;
        Self { is_final, refusal: Some(refusal), ..self }
    }
}

/// Why a call is not admitted.
pub enum NotAdmitted {
    Refused(Fault),
    Short(Box<Short>),
}

impl From<Fault> for NotAdmitted {
    fn from(fault: Fault) -> Self {
        Self::Refused(fault)
    }
}

/// A call that does not fit into the lease of this process.
pub struct Short {
    pub prepared: Prepared,
    pub progress: BudgetProgress,
    pub scope: BudgetScope,
    pub need: Nanos,
    /// Whether its output bound may be lowered.
    pub clamps: bool,
}

/// The policy of a call about waits.
#[derive(Clone, Copy)]
pub struct WaitPolicy {
    longest: Duration,
    /// Whether the call is refused if the budgets cannot be checked.
    is_closed: bool,
}

impl WaitPolicy {
    pub fn of(ticket: &Ticket) -> Self {
        let policy = ticket.context.policy();
        Self { longest: policy.budget_lease_wait, is_closed: policy.budgets_closed }
    }
}

/// Waits for room. Fails if the budgets cannot be checked and have to be.
pub async fn wait(
    gateway: &Gateway,
    policy: WaitPolicy,
    short: Box<Short>,
) -> Result<(Prepared, BudgetProgress), Fault> {
    let WaitPolicy { longest, is_closed } = policy;
    let Short { prepared, mut progress, scope, mut need, clamps } = *short;
    let deadline = *progress.deadline.get_or_insert(gateway.clock.tick() + longest);
    // A call that waits holds nothing.
    progress.room = None;
    loop {
        match gateway.budgets.wait_for_room(&*gateway.clock, &scope, need, deadline).await {
            LeaseOutcome::Room => {
                // Held at once: computing the cost again may take longer than room is kept for a woken call.
                progress.room = gateway.hold(&scope, Some(need), Check::Lease).ok();
                if progress.room.is_some() || !progress.is_final {
                    break;
                }
            }
            LeaseOutcome::Refused { room } => {
                progress.is_final = true;
                if !clamps || room <= Nanos::ZERO {
                    break;
                }
                // All that is left, so that the output bound can be lowered to it. Another call may be faster.
                need = room;
            }
            LeaseOutcome::Unknown if progress.is_final => break,
            LeaseOutcome::Unknown if is_closed => return Err(fault::budget_check_failed()),
            LeaseOutcome::Unknown => {
                (progress.check, progress.is_final) = (Check::Amount, true);
                break;
            }
        }
    }
    Ok((prepared, progress))
}
