//! The inspection of a request by the guardrails of its workflow: after its request limits were applied, and before
//! tokens and budgets are held.

use std::sync::Arc;

use bytes::Bytes;
use domain::call::Surface;
use domain::fault::{self, Fault};

use crate::accounting::ticket::Ticket;
use crate::admission::Prepared;
use crate::call::arrival::Arrival;
use crate::call::previous;
use crate::call::receive::{self, Call};
use crate::gateway::Gateway;
use crate::guardrails::{
    CallGuardrails, RequestChanges, RequestInspection, RequestToInspect, inspect_request,
    redact_recorded_request,
};

/// Passes a request through its guardrails, which may change or refuse it.
pub(crate) async fn inspect(
    gateway: &Gateway,
    arrival: &Arrival,
    prepared: Prepared,
    ticket: &mut Ticket,
) -> Result<Prepared, Fault> {
    match ticket.context.guardrails().cloned() {
        None => Ok(prepared),
        // Boxed, because most calls do not need this future and should not carry its size.
        Some(guardrails) => Box::pin(inspect_guarded(gateway, arrival, prepared, &guardrails, ticket)).await,
    }
}

async fn inspect_guarded(
    gateway: &Gateway,
    arrival: &Arrival,
    mut prepared: Prepared,
    guardrails: &Arc<CallGuardrails>,
    ticket: &mut Ticket,
) -> Result<Prepared, Fault> {
    refuse_uninspectable_answer(&prepared.call, guardrails.enforced_on_answers(), guardrails)?;
    let inspection = run_guardrails(gateway, &prepared.call, guardrails, ticket).await?;
    ticket.audit.record_verdicts(inspection.verdicts);
    let RequestChanges { history, placeholders } = inspection.outcome?;
    let restoring = guardrails.restoring().filter(|_| !placeholders.is_empty());
    refuse_uninspectable_answer(&prepared.call, restoring, guardrails)?;
    let is_redacted = prepared.call.has_inspectable_answer() && previous::history_is_known(&prepared.call);
    if !guardrails.record.is_empty() && !is_redacted {
        ticket.audit.omit_answer();
    }
    if let Some(body) = inspection.body {
        if body.len() as u64 > gateway.policy.body_limit {
            return Err(fault::request_too_large(gateway.policy.body_limit));
        }
        ticket.receipt.changed(&body);
        let changed = receive::parse(body, arrival, gateway).await?;
        prepared.call = prepared.call.change_request(changed);
    }
    set_history(&mut prepared.call, history);
    ticket.set_placeholders(placeholders);
    Ok(prepared)
}

/// Inspects a request, on a worker thread if it is large, and records its body as it is after that.
async fn run_guardrails(
    gateway: &Gateway,
    call: &Call,
    guardrails: &Arc<CallGuardrails>,
    ticket: &mut Ticket,
) -> Result<RequestInspection, Fault> {
    let (key, request, guardrails) = (ticket.context.placeholder_key(), to_inspect(call), guardrails.clone());
    let size = request.body.len() + request.history.iter().map(Bytes::len).sum::<usize>();
    let is_recorded = ticket.context.records_bodies();
    let work = move || {
        let (surface, original) = (request.surface, request.body.clone());
        let inspection = inspect_request(&guardrails.request, request, &key);
        let sent = inspection.recorded_body(&original).filter(|_| is_recorded);
        let recorded = sent.and_then(|sent| redact_recorded_request(&guardrails.record, surface, sent, &key));
        (inspection, recorded)
    };
    let (inspection, recorded) = gateway.with_bytes(size, work).await?;
    ticket.audit.inspected(recorded.as_ref());
    Ok(inspection)
}

/// The parts of a call that are inspected.
pub(crate) fn to_inspect(call: &Call) -> RequestToInspect {
    let history = call.previous.as_ref().map(|previous| previous.items.clone());
    RequestToInspect {
        surface: call.surface,
        body: call.request.body.clone(),
        history: history.unwrap_or_default(),
        edits_signed: false,
    }
}

/// Replaces the earlier turns of a call, if they have changed.
pub(crate) fn set_history(call: &mut Call, history: Option<Vec<Bytes>>) {
    if let (Some(previous), Some(history)) = (&mut call.previous, history) {
        previous.items = history;
    }
}

/// Refuses a call whose answer has to be inspected or changed and cannot be. `guardrail` is the name of one that has to
/// do that.
pub(crate) fn refuse_uninspectable_answer(
    call: &Call,
    guardrail: Option<&str>,
    guardrails: &CallGuardrails,
) -> Result<(), Fault> {
    let Some(name) = guardrail.filter(|_| !call.has_inspectable_answer()) else { return Ok(()) };
    match call.surface {
        Surface::Converse(_) if call.request.choices > 1 => {
            let message =
                format!("The guardrail '{name}' inspects answers, and only single ones: set n to 1.");
            Err(fault::invalid_parameter("n", message))
        }
        Surface::Converse(_) => {
            let message = format!(
                "The guardrail '{name}' inspects answers, and none that are made in the background: set background to false."
            );
            Err(fault::invalid_parameter("background", message))
        }
        _ => match guardrails.blocking_unreadable() {
            Some(name) => Err(fault::guardrail_blocked(name, "kind of call, whose answer is not inspected")),
            None => Ok(()),
        },
    }
}
