//! Compaction of a conversation, which only a provider can do.

use std::sync::Arc;

use bytes::Bytes;
use domain::call::{Format, Surface};
use domain::fault::{self, Fault};
use http::HeaderMap;
use wire::formats;
use wire::vendors::Lifecycle;

use crate::accounting::ticket::Ticket;
use crate::admission::admit;
use crate::call::arrival::Arrival;
use crate::call::response_headers::Refused;
use crate::dispatch::provider_request::{self, ProviderRequest};
use crate::gateway::Gateway;
use crate::prepare::prepare;
use crate::responses::{read_usage, unsupported};
use crate::routing::choose::SelectionMode;
use crate::routing::resolve::Plan;
use crate::routing::routes::Deployment;

pub async fn compact<B>(
    gateway: &Arc<Gateway>,
    arrival: Arrival,
    body: B,
) -> Result<(HeaderMap, Bytes), Refused>
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    let mut ticket = Ticket::open(gateway, &arrival);
    let outcome = async {
        let prepared = prepare(gateway, &arrival, body, &mut ticket, SelectionMode::DryRun).await?;
        served(&prepared.plan)?;
        refuse_filtered(&mut ticket)?;
        // Forwarded as received: this operation has no output limit.
        let request = prepared.call.request.clone();
        let (prepared, reservation) = admit(gateway, arrival.request_id.number(), prepared, &mut ticket)?;
        ticket.holds.confirm_tokens(&ticket.context).await?;
        let (deployment, base) = served(&prepared.plan)?;
        ticket.record_sent(deployment, &reservation);
        let provider_request = ProviderRequest {
            path: deployment.instance.fill(&format!("{base}/compact"), &deployment.target.model),
            body: formats::native(Surface::Converse(Format::Responses))
                .splice(&request, &deployment.unstreamed_target()),
            format: Format::Responses,
            headers: prepared.call.forwarded.clone(),
            timeout: ticket.context.policy().total_timeout(&deployment.instance.limits),
            ..ProviderRequest::post()
        };
        provider_request::send(gateway, &deployment.target.instance, &deployment.instance, provider_request)
            .await
    };
    match outcome.await {
        Ok(answer) => {
            ticket.audit.record_response(&answer);
            if let (Some(usage), raw) = read_usage(&mut ticket, &answer) {
                ticket.consumed(usage, raw);
            }
            let mut headers = HeaderMap::new();
            ticket.holds.write_headers(&ticket.context, &mut headers);
            if let Some(counted) = ticket.complete() {
                let _ = counted.await;
            }
            Ok((headers, answer))
        }
        Err(fault) => Err(ticket.refuse(fault)),
    }
}

/// Refuses the call if its answer would have to be inspected or changed, which it cannot be.
fn refuse_filtered(ticket: &mut Ticket) -> Result<(), Fault> {
    let Some(guardrails) = ticket.context.guardrails() else { return Ok(()) };
    if let Some(name) = guardrails.required_for_answer(ticket.context.placeholders().is_some()) {
        return Err(fault::guardrail_blocked(name, "kind of call, whose answer is not inspected"));
    }
    if !guardrails.record.is_empty() {
        ticket.audit.omit_answer();
    }
    Ok(())
}

/// The first target and its path for responses; an error if it does not support compaction.
fn served(plan: &Plan) -> Result<(&Arc<Deployment>, &'static str), Fault> {
    let deployment = plan.first().ok_or_else(fault::internal_error)?;
    let paths = &deployment.instance.vendor.paths;
    let base = paths.responses.filter(|_| paths.lifecycle.contains(&Lifecycle::Compact));
    Ok((deployment, base.ok_or_else(|| unsupported(Lifecycle::Compact, &deployment.target.instance))?))
}
