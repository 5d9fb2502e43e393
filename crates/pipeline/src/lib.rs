//! The journey of a call, one station per file. Start at [`run`].

mod afford;
pub mod arrival;
mod ask;
pub mod audit;
pub mod authenticate;
pub mod body_work;
pub mod budget;
pub mod choose;
pub mod commit;
pub mod console;
mod content_encoding;
pub mod count;
pub mod dispatch;
pub mod estimate;
pub mod explain;
pub mod feed;
pub mod gateway;
pub mod health;
pub mod idempotency;
pub mod inventory;
pub mod key_uses;
pub mod limit;
pub mod metrics;
pub mod models;
pub mod ownership;
pub mod passthrough;
pub mod recall;
pub mod receive;
pub mod refresh;
pub mod reply;
pub mod reserve;
pub mod resolve;
pub mod responses;
pub mod settle;
pub mod snapshot;
pub mod spending;
pub mod stream;
pub mod traces;
pub mod unwritten;
pub mod webhooks;

use std::sync::Arc;

use arrival::Arrival;
use bytes::Bytes;
use commit::{Answering, EarlyHeaders};
use domain::caller::Caller;
use domain::fault::Fault;
use domain::scope::{Action, Scope};
use domain::user_path::UserPath;
use gateway::Gateway;
use idempotency::Turn;
use receive::Call;
use reply::{Refused, Reply};
use reserve::Reservation;
use resolve::Plan;
use resolve::access::Access;
use settle::Ticket;
use snapshot::Snapshot;

/// One call from its first byte to its last: read this function to know what the gateway does.
///
/// The ticket is opened before anything can fail and settles itself when it is dropped, so that every call,
/// refused, failed or abandoned, leaves exactly one receipt.
pub async fn run<B>(gateway: &Arc<Gateway>, arrival: Arrival, body: B) -> Result<Reply, Refused>
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    let mut ticket = Ticket::open(gateway, &arrival);
    let heard = match hear(gateway, &arrival, body, &mut ticket).await {
        Ok(heard) => heard,
        Err(fault) => return Err(ticket.refuse(fault)),
    };
    let record = match idempotency::claim(&arrival, &heard.call, &ticket).await {
        Ok(Turn::First(record)) => record,
        Ok(Turn::Again(head, body)) => return Ok(idempotency::replay(ticket, &head, body)),
        Err(fault) => return Err(ticket.refuse(fault)),
    };
    let prepared = match route(gateway, &arrival, heard, &mut ticket, true).await {
        Ok(prepared) => prepared,
        Err(fault) => return Err(ticket.refuse(fault)),
    };
    let (ticket, admitted) = admit_sized(gateway, &arrival, prepared, ticket).await?;
    match admitted {
        Ok((Prepared { call, plan, .. }, reservation)) => {
            let streams = call.stream;
            let early = EarlyHeaders { account: ticket.account(), clamped: ticket.clamped() };
            // On the heap: what is moved about from here on is a pointer, and streams take it along.
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

/// A call that is known, and where it may go.
struct Prepared {
    snapshot: Arc<Snapshot>,
    caller: Caller,
    user_path: UserPath,
    call: Box<Call>,
    plan: Plan,
}

/// Everything before a call may leave: who asks, for what, and who may serve it. What is not `real` uses up nobody's turn.
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
    let heard = hear(gateway, arrival, body, ticket).await?;
    route(gateway, arrival, heard, ticket, real).await
}

/// Who asks, and for what.
struct Heard {
    snapshot: Arc<Snapshot>,
    caller: Caller,
    user_path: UserPath,
    call: Box<Call>,
}

async fn hear<B>(gateway: &Gateway, arrival: &Arrival, body: B, ticket: &mut Ticket) -> Result<Heard, Fault>
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
    Ok(Heard { snapshot, caller, user_path, call })
}

/// Who may serve it, in which order.
async fn route(
    gateway: &Gateway,
    arrival: &Arrival,
    heard: Heard,
    ticket: &mut Ticket,
    real: bool,
) -> Result<Prepared, Fault> {
    let Heard { snapshot, caller, user_path, mut call } = heard;
    responses::follow_up(&mut call, &caller, ticket).await?;
    refuse_others_objects(gateway, &caller, &call, ticket).await?;
    if real {
        call = ticket.converses(call).await?;
    }
    let access = Access::new(&gateway.policy, &snapshot, &caller, &user_path);
    let asking = call.asking(access, arrival, &gateway.policy)?;
    let resolved = resolve::resolve(&asking, &mut ())?;
    ticket.resolved(&snapshot.routes.names);
    let plan = resolved.plan(|| call.circumstances(gateway, arrival.request_id.number(), real));
    Ok(Prepared { snapshot, caller, user_path, call, plan })
}

/// Files, conversations and the like that the call names must be the caller's, as far as their owners are known.
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

/// Admits a call. What a large body may cost is estimated off the connection's thread.
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

/// What a call takes before it leaves, of the budgets on its path and of its key's limits. `draw` is the number that
/// random choices of the call are made from.
fn admit(
    gateway: &Gateway,
    draw: u64,
    prepared: Prepared,
    ticket: &mut Ticket,
) -> Result<(Prepared, Reservation), Fault> {
    let prepared = afford::afford(gateway, draw, prepared, ticket)?;
    // Last: a call that a budget refuses takes no tokens of its key's limits.
    let reservation = reserve::reserve(&prepared.plan, &prepared.call);
    if let Some(lane) = prepared.plan.first() {
        ticket.limit_tokens(|| reservation.token_demand(lane))?;
    }
    Ok((prepared, reservation))
}
