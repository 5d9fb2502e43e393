//! Calls that the gateway makes itself on behalf of a caller: routed, admitted, dispatched and booked like the caller's
//! own, with a receipt of their own. They have no guardrails, and do not use the response cache.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::call::{Format, Surface};
use domain::canon::Reply;
use domain::fault::{self, Fault};
use domain::principal::Principal;
use domain::scope::Scope;
use http::{HeaderMap, HeaderName, HeaderValue};
use wire::codec::{Decoding, IdGenerator};
use wire::formats;

use crate::accounting::ticket::Ticket;
use crate::admission::{Prepared, admit_sized};
use crate::call::arrival::{Arrival, RequestId};
use crate::call::receive;
use crate::dispatch::{self, Answer};
use crate::gateway::Gateway;
use crate::resolve_plan::resolve_plan;
use crate::routing::choose::SelectionMode;

/// The caller on whose behalf the gateway makes calls.
pub struct InternalCaller {
    gateway: Arc<Gateway>,
    principal: Option<Principal>,
    pub request_id: RequestId,
    pub user_path: String,
    /// The headers of the caller's own call that also concern those of the gateway: run, session and trace.
    headers: HeaderMap,
}

impl InternalCaller {
    /// The caller of a call. Calls on its behalf have the same request id.
    pub fn of(ticket: &Ticket) -> Self {
        let context = &ticket.context;
        let receipt = ticket.receipt.receipt();
        let run_id = receipt.and_then(|receipt| receipt.run_id.clone());
        let session_id = receipt.and_then(|receipt| receipt.session_id.clone());
        let mut headers = HeaderMap::from_iter(ticket.receipt.trace_headers(None));
        for (name, value) in [("x-run-id", run_id), ("x-gateway-session-id", session_id)] {
            let value = value.and_then(|value| HeaderValue::try_from(value).ok());
            headers.extend(value.map(|value| (HeaderName::from_static(name), value)));
        }
        Self {
            gateway: ticket.gateway().clone(),
            principal: context.principal().cloned(),
            request_id: context.request_id.clone(),
            user_path: context.owner().user_path.clone(),
            headers,
        }
    }

    /// A caller without a call, on the path of its key.
    pub fn without_call(gateway: &Arc<Gateway>, principal: &Principal, request_id: RequestId) -> Self {
        Self {
            gateway: gateway.clone(),
            principal: Some(principal.clone()),
            request_id,
            user_path: principal.own_path().cloned().unwrap_or_default().as_str().to_owned(),
            headers: HeaderMap::new(),
        }
    }

    pub fn gateway(&self) -> &Arc<Gateway> {
        &self.gateway
    }

    /// The principal of the caller.
    pub(crate) fn principal(&self) -> Result<Principal, Fault> {
        self.principal.clone().ok_or_else(fault::invalid_api_key)
    }

    /// The arrival of a call on behalf of the caller.
    pub(crate) fn arrival_at(&self, endpoint: &'static str, surface: Surface) -> Arrival {
        let mut headers = self.headers.clone();
        let user_path = HeaderValue::from_bytes(self.user_path.as_bytes()).ok();
        headers.extend(user_path.map(|path| (HeaderName::from_static("x-gateway-user-path"), path)));
        arrival(&self.gateway, self.request_id.clone(), endpoint, surface, None, headers)
    }
}

/// The arrival of a call of the gateway's own.
pub(crate) fn arrival(
    gateway: &Gateway,
    request_id: RequestId,
    endpoint: &'static str,
    surface: Surface,
    client_ip: Option<IpAddr>,
    headers: HeaderMap,
) -> Arrival {
    Arrival {
        request_id,
        at: gateway.clock.now(),
        tick: gateway.clock.tick(),
        method: "POST",
        endpoint,
        surface,
        addressed: None,
        client_credential: None,
        credential_digest: None,
        path: None,
        query: None,
        client_ip,
        headers: headers.into(),
    }
}

/// A chat completion that the gateway asks for.
pub struct InternalCall {
    /// The endpoint in receipts, which tells these calls from those of clients.
    pub endpoint: &'static str,
    /// A request in the format of chat completions.
    pub body: Bytes,
    /// The time for all attempts together.
    pub timeout: Duration,
}

/// Makes a call of the gateway's own and reads its answer.
pub async fn complete(caller: &InternalCaller, call: InternalCall) -> Result<Reply, Fault> {
    let InternalCall { endpoint, body, timeout } = call;
    let arrival = caller.arrival_at(endpoint, Surface::Converse(Format::Chat));
    let ticket = Ticket::open(caller.gateway(), &arrival);
    let (ticket, outcome) = admit(ticket, caller.principal(), &arrival, body, timeout).await?.await;
    match outcome {
        Ok(answer) => settle(ticket, answer).await,
        Err(fault) => Err(ticket.refuse(fault).fault),
    }
}

/// Routes and admits a call of the gateway's own; returns its dispatch. Access rules, budgets and token limits of the
/// caller apply, its request limits do not: they count the calls of clients.
pub(crate) async fn admit(
    mut ticket: Box<Ticket>,
    principal: Result<Principal, Fault>,
    arrival: &Arrival,
    body: Bytes,
    timeout: Duration,
) -> Result<impl Future<Output = (Box<Ticket>, Result<Answer, Fault>)> + Send + use<>, Fault> {
    let gateway = ticket.gateway().clone();
    let prepared = match principal {
        Ok(principal) => prepare(&gateway, principal, arrival, body, timeout, &mut ticket).await,
        Err(fault) => Err(fault),
    };
    let prepared = match prepared {
        Ok(prepared) => prepared,
        Err(fault) => return Err(ticket.refuse(fault).fault),
    };
    let admitted = admit_sized(&gateway, arrival, prepared, ticket).await;
    let (ticket, admitted) = admitted.map_err(|refused| refused.fault)?;
    match admitted {
        Ok((Prepared { call, plan, .. }, reservation)) => {
            Ok(dispatch::dispatch(call, plan, reservation, ticket))
        }
        Err(fault) => Err(ticket.refuse(fault).fault),
    }
}

/// Resolves the targets of a call, and excepts it from guardrails.
async fn prepare(
    gateway: &Gateway,
    principal: Principal,
    arrival: &Arrival,
    body: Bytes,
    timeout: Duration,
    ticket: &mut Ticket,
) -> Result<Prepared, Fault> {
    let user_path = ticket.identify_internal(&principal, arrival)?;
    principal.require(Scope::Inference)?;
    let call = receive::parse(body, arrival, gateway).await?;
    ticket.receipt.requested(&call);
    let snapshot = ticket.context.snapshot().clone();
    let owner = (&principal, &user_path);
    let plan = resolve_plan(gateway, &snapshot, owner, arrival, &call, ticket, SelectionMode::Live)?;
    ticket.make_internal(timeout);
    Ok(Prepared { snapshot, principal, user_path, call, plan })
}

/// Books an answer and reads it.
async fn settle(mut ticket: Box<Ticket>, answer: Answer) -> Result<Reply, Fault> {
    ticket.first_byte();
    let reply = match answer {
        Answer::Native(native, bytes, answer) => {
            let raw = answer.usage.clone().map(|range| &bytes[range]).unwrap_or_default();
            if let Some(usage) = native.read_usage(raw, None) {
                ticket.consumed(usage, raw);
            }
            ticket.receipt.produced(answer.content_bytes as u64);
            let mut decoding = decoding(&ticket);
            let size = bytes.len();
            let decode = move || formats::upstream(Format::Chat).decode(&bytes, &mut decoding);
            ticket.gateway().with_bytes(size, decode).await.and_then(|decoded| decoded)
        }
        Answer::Translated(_, reply) => {
            if let Some(usage) = reply.usage.clone() {
                ticket.consumed(usage, &reply.raw_usage);
            }
            ticket.receipt.produced(reply.parts.iter().map(|part| part.content.byte_count()).sum());
            Ok(*reply)
        }
        Answer::Stream(_) | Answer::Replayed(_) => Err(fault::internal_error()),
    };
    let reply = match reply {
        Ok(reply) => reply,
        Err(fault) => return Err(ticket.refuse(fault).fault),
    };
    if let Some(id) = &reply.id {
        ticket.receipt.provider_id(id.clone());
    }
    if let Some(counted) = ticket.complete() {
        let _ = counted.await;
    }
    Ok(reply)
}

fn decoding(ticket: &Ticket) -> Decoding {
    let target = ticket.receipt.deployment().map(|deployment| deployment.target.clone());
    let (provider, model) = target.map(|target| (target.instance, target.model)).unwrap_or_default();
    Decoding { provider, model, schema_tool: None, ids: IdGenerator::new(ticket.context.seed()) }
}
