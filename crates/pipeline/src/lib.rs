//! The pipeline of a call, one step per file. Start at [`run`].

pub mod accounting;
pub mod admission;
pub mod budgets;
pub mod call;
pub mod count;
pub mod delivery;
pub mod dispatch;
pub mod explain;
pub mod gateway;
pub mod limit;
pub mod passthrough;
pub mod policy;
pub mod refresh;
pub mod responses;
pub mod routing;
pub mod services;
pub mod snapshot;
mod streaming;

use std::sync::Arc;

use accounting::reservation::Reservation;
use accounting::settle::Ticket;
use admission::{afford, reserve};
use bytes::Bytes;
use call::arrival::Arrival;
use call::receive::Call;
use call::{authenticate, ownership, receive};
use delivery::commit::{Answering, EarlyHeaders};
use delivery::idempotency::Turn;
use delivery::reply::{Refused, Reply};
use delivery::{commit, idempotency};
use domain::caller::Caller;
use domain::fault::Fault;
use domain::scope::{Action, Scope};
use domain::user_path::UserPath;
use gateway::Gateway;
use routing::resolve;
use routing::resolve::Plan;
use routing::resolve::access::Access;
use snapshot::Snapshot;

/// Runs one call from its first byte to its last: read this function to know what the gateway does.
///
/// The ticket is opened before anything can fail and settles itself when it is dropped, so that every call, refused,
/// failed or abandoned, leaves exactly one receipt.
pub async fn run<B>(gateway: &Arc<Gateway>, arrival: Arrival, body: B) -> Result<Reply, Refused>
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    let mut ticket = Ticket::open(gateway, &arrival);
    let parsed = match receive_call(gateway, &arrival, body, &mut ticket).await {
        Ok(parsed) => parsed,
        Err(fault) => return Err(ticket.refuse(fault)),
    };
    let record = match idempotency::claim(&arrival, &parsed.call, &ticket).await {
        Ok(Turn::First(record)) => record,
        Ok(Turn::Again(head, body)) => return Ok(idempotency::replay(ticket, &head, body)),
        Err(fault) => return Err(ticket.refuse(fault)),
    };
    let prepared = match route(gateway, &arrival, parsed, &mut ticket, true).await {
        Ok(prepared) => prepared,
        Err(fault) => return Err(ticket.refuse(fault)),
    };
    let (ticket, admitted) = admit_sized(gateway, &arrival, prepared, ticket).await?;
    match admitted {
        Ok((Prepared { call, plan, .. }, reservation)) => {
            let streams = call.stream;
            let early = EarlyHeaders { account: ticket.account(), clamped: ticket.clamped() };
            // On the heap: from here on a pointer is moved, and a stream takes it along.
            let answering: Answering = Box::pin(dispatch::dispatch(call, plan, reservation, ticket));
            if streams {
                commit::stream(gateway, &arrival, early, answering, record).await
            } else {
                commit::whole(answering, record).await
            }
        }
        Err(fault) => Err(ticket.refuse(fault)),
    }
}

/// A parsed call, with its targets.
struct Prepared {
    snapshot: Arc<Snapshot>,
    caller: Caller,
    user_path: UserPath,
    call: Box<Call>,
    plan: Plan,
}

/// Authenticates, parses and routes a call. Unless it is `real`, no round-robin cursor is advanced.
async fn prepare<B>(
    gateway: &Gateway,
    arrival: &Arrival,
    body: B,
    ticket: &mut Ticket,
    real: bool,
) -> Result<Prepared, Fault>
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    let parsed = receive_call(gateway, arrival, body, ticket).await?;
    route(gateway, arrival, parsed, ticket, real).await
}

/// A parsed call, with its caller.
struct ParsedCall {
    snapshot: Arc<Snapshot>,
    caller: Caller,
    user_path: UserPath,
    call: Box<Call>,
}

async fn receive_call<B>(
    gateway: &Gateway,
    arrival: &Arrival,
    body: B,
    ticket: &mut Ticket,
) -> Result<ParsedCall, Fault>
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    let snapshot = gateway.snapshot();
    let caller = authenticate::caller(&snapshot, arrival)?;
    let user_path = ticket.identify(&caller, arrival)?;
    caller.require(Scope::Inference)?;
    let body = receive::receive(body, &arrival.headers, gateway).await?;
    ticket.received(&body);
    let call = receive::parse(body, arrival, gateway).await?;
    ticket.requested(&call);
    Ok(ParsedCall { snapshot, caller, user_path, call })
}

/// Resolves the targets of a call and their order.
async fn route(
    gateway: &Gateway,
    arrival: &Arrival,
    parsed: ParsedCall,
    ticket: &mut Ticket,
    real: bool,
) -> Result<Prepared, Fault> {
    let ParsedCall { snapshot, caller, user_path, mut call } = parsed;
    responses::follow_up(&mut call, &caller, ticket).await?;
    refuse_others_objects(gateway, &caller, &call, ticket).await?;
    if real {
        call = ticket.converses(call).await?;
    }
    let access = Access::new(&gateway.policy, &snapshot.routes, &caller, &user_path);
    let asking = call.asking(access, arrival, &gateway.policy)?;
    let resolved = resolve::resolve(&asking, &mut ())?;
    ticket.resolved(&snapshot.routes.names);
    let plan = resolved.plan(|| call.circumstances(gateway, arrival.request_id.number(), real));
    Ok(Prepared { snapshot, caller, user_path, call, plan })
}

/// Refuses a call that refers to files, conversations or the like of other owners, as far as their owners are known.
async fn refuse_others_objects(
    gateway: &Gateway,
    caller: &Caller,
    call: &Call,
    ticket: &Ticket,
) -> Result<(), Fault> {
    let Some(owner) = responses::visible_to(caller, &ticket.owner(), Action::Read) else { return Ok(()) };
    let ids = ownership::references_of(gateway, &call.request.body).await?;
    if ids.is_empty() {
        return Ok(());
    }
    Box::pin(ownership::refuse_others(gateway, Some(&owner), &ids)).await.map(drop)
}

type Admitted = (Box<Ticket>, Result<(Prepared, Reservation), Fault>);

/// Admits a call. The cost of a large body is estimated on a blocking thread.
async fn admit_sized(
    gateway: &Arc<Gateway>,
    arrival: &Arrival,
    prepared: Prepared,
    mut ticket: Box<Ticket>,
) -> Result<Admitted, Refused> {
    let draw = arrival.request_id.number();
    if !prepared.call.is_large() {
        let admitted = admit(gateway, draw, prepared, &mut ticket);
        return Ok((ticket, admitted));
    }
    let shared = gateway.clone();
    let work = move || {
        let admitted = admit(&shared, draw, prepared, &mut ticket);
        (ticket, admitted)
    };
    let admitted = Box::pin(gateway.body_work.run(&gateway.tasks, work)).await;
    admitted.map_err(|fault| Refused { fault, headers: http::HeaderMap::new() })
}

/// Takes the call's share of the budgets on its path and of its key's token limits. `draw` is the number that random
/// choices of the call are made from.
fn admit(
    gateway: &Gateway,
    draw: u64,
    prepared: Prepared,
    ticket: &mut Ticket,
) -> Result<(Prepared, Reservation), Fault> {
    let prepared = afford::afford(gateway, draw, prepared, ticket)?;
    // Last: a call that a budget refuses takes no tokens from its key's limits.
    let reservation = reserve::reserve(&prepared.plan, &prepared.call);
    if let Some(lane) = prepared.plan.first() {
        ticket.limit_tokens(|| reservation.token_demand(lane))?;
    }
    Ok((prepared, reservation))
}
