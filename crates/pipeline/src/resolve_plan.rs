//! The targets of a call and its policy: resolution by the configuration, and the order in which targets are tried.

use domain::fault::Fault;
use domain::principal::Principal;
use domain::user_path::UserPath;

use crate::accounting::ticket::Ticket;
use crate::call::arrival::Arrival;
use crate::call::receive::Call;
use crate::gateway::Gateway;
use crate::routing::choose::{SelectionContext, SelectionMode};
use crate::routing::resolve::access::Access;
use crate::routing::resolve::{self, Plan};
use crate::snapshot::Snapshot;

/// Resolves the targets of a call and its policy, and ranks the targets.
pub(crate) fn resolve_plan(
    gateway: &Gateway,
    snapshot: &Snapshot,
    (principal, user_path): (&Principal, &UserPath),
    arrival: &Arrival,
    call: &Call,
    ticket: &mut Ticket,
    mode: SelectionMode,
) -> Result<Plan, Fault> {
    let access = Access::new(&gateway.policy, &snapshot.routes, principal, user_path);
    let asking = call.asking(access, arrival, &gateway.policy)?;
    let mut steps = ticket.audit.is_on().then(Vec::new);
    let resolved = resolve::resolve(&asking, &mut steps);
    ticket.audit.record_journey(|journey| journey.steps = steps.unwrap_or_default());
    let resolved = resolved?;
    ticket.resolve_policy(call, &resolved.primary().target, user_path)?;
    ticket.receipt.resolved(&snapshot.routes.names);
    let policy = ticket.context.policy();
    let resolved = resolved.with_options(&policy.routing, policy.features.fallback);
    let plan = resolved.plan(|| SelectionContext {
        warm: call.warm_target(&ticket.context, arrival.session_id()),
        ..call.selection(gateway, arrival.request_id.number(), mode)
    });
    let plan = match &arrival.client_credential {
        Some(credential) => credential.apply(plan),
        None => plan,
    };
    ticket.record_plan(&plan);
    Ok(plan)
}
