//! The inspection of a request by the guardrails of its workflow: after its request limits were applied, and before
//! tokens and budgets are held.

use std::sync::Arc;

use ::guardrails::placeholder::ScopeKey;
use bytes::Bytes;
use domain::call::Surface;
use domain::fault::{self, Fault};
use domain::receipt::GuardedSubject;

use crate::accounting::ticket::Ticket;
use crate::admission::Prepared;
use crate::call::arrival::Arrival;
use crate::call::previous;
use crate::call::receive::{self, Call};
use crate::gateway::Gateway;
use crate::guardrails::{
    CallGuardrails, RemoteVerdicts, RequestChanges, RequestInspection, RequestInspector, RequestToInspect,
    redact_recorded_request,
};
use crate::internal_call::InternalCaller;
use crate::remote_guardrails;

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
        Some(guardrails) => {
            let Prepared { call, .. } = prepared;
            let call = Box::pin(inspect_call(gateway, arrival, call, &guardrails, ticket)).await?;
            Ok(Prepared { call, ..prepared })
        }
    }
}

/// Passes the request of a call through guardrails. The ticket has those of the answer afterwards.
pub(crate) async fn inspect_call(
    gateway: &Gateway,
    arrival: &Arrival,
    call: Box<Call>,
    guardrails: &Arc<CallGuardrails>,
    ticket: &mut Ticket,
) -> Result<Box<Call>, Fault> {
    let request = request_to_inspect(gateway, &call, guardrails)?;
    let begun = ticket.audit.is_on().then(|| ticket.context.now());
    let mut inspection = run_guardrails(gateway, request, guardrails, ticket).await?;
    ticket.record_inspection(begun);
    ticket.record_verdicts(std::mem::take(&mut inspection.verdicts));
    let (body, changes) = accept_changes(gateway, &call, guardrails, inspection)?;
    let is_redacted = call.has_inspectable_answer() && previous::history_is_known(&call);
    if !guardrails.record.is_empty() && !is_redacted {
        ticket.audit.omit_answer();
    }
    let changed = match body {
        None => None,
        Some(body) => {
            ticket.receipt.changed(&body);
            Some(receive::parse(body, arrival, gateway).await?)
        }
    };
    let has_placeholders = !changes.placeholders.is_empty();
    let call = apply_changes(call, changed, changes.history, guardrails, has_placeholders);
    if call.holds_answer {
        ticket.hold_answer();
    }
    ticket.set_placeholders(changes.placeholders);
    Ok(call)
}

/// Inspects a request, on a worker thread if it is large or a classifier scores it, and records its body as it is after
/// that.
async fn run_guardrails(
    gateway: &Gateway,
    request: RequestToInspect,
    guardrails: &Arc<CallGuardrails>,
    ticket: &mut Ticket,
) -> Result<RequestInspection, Fault> {
    let (key, guardrails) = (ticket.context.placeholder_key().clone(), guardrails.clone());
    let size = request.scanned_bytes();
    let is_recorded = ticket.context.records_bodies();
    let (surface, original) = (request.surface, request.body.clone());
    let inspector = match guardrails.has_remote_on_requests() {
        true => inspect_with_remote(request, &guardrails, &key, ticket).await?,
        false => RequestInspector::new(request),
    };
    let work = move || {
        let inspection = inspector.inspect_rest(&guardrails.request, &key);
        let sent = inspection.recorded_body(&original).filter(|_| is_recorded);
        let recorded = sent.and_then(|sent| redact_recorded_request(&guardrails.record, surface, sent, &key));
        (inspection, recorded)
    };
    let (inspection, recorded) = run_sized(gateway, size, work).await?;
    ticket.audit.inspected(recorded.as_ref());
    Ok(inspection)
}

/// Runs work on a request of this size; `None` is one that a classifier scores.
async fn run_sized<T: Send + 'static>(
    gateway: &Gateway,
    size: Option<usize>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Fault> {
    match size {
        Some(size) => gateway.with_bytes(size, work).await,
        None => Box::pin(gateway.body_work.run_classifier(&gateway.tasks, work)).await,
    }
}

/// Inspects a request up to the last step with a remote guardrail.
async fn inspect_with_remote(
    request: RequestToInspect,
    guardrails: &Arc<CallGuardrails>,
    key: &ScopeKey,
    ticket: &mut Ticket,
) -> Result<RequestInspector, Fault> {
    let gateway = ticket.gateway().clone();
    let size = request.scanned_bytes();
    let mut inspector = RequestInspector::new(request);
    let last = guardrails.request.iter().rposition(remote_guardrails::has_remote).map_or(0, |last| last + 1);
    for index in 0..last {
        let step = &guardrails.request[index];
        let mut verdicts = RemoteVerdicts::default();
        if remote_guardrails::has_remote(step) && !inspector.is_refused() {
            let work = move || (inspector.texts(), inspector);
            let texts;
            (texts, inspector) = run_sized(&gateway, size, work).await?;
            let begun = ticket.context.now();
            let (subject, caller) = (GuardedSubject::Request, InternalCaller::of(ticket));
            verdicts = remote_guardrails::ask_step(step, subject, &caller, &texts).await;
            ticket.receipt.waited(ticket.context.now().saturating_sub(begun));
        }
        let (guardrails, key) = (guardrails.clone(), key.clone());
        let work = move || {
            inspector.inspect(&guardrails.request[index], &key, verdicts);
            inspector
        };
        inspector = run_sized(&gateway, size, work).await?;
    }
    Ok(inspector)
}

/// The parts of a call that are inspected. Refuses a call whose answer has to be inspected and cannot be.
pub(crate) fn request_to_inspect(
    gateway: &Gateway,
    call: &Call,
    guardrails: &CallGuardrails,
) -> Result<RequestToInspect, Fault> {
    refuse_uninspectable_answer(call, false, guardrails)?;
    let history = call.previous.as_ref().map(|previous| previous.items.clone());
    Ok(RequestToInspect {
        surface: call.surface,
        body: call.request.body.clone(),
        object: Some(call.request.object.clone()),
        history: history.unwrap_or_default(),
        edits_signed: false,
        classifier: guardrails.uses_classifier().then(|| gateway.classifier()).flatten(),
    })
}

/// The changed body of an inspected request and its other changes. Refuses a call that its guardrails refuse, whose
/// placeholders cannot be restored, or whose changed body is too large.
pub(crate) fn accept_changes(
    gateway: &Gateway,
    call: &Call,
    guardrails: &CallGuardrails,
    inspection: RequestInspection,
) -> Result<(Option<Bytes>, RequestChanges), Fault> {
    let changes = inspection.outcome?;
    refuse_uninspectable_answer(call, !changes.placeholders.is_empty(), guardrails)?;
    let limit = gateway.policy.body_limit;
    match inspection.body {
        Some(body) if body.len() as u64 > limit => Err(fault::request_too_large(limit)),
        body => Ok((body, changes)),
    }
}

/// Replaces the request of a call and its earlier turns, if they have changed. `changed` is the parsed new request.
pub(crate) fn apply_changes(
    call: Box<Call>,
    changed: Option<Box<Call>>,
    history: Option<Vec<Bytes>>,
    guardrails: &CallGuardrails,
    has_placeholders: bool,
) -> Box<Call> {
    let mut call = match changed {
        Some(changed) => call.change_request(changed),
        None => call,
    };
    call.holds_answer =
        guardrails.has_remote_on_answers() && answer_is_inspected(&call, guardrails, has_placeholders);
    if let (Some(previous), Some(history)) = (&mut call.previous, history) {
        previous.items = history;
    }
    call
}

/// Whether the answer is inspected. One of a conversation that only its provider knows is, if a guardrail requires it.
fn answer_is_inspected(call: &Call, guardrails: &CallGuardrails, has_placeholders: bool) -> bool {
    let is_possible =
        guardrails.required_for_answer(has_placeholders).is_some() || previous::history_is_known(call);
    matches!(call.surface, Surface::Converse(_)) && call.has_inspectable_answer() && is_possible
}

/// Refuses a call whose answer has to be inspected or changed and cannot be.
fn refuse_uninspectable_answer(
    call: &Call,
    has_placeholders: bool,
    guardrails: &CallGuardrails,
) -> Result<(), Fault> {
    let required = guardrails.required_for_answer(has_placeholders);
    let Some(name) = required.filter(|_| !call.has_inspectable_answer()) else { return Ok(()) };
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
