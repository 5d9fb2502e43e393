//! Log lines and console events about the failover of a call.

use std::sync::Arc;
use std::time::Duration;

use domain::fault::Fault;

use crate::accounting::ticket::Ticket;
use crate::routing::routes::Deployment;
use crate::services::console::Notice;

/// Reports that a call fails over to its next target.
pub fn fallback(from: &Arc<Deployment>, to: Option<&Arc<Deployment>>, ticket: &Ticket) {
    let Some(to) = to else { return };
    let gateway = ticket.gateway();
    let notice = Notice::Fallback {
        request_id: ticket.context.request_id.as_str().to_owned(),
        from: from.target.selector(),
        to: to.target.selector(),
        reason: ticket.receipt.last_error().unwrap_or_default().to_owned().into(),
    };
    tracing::debug!(
        request_id = ticket.context.request_id.as_str(),
        from = from.target.selector(),
        to = to.target.selector(),
        reason = ticket.receipt.last_error().unwrap_or_default(),
        "failing over to the next target"
    );
    gateway.console.notice(gateway.clock.now(), notice);
}

/// Logs a rejected credential, even if another target then serves the call: otherwise a revoked account goes unnoticed.
pub fn auth_failed(deployment: &Deployment, fault: &Fault, ticket: &Ticket) {
    tracing::warn!(
        request_id = ticket.context.request_id.as_str(),
        provider = &*deployment.target.instance,
        model = &*deployment.target.model,
        status = fault.upstream_status.map_or(fault.status, u16::from),
        reason = %fault.message,
        "provider rejected the gateway's credential"
    );
}

/// Logs the start of a cooldown.
pub fn cooldown(deployment: &Deployment, fault: &Fault, length: Duration) {
    tracing::info!(
        provider = &*deployment.target.instance,
        model = &*deployment.target.model,
        status = fault.upstream_status.map_or(fault.status, u16::from),
        code = %fault.code,
        cooldown = ?length,
        "cooldown started"
    );
}
