//! Calls of embeddings that the semantic cache makes on behalf of a caller: routed, admitted, dispatched and booked like the
//! caller's own, with receipts of their own. They have no guardrails, and the caller's request limits do not count them.

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use domain::fault::{self, Fault};
use domain::ids;

use crate::accounting::ticket::Ticket;
use crate::call::arrival::RequestId;
use crate::call::authenticate;
use crate::delivery::commit::{self, AnswerForm};
use crate::gateway::{EmbeddingsCall, Gateway};
use crate::internal_call;

/// Sends a call and returns the body of its answer.
pub fn send(
    gateway: Arc<Gateway>,
    call: EmbeddingsCall,
) -> Pin<Box<dyn Future<Output = Result<Bytes, Fault>> + Send>> {
    Box::pin(run(gateway, call))
}

async fn run(gateway: Arc<Gateway>, call: EmbeddingsCall) -> Result<Bytes, Fault> {
    let EmbeddingsCall { headers, client_ip, endpoint, surface, body, timeout } = call;
    let request_id = RequestId::made(ids::unique(gateway.clock.now(), &*gateway.entropy));
    let arrival = internal_call::arrival(&gateway, request_id, endpoint, surface, client_ip, headers);
    let ticket = Ticket::open(&gateway, &arrival);
    let snapshot = ticket.context.snapshot().clone();
    let principal = authenticate::authenticate_or_learn(&gateway, &snapshot, &arrival).await;
    let answering = internal_call::admit(ticket, principal, &arrival, body, timeout).await?;
    let reply = commit::whole(Box::pin(answering), None, AnswerForm::Document).await;
    reply.map_err(|refused| refused.fault)?.body.joined().ok_or_else(fault::internal_error)
}
