//! A response that is worked on in the background: its account stays open until the provider says what it took.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::fault::Fault;
use domain::receipt::Receipt;
use domain::usage::Usage;
use http::Method;
use tokio::sync::watch;
use wire::json;
use wire::vendors::Lifecycle;

use super::keep::renew;
use super::lifecycle::{is_pending, is_pending_object, named_after, native};
use super::told;
use crate::gateway::Gateway;
use crate::settle::Ticket;

/// How often a provider is asked, at first and at most; and how long one waits for it at all.
const SOON: Duration = Duration::from_millis(1500);
const SELDOM: Duration = Duration::from_secs(15);
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// How often the responses of processes that are gone are looked for.
const TAKE_OVER: Duration = Duration::from_secs(1);

/// A look at whether the gateway is stopping, in between.
const LOOK_UP: Duration = Duration::from_millis(250);

/// Only a provider that can be asked about its responses is waited for.
pub fn is_to_be_followed(ticket: &Ticket, body: &[u8], object: &json::Object) -> bool {
    ticket.keeping().is_some() && is_pending_object(body, object) && can_be_asked(ticket)
}

/// Whether a streamed response goes on at its provider although its client has gone.
pub fn goes_on(ticket: &Ticket) -> bool {
    let asked = || {
        let body = ticket.prompt();
        let value = json::scan(body).ok().and_then(|object| object.value(body, "background"));
        value.is_some_and(|range| &body[range] == b"true")
    };
    ticket.keeping().is_some() && can_be_asked(ticket) && asked()
}

fn can_be_asked(ticket: &Ticket) -> bool {
    ticket.lane().is_some_and(|lane| lane.instance.vendor.paths.lifecycle.contains(&Lifecycle::Retrieve))
}

/// Waits for the end in a task of its own and settles the call then: once, with the provider's figures. Until then the
/// call is open in the journal; a gateway that stops leaves it to the next one.
pub fn follow(ticket: Box<Ticket>, id: String) {
    ticket.note_following(&id);
    wait(ticket, id);
}

/// Goes on with the background responses of processes that are gone, until the gateway stops.
pub async fn run(gateway: Arc<Gateway>, mut stop: watch::Receiver<bool>) {
    while !*stop.borrow() {
        take_over(&gateway);
        let _ = tokio::time::timeout(TAKE_OVER, stop.wait_for(|stop| *stop)).await;
    }
}

/// Follows the background responses that this process has taken over. Without their provider they are charged as
/// interrupted calls are: at their reservation.
pub fn take_over(gateway: &Arc<Gateway>) {
    for opening in gateway.journal.take_followed() {
        let id = opening.follow.clone().unwrap_or_default();
        tracing::info!(provider = opening.provider_name, response = id, "following a background response");
        let instance = gateway.snapshot().routes.instances.get(&opening.provider_name).cloned();
        match instance {
            Some(instance) => {
                let lane = instance.passing_lane(&opening.model);
                wait(Ticket::take_over(gateway, opening, lane), id);
            }
            None => {
                let receipt = Receipt::interrupted(opening);
                if let Err(error) = gateway.journal.close_call(&receipt) {
                    tracing::error!(%error, "journal write failed; the receipt is kept in memory");
                    gateway.unwritten.keep(receipt);
                }
            }
        }
    }
}

/// How the wait for a response came out.
enum Outcome {
    Ended(Bytes),
    /// The provider does not know it any more, or takes too long.
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
                let (usage, raw) = told(&mut ticket, &body);
                match usage {
                    Some(usage) => ticket.consumed(usage, raw),
                    // Providers do not bill what failed; what was cancelled had begun.
                    None if has_failed(&body) => ticket.consumed(Usage::default(), b""),
                    None => ticket.charge_reservation(),
                }
                if let Err(error) = renew(ticket.gateway(), &id, &body).await {
                    tracing::warn!(%error, "the end of a response in the background could not be kept");
                }
            }
        }
        ticket.complete();
    });
}

/// Asks the provider from time to time until the response has come to an end.
async fn ended(ticket: &Ticket, id: &str) -> Outcome {
    let Some(lane) = ticket.lane().cloned() else { return Outcome::Lost };
    let (mut waited, mut pause) = (Duration::ZERO, SOON);
    while waited < LONGEST {
        for _ in 0..(pause.as_millis() / LOOK_UP.as_millis()) {
            tokio::time::sleep(LOOK_UP).await;
            if ticket.gateway().tasks.is_closed() {
                return Outcome::Stopped;
            }
        }
        waited += pause;
        pause = (pause * 2).min(SELDOM);
        let place = (&*lane.target.instance, &*lane.instance);
        match native(ticket.gateway(), place, Lifecycle::Retrieve, Method::GET, id, "").await {
            Ok(body) if !is_pending(&body) => {
                return Outcome::Ended(named_after(&lane.target.instance, body));
            }
            Err(Fault { status: 404, .. }) => return Outcome::Lost,
            _ => {}
        }
    }
    Outcome::Lost
}

fn has_failed(body: &[u8]) -> bool {
    let status = json::scan(body).ok().and_then(|object| object.value(body, "status"));
    status.is_some_and(|range| &body[range] == b"\"failed\"")
}
