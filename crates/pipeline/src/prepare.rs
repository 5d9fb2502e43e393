//! The first half of a call: authenticates it, parses its body and resolves its targets.

use std::sync::Arc;

use bytes::Bytes;
use domain::fault::Fault;
use domain::principal::Principal;
use domain::scope::{Action, Scope};
use domain::user_path::UserPath;

use crate::accounting::ticket::Ticket;
use crate::admission::Prepared;
use crate::call::arrival::Arrival;
use crate::call::receive::Call;
use crate::call::{authenticate, ownership, receive};
use crate::gateway::Gateway;
use crate::inspect::inspect;
use crate::resolve_plan::resolve_plan;
use crate::responses;
use crate::routing::choose::SelectionMode;
use crate::snapshot::Snapshot;

/// Authenticates, parses, routes and inspects a call. In a dry run, no round-robin cursor is advanced.
pub(crate) async fn prepare<B>(
    gateway: &Gateway,
    arrival: &Arrival,
    body: B,
    ticket: &mut Ticket,
    mode: SelectionMode,
) -> Result<Prepared, Fault>
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    let parsed = receive_call(gateway, arrival, body, ticket).await?;
    let prepared = route(gateway, arrival, parsed, ticket, mode).await?;
    inspect(gateway, arrival, prepared, ticket).await
}

/// A parsed call, with its caller.
pub(crate) struct ParsedCall {
    snapshot: Arc<Snapshot>,
    principal: Principal,
    user_path: UserPath,
    pub call: Box<Call>,
}

/// Authenticates a call, and receives and parses its body.
pub(crate) async fn receive_call<B>(
    gateway: &Gateway,
    arrival: &Arrival,
    body: B,
    ticket: &mut Ticket,
) -> Result<ParsedCall, Fault>
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    let snapshot = ticket.context.snapshot().clone();
    let principal = authenticate::authenticate_or_learn(gateway, &snapshot, arrival).await?;
    let user_path = ticket.identify(&principal, arrival).await?;
    principal.require(Scope::Inference)?;
    let body = receive::receive(body, &arrival.headers, gateway).await?;
    ticket.audit.received(&body);
    let call = receive::parse(body, arrival, gateway).await?;
    ticket.receipt.requested(&call);
    // As the caller's tenant sees it.
    let snapshot = ticket.context.snapshot().clone();
    Ok(ParsedCall { snapshot, principal, user_path, call })
}

/// Resolves the targets of a call and their order.
pub(crate) async fn route(
    gateway: &Gateway,
    arrival: &Arrival,
    parsed: ParsedCall,
    ticket: &mut Ticket,
    mode: SelectionMode,
) -> Result<Prepared, Fault> {
    let ParsedCall { snapshot, principal, user_path, mut call } = parsed;
    responses::follow_up(&mut call, &principal, ticket).await?;
    refuse_others_objects(gateway, &principal, &call, ticket).await?;
    if mode == SelectionMode::Live {
        call = ticket.audit.converses(&ticket.context, call).await?;
    }
    let owner = (&principal, &user_path);
    let plan = resolve_plan(gateway, &snapshot, owner, arrival, &call, ticket, mode)?;
    Ok(Prepared { snapshot, principal, user_path, call, plan })
}

/// Refuses a call that refers to files, conversations or the like of other owners, as far as their owners are known.
async fn refuse_others_objects(
    gateway: &Gateway,
    principal: &Principal,
    call: &Call,
    ticket: &Ticket,
) -> Result<(), Fault> {
    let Some(owner) = responses::visible_to(principal, ticket.context.owner(), Action::Read) else {
        return Ok(());
    };
    let ids = ownership::references_of(gateway, &call.request.body, call.request.object.keys).await?;
    if ids.is_empty() {
        return Ok(());
    }
    Box::pin(ownership::refuse_others(gateway, Some(&owner), &ids)).await.map(drop)
}
