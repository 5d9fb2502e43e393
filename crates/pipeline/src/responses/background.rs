//! Tracking of background responses: the call stays open until the provider reports its usage.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::fault::Fault;
use domain::receipt::Receipt;
use domain::usage::Usage;
use http::Method;
use store::ShardId;
use tokio::sync::watch;
use wire::json;
use wire::vendors::Lifecycle;

use super::lifecycle::{is_pending, is_pending_object, named_after, native};
use super::read_usage;
use crate::accounting::stored_response::renew;
use crate::accounting::ticket::Ticket;
use crate::gateway::Gateway;

/// Polling intervals, first and longest, and the time after which a response is given up.
const SOON: Duration = Duration::from_millis(1500);
const SELDOM: Duration = Duration::from_secs(15);
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// The interval for taking over responses of processes that have ended.
const TAKE_OVER: Duration = Duration::from_secs(1);

/// The interval for checking whether the gateway is stopping.
const LOOK_UP: Duration = Duration::from_millis(250);

/// Whether a response is still pending and its provider supports retrieval.
pub fn is_to_be_followed(ticket: &Ticket, body: &[u8], object: &json::Object) -> bool {
    ticket.keeping().is_some() && is_pending_object(body, object) && can_be_asked(ticket)
}

/// Whether a streamed response continues at its provider after the client disconnected.
pub fn goes_on(ticket: &Ticket) -> bool {
    let asked = || {
        let body = ticket.receipt.received_body();
        json::value_at(body, &["background"]).is_some_and(|range| &body[range] == b"true")
    };
    ticket.keeping().is_some() && can_be_asked(ticket) && asked()
}

fn can_be_asked(ticket: &Ticket) -> bool {
    ticket
        .receipt
        .deployment()
        .is_some_and(|deployment| deployment.instance.vendor.paths.lifecycle.contains(&Lifecycle::Retrieve))
}

/// Polls for the result in a task of its own, and settles the call then, with the provider's usage. Until then the call
/// is open in the journal; if the gateway stops, another process takes it over.
pub fn follow(ticket: Box<Ticket>, id: String) {
    ticket.note_following(&id);
    wait(ticket, id);
}

/// Takes over the background responses of processes that have ended, until the gateway stops.
pub async fn run(gateway: Arc<Gateway>, mut stop: watch::Receiver<bool>) {
    while !*stop.borrow() {
        take_over(&gateway);
        let _ = tokio::time::timeout(TAKE_OVER, stop.wait_for(|stop| *stop)).await;
    }
}

/// Tracks the background responses that this process has taken over. If their provider no longer exists, they are
/// charged their reservation, like interrupted calls.
pub fn take_over(gateway: &Arc<Gateway>) {
    for opening in gateway.journal.take_followed() {
        let id = opening.follow.clone().unwrap_or_default();
        tracing::info!(provider = opening.provider_name, response = id, "background response taken over");
        let snapshot = gateway.snapshot().seen_by(opening.tenant_id.as_deref());
        let instance = snapshot.routes.instances.get(&opening.provider_name).cloned();
        match instance {
            Some(instance) => {
                let deployment = instance.passthrough_deployment(&opening.model);
                wait(Ticket::take_over(gateway, opening, deployment), id);
            }
            None => {
                let receipt = Receipt::interrupted(opening);
                if let Err(error) = gateway.journal.close_call(&receipt, ShardId::SHARED) {
                    tracing::error!(%error, "journal write failed; receipt kept in memory");
                    gateway.pending_receipts.keep(receipt, ShardId::SHARED);
                }
            }
        }
    }
}

/// The result of waiting for a response.
enum Outcome {
    Ended(Bytes),
    /// The provider no longer knows the response, or it took too long.
    Lost,
    /// The gateway is stopping.
    Stopped,
}

fn wait(mut ticket: Box<Ticket>, id: String) {
    let tasks = ticket.gateway().tasks.clone();
    tasks.spawn(async move {
        match ended(&ticket, &id).await {
            Outcome::Stopped => return ticket.leave_open(),
            Outcome::Lost => {
                tracing::warn!(response = id, "background response lost; charging its reservation");
                ticket.charge_reservation();
            }
            Outcome::Ended(body) => {
                let (usage, raw) = read_usage(&mut ticket, &body);
                match usage {
                    Some(usage) => ticket.consumed(usage, raw),
                    // Providers do not bill failed responses; a cancelled one may have consumed something.
                    None if has_failed(&body) => ticket.consumed(Usage::default(), b""),
                    None => ticket.charge_reservation(),
                }
                if let Err(error) = renew(ticket.gateway(), &id, &body).await {
                    tracing::warn!(%error, "finished background response not stored");
                }
            }
        }
        ticket.complete();
    });
}

/// Polls the provider, at growing intervals, until the response has ended.
async fn ended(ticket: &Ticket, id: &str) -> Outcome {
    let Some(deployment) = ticket.receipt.deployment().cloned() else { return Outcome::Lost };
    let (mut waited, mut pause) = (Duration::ZERO, SOON);
    while waited < LONGEST {
        // Sleep in short steps, so that a shutdown does not wait for the whole interval.
        for _ in 0..(pause.as_millis() / LOOK_UP.as_millis()) {
            tokio::time::sleep(LOOK_UP).await;
            if ticket.gateway().tasks.is_closed() {
                return Outcome::Stopped;
            }
        }
        waited += pause;
        pause = (pause * 2).min(SELDOM);
        let place = (&*deployment.target.instance, &*deployment.instance);
        match native(ticket.gateway(), place, Lifecycle::Retrieve, Method::GET, id, "").await {
            Ok(body) if !is_pending(&body) => {
                return Outcome::Ended(named_after(&deployment.target.instance, body));
            }
            Err(Fault { status: 404, .. }) => return Outcome::Lost,
            _ => {}
        }
    }
    Outcome::Lost
}

fn has_failed(body: &[u8]) -> bool {
    json::value_at(body, &["status"]).is_some_and(|range| &body[range] == b"\"failed\"")
}
