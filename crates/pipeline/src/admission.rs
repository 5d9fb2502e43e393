//! Admission of a call: its reservation, and its share of the budgets on its path.

pub(crate) mod budget_admission;
pub mod reserve;

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

/// Admits a call. The cost of a large body is estimated on a blocking thread.
pub(crate) async fn admit_sized(
    gateway: &Arc<Gateway>,
    arrival: &Arrival,
    prepared: Prepared,
    mut ticket: Box<Ticket>,
) -> Result<Admitted, Refused> {
    let draw = arrival.request_id.number();
    if !prepared.call.is_large() {
        let admitted = admit(gateway, draw, prepared, &mut ticket);
        return Ok(confirm(ticket, admitted).await);
    }
    let shared = gateway.clone();
    let work = move || {
        let admitted = admit(&shared, draw, prepared, &mut ticket);
        (ticket, admitted)
    };
    let admitted = Box::pin(gateway.body_work.run(&gateway.tasks, work)).await;
    let (ticket, admitted) = admitted.map_err(|fault| Refused { fault, headers: http::HeaderMap::new() })?;
    Ok(confirm(ticket, admitted).await)
}

/// Waits for the verdict about the tokens of an admitted call, if Redis was asked.
async fn confirm(mut ticket: Box<Ticket>, admitted: Result<(Prepared, Reservation), Fault>) -> Admitted {
    match admitted {
        Ok(admitted) => {
            let confirmed = ticket.holds.confirm_tokens(&ticket.context).await;
            (ticket, confirmed.map(|()| admitted))
        }
        Err(fault) => (ticket, Err(fault)),
    }
}

/// Takes the call's share of the budgets on its path and of its key's token limits. `draw` is the number that random
/// choices of the call are made from. `Holds::confirm_tokens` comes after it.
pub(crate) fn admit(
    gateway: &Gateway,
    draw: u64,
    prepared: Prepared,
    ticket: &mut Ticket,
) -> Result<(Prepared, Reservation), Fault> {
    let prepared = budget_admission::afford(gateway, draw, prepared, ticket)?;
    // Last: a call that a budget refuses takes no tokens from its key's limits.
    let reservation = reserve::reserve(&prepared.plan, &prepared.call);
    if let Some(deployment) = prepared.plan.first() {
        ticket.holds.limit_tokens(&ticket.context, || reservation.token_demand(deployment))?;
    }
    Ok((prepared, reservation))
}
