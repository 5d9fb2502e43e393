//! What happens on a call's way, said on the console.

use std::sync::Arc;

use crate::gateway::Gateway;
use crate::health::Transition;
use crate::settle::Ticket;
use crate::snapshot::routes::Lane;

/// A call goes on to its next target.
pub fn fallback(from: &Arc<Lane>, to: Option<&Arc<Lane>>, ticket: &Ticket) {
    let Some(to) = to else { return };
    let reason = ticket.last_error().unwrap_or_default();
    tracing::debug!(
        request_id = ticket.request_id.as_str(),
        from = from.target.selector(),
        to = to.target.selector(),
        reason,
        "call moves on"
    );
}

/// A breaker has opened or closed.
pub fn transition(lane: &Lane, transition: Option<Transition>, gateway: &Gateway) {
    let Some(transition) = transition else { return };
    let _ = gateway;
    let provider = lane.target.selector();
    match transition {
        Transition::Opened => tracing::warn!(provider, "a target fails repeatedly and is given a pause"),
        Transition::Closed => tracing::info!(provider, "a target has recovered"),
    }
}
