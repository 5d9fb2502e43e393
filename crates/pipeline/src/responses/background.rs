//! A response that is worked on in the background: its account stays open until the provider says what it took.

use std::time::Duration;

use bytes::Bytes;
use domain::fault::Fault;
use http::Method;
use wire::vendors::Lifecycle;

use super::keep::renew;
use super::lifecycle::{is_pending, named_after, native};
use super::told;
use crate::settle::Ticket;

/// How often a provider is asked, at first and at most; and how long one waits for it at all.
const SOON: Duration = Duration::from_millis(1500);
const SELDOM: Duration = Duration::from_secs(15);
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// A look at whether the gateway is stopping, in between.
const LOOK_UP: Duration = Duration::from_millis(250);

/// Only a provider that can be asked about its responses is waited for.
pub fn is_to_be_followed(ticket: &Ticket, body: &[u8]) -> bool {
    let can_be_asked = |ticket: &Ticket| {
        ticket.lane().is_some_and(|lane| lane.instance.vendor.paths.lifecycle.contains(&Lifecycle::Retrieve))
    };
    ticket.keeping().is_some() && is_pending(body) && can_be_asked(ticket)
}

/// Waits for the end in a task of its own and settles the call then: once, with the provider's figures.
pub fn follow(mut ticket: Box<Ticket>, id: String) {
    let tasks = ticket.gateway().tasks.clone();
    tasks.spawn(async move {
        if let Some(body) = ended(&ticket, &id).await {
            let (usage, raw) = told(&mut ticket, &body);
            ticket.consumed(usage.unwrap_or_default(), raw);
            if let Err(error) = renew(ticket.gateway(), &id, &body).await {
                tracing::warn!(%error, "the end of a response in the background could not be kept");
            }
        }
        ticket.complete();
    });
}

/// The response once it has come to an end; none when the gateway stops before, or the provider forgets it.
async fn ended(ticket: &Ticket, id: &str) -> Option<Bytes> {
    let lane = ticket.lane()?.clone();
    let (mut waited, mut pause) = (Duration::ZERO, SOON);
    while waited < LONGEST {
        for _ in 0..(pause.as_millis() / LOOK_UP.as_millis()) {
            tokio::time::sleep(LOOK_UP).await;
            if ticket.gateway().tasks.is_closed() {
                return None;
            }
        }
        waited += pause;
        pause = (pause * 2).min(SELDOM);
        let place = (&*lane.target.instance, &*lane.instance);
        match native(ticket.gateway(), place, Lifecycle::Retrieve, Method::GET, id, "").await {
            Ok(body) if !is_pending(&body) => return Some(named_after(&lane.target.instance, body)),
            Err(Fault { status: 404, .. }) => return None,
            _ => {}
        }
    }
    None
}
