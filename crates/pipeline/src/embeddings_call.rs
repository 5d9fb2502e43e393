//! Calls of embeddings that the semantic cache makes on behalf of a caller: routed, admitted, dispatched and booked like the
//! caller's own, with receipts of their own. They have no guardrails, and the caller's request limits do not count them.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use domain::fault::{self, Fault};
use domain::ids;
use domain::scope::Scope;

use crate::accounting::ticket::Ticket;
use crate::admission::{Prepared, admit_sized};
use crate::call::arrival::{Arrival, RequestId};
use crate::call::{authenticate, receive};
use crate::delivery::commit::{self, AnswerForm, Answering};
use crate::delivery::reply::ReplyBody;
use crate::dispatch;
use crate::gateway::{EmbeddingsCall, Gateway};
use crate::resolve_plan::resolve_plan;
use crate::routing::choose::SelectionMode;

/// Sends a call and returns the body of its answer.
pub fn send(
    gateway: Arc<Gateway>,
    call: EmbeddingsCall,
) -> Pin<Box<dyn Future<Output = Result<Bytes, Fault>> + Send>> {
    Box::pin(async move {
        let EmbeddingsCall { headers, client_ip, endpoint, surface, body, timeout } = call;
        let at = gateway.clock.now();
        let arrival = Arrival {
            request_id: RequestId::made(ids::unique(at, &*gateway.entropy)),
            at,
            tick: gateway.clock.tick(),
            method: "POST",
            endpoint,
            surface,
            addressed: None,
            client_credential: None,
            path: None,
            query: None,
            client_ip,
            headers,
        };
        run(&gateway, &arrival, body, timeout).await
    })
}

async fn run(
    gateway: &Arc<Gateway>,
    arrival: &Arrival,
    body: Bytes,
    timeout: Duration,
) -> Result<Bytes, Fault> {
    let mut ticket = Ticket::open(gateway, arrival);
    let prepared = match prepare(gateway, arrival, body, timeout, &mut ticket).await {
        Ok(prepared) => prepared,
        Err(fault) => return Err(ticket.refuse(fault).fault),
    };
    let admitted = admit_sized(gateway, arrival, prepared, ticket).await;
    let (ticket, admitted) = admitted.map_err(|refused| refused.fault)?;
    let (Prepared { call, plan, .. }, reservation) = match admitted {
        Ok(admitted) => admitted,
        Err(fault) => return Err(ticket.refuse(fault).fault),
    };
    let answering: Answering = Box::pin(dispatch::dispatch(call, plan, reservation, ticket));
    let reply = commit::whole(answering, None, AnswerForm::Document).await;
    let ReplyBody::Whole { pieces, .. } = reply.map_err(|refused| refused.fault)?.body else {
        return Err(fault::internal_error());
    };
    let joined = pieces.iter().fold(BytesMut::new(), |mut joined, piece| {
        joined.extend_from_slice(piece);
        joined
    });
    Ok(joined.freeze())
}

/// Resolves the targets of a call, and excepts it from guardrails.
async fn prepare(
    gateway: &Gateway,
    arrival: &Arrival,
    body: Bytes,
    timeout: Duration,
    ticket: &mut Ticket,
) -> Result<Prepared, Fault> {
    let snapshot = ticket.context.snapshot().clone();
    let principal = authenticate::authenticate_or_learn(gateway, &snapshot, arrival).await?;
    let user_path = ticket.identify_internal(&principal, arrival)?;
    principal.require(Scope::Inference)?;
    let call = receive::parse(body, arrival, gateway).await?;
    ticket.receipt.requested(&call);
    let owner = (&principal, &user_path);
    let plan = resolve_plan(gateway, &snapshot, owner, arrival, &call, ticket, SelectionMode::Live)?;
    ticket.make_internal(timeout);
    Ok(Prepared { snapshot, principal, user_path, call, plan })
}
