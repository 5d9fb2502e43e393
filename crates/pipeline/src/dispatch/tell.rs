//! Log lines and console events about the failover of a call.

use std::sync::Arc;
use std::time::Duration;

use domain::fault::Fault;

use crate::accounting::settle::Ticket;
use crate::gateway::Gateway;
use crate::routing::health::Transition;
use crate::routing::routes::Lane;
use crate::services::console::Notice;

/// Reports that a call fails over to its next target.
pub fn fallback(from: &Arc<Lane>, to: Option<&Arc<Lane>>, ticket: &Ticket) {
    let Some(to) = to else { return };
    let gateway = ticket.gateway();
    let notice = Notice::Fallback {
        request_id: ticket.request_id.as_str().to_owned(),
        from: from.target.selector(),
        to: to.target.selector(),
        reason: ticket.last_error().unwrap_or_default().to_owned().into(),
    };
    tracing::debug!(
        request_id = ticket.request_id.as_str(),
        from = from.target.selector(),
        to = to.target.selector(),
        reason = ticket.last_error().unwrap_or_default(),
        "failing over to the next target"
    );
    gateway.console.say(gateway.clock.now(), notice);
}

/// Logs a rejected credential, even if another target then serves the call: otherwise a revoked account goes unnoticed.
pub fn auth_failed(lane: &Lane, fault: &Fault, ticket: &Ticket) {
    tracing::warn!(
        request_id = ticket.request_id.as_str(),
        provider = &*lane.target.instance,
        model = &*lane.target.model,
        status = fault.upstream_status.map_or(fault.status, u16::from),
        reason = %fault.message,
        "provider rejected the gateway's credential"
    );
}

/// Logs the start of a cooldown.
pub fn cooldown(lane: &Lane, fault: &Fault, length: Duration) {
    tracing::info!(
        provider = &*lane.target.instance,
        model = &*lane.target.model,
        status = fault.upstream_status.map_or(fault.status, u16::from),
        code = %fault.code,
        cooldown = ?length,
        "cooldown started"
    );
}

/// Reports that a circuit breaker has opened or closed.
pub fn transition(lane: &Lane, transition: Option<Transition>, gateway: &Gateway) {
    let Some(transition) = transition else { return };
    let (provider, model) = (&*lane.target.instance, &*lane.target.model);
    let health = lane.health.view(gateway.clock.tick());
    let state = match transition {
        Transition::Opened => {
            let failures = health.consecutive_failures;
            let open_for = health.open_for.unwrap_or_default();
            tracing::warn!(provider, model, failures, ?open_for, "circuit breaker opened");
            "open"
        }
        Transition::Closed => {
            tracing::info!(provider, model, "circuit breaker closed");
            "closed"
        }
    };
    let notice = Notice::Breaker {
        provider_name: lane.target.instance.to_string(),
        model: lane.target.model.to_string(),
        state,
    };
    gateway.console.say(gateway.clock.now(), notice);
}
