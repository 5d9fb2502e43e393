//! Admission of a call: its reservation, and its share of the budgets on its path.

pub(crate) mod budget_admission;
pub mod reserve;
mod shared_room;

use std::sync::Arc;

use domain::fault::Fault;
use domain::principal::Principal;
use domain::user_path::UserPath;

use crate::accounting::reservation::Reservation;
use crate::accounting::ticket::Ticket;
use crate::call::arrival::Arrival;
use crate::call::receive::Call;
use crate::call::response_headers::Refused;
use crate::gateway::Gateway;
use crate::routing::resolve::Plan;
use crate::snapshot::Snapshot;
use shared_room::{BudgetProgress, NotAdmitted, WaitPolicy};

/// A parsed call, with its targets.
pub(crate) struct Prepared {
    pub snapshot: Arc<Snapshot>,
    pub principal: Principal,
    pub user_path: UserPath,
    pub call: Box<Call>,
    pub plan: Plan,
}

/// The ticket, and the admitted call or the fault that refuses it.
type Admitted = (Box<Ticket>, Result<(Prepared, Reservation), Fault>);

/// Admits a call. The cost of a large body is estimated on a blocking thread. Waits only for room in budgets that
/// replicas share, and only if the call does not fit into the lease of this process.
pub(crate) async fn admit_sized(
    gateway: &Arc<Gateway>,
    arrival: &Arrival,
    prepared: Prepared,
    mut ticket: Box<Ticket>,
) -> Result<Admitted, Refused> {
    let draw = arrival.request_id.number();
    if !prepared.call.is_large() {
        let admitted = admit_waiting(gateway, draw, prepared, &mut ticket).await;
        return Ok((ticket, admitted));
    }
    // Boxed, because most calls do not need this future and should not carry its size.
    Box::pin(admit_large(gateway, draw, prepared, ticket)).await
}

async fn admit_large(
    gateway: &Arc<Gateway>,
    draw: u64,
    mut prepared: Prepared,
    mut ticket: Box<Ticket>,
) -> Result<Admitted, Refused> {
    let mut progress = BudgetProgress::new(gateway);
    loop {
        let shared = gateway.clone();
        let work = move || {
            let admitted = admit(&shared, draw, prepared, &mut ticket, progress);
            (ticket, admitted)
        };
        let admitted = Box::pin(gateway.body_work.run(&gateway.tasks, work)).await;
        let refused = |fault| Refused { fault, headers: http::HeaderMap::new() };
        let (returned, admitted) = admitted.map_err(refused)?;
        ticket = returned;
        match admitted {
            Ok(admitted) => {
                let confirmed = ticket.holds.confirm_tokens(&ticket.context).await;
                return Ok((ticket, confirmed.map(|()| admitted)));
            }
            Err(NotAdmitted::Refused(fault)) => return Ok((ticket, Err(fault))),
            Err(NotAdmitted::Short(short)) => {
                let policy = WaitPolicy::of(&ticket);
                match Box::pin(shared_room::wait(gateway, policy, short)).await {
                    Ok(next) => (prepared, progress) = next,
                    Err(fault) => return Ok((ticket, Err(fault))),
                }
            }
        }
    }
}

/// Admits a call on this thread.
pub(crate) async fn admit_waiting(
    gateway: &Gateway,
    draw: u64,
    prepared: Prepared,
    ticket: &mut Ticket,
) -> Result<(Prepared, Reservation), Fault> {
    let (mut prepared, mut progress) = (prepared, BudgetProgress::new(gateway));
    loop {
        match admit(gateway, draw, prepared, ticket, progress) {
            Ok(admitted) => {
                // Redis may have to decide about the tokens.
                ticket.holds.confirm_tokens(&ticket.context).await?;
                return Ok(admitted);
            }
            Err(NotAdmitted::Refused(fault)) => return Err(fault),
            // Boxed, because most calls do not wait.
            Err(NotAdmitted::Short(short)) => {
                let policy = WaitPolicy::of(ticket);
                (prepared, progress) = Box::pin(shared_room::wait(gateway, policy, short)).await?;
            }
        }
    }
}

/// Takes the call's share of the budgets on its path and of its key's token limits. `draw` is the number that random
/// choices of the call are made from.
fn admit(
    gateway: &Gateway,
    draw: u64,
    prepared: Prepared,
    ticket: &mut Ticket,
    progress: BudgetProgress,
) -> Result<(Prepared, Reservation), NotAdmitted> {
    let prepared = budget_admission::afford(gateway, draw, prepared, ticket, progress)?;
    // Last: a call that a budget refuses takes no tokens from its key's limits.
    let reservation = reserve::reserve(&prepared.plan, &prepared.call);
    if let Some(deployment) = prepared.plan.first() {
        ticket.holds.limit_tokens(&ticket.context, || reservation.token_demand(deployment))?;
    }
    Ok((prepared, reservation))
}
