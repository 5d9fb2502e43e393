//! Counts the input tokens of a request without running it: by the provider if it has an endpoint for that, otherwise
//! locally.

use std::sync::Arc;

use bytes::Bytes;
use domain::fault::Fault;
use domain::usage::Usage;
use http::HeaderMap;
use serde_json::{Value, json};
use wire::codec;
use wire::formats;
use wire::vendors::Lifecycle;

use crate::accounting::estimate;
use crate::accounting::ticket::Ticket;
use crate::admission::Prepared;
use crate::call::arrival::Arrival;
use crate::call::receive::Call;
use crate::call::response_headers::Refused;
use crate::dispatch::provider_request::{self, ProviderRequest};
use crate::gateway::Gateway;
use crate::prepare::prepare;
use crate::routing::choose::SelectionMode;
use crate::routing::routes::Deployment;
use crate::services::body_work::SMALL_BODY;

/// The response headers, and the count in the client's format.
pub type Counted = (HeaderMap, Value);

/// `POST /v1/messages/count_tokens`.
pub async fn messages<B>(gateway: &Arc<Gateway>, arrival: Arrival, body: B) -> Result<Counted, Refused>
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    let path = |deployment: &Deployment| deployment.instance.vendor.paths.count_tokens.map(str::to_owned);
    count(gateway, arrival, body, path, |tokens| json!({"input_tokens": tokens, "estimated": true})).await
}

/// Gemini's `:countTokens`; always counted locally.
pub async fn gemini<B>(gateway: &Arc<Gateway>, arrival: Arrival, body: B) -> Result<Counted, Refused>
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    count(gateway, arrival, body, |_| None, |tokens| json!({"totalTokens": tokens, "estimated": true})).await
}

/// `POST /v1/responses/input_tokens`.
pub async fn responses<B>(gateway: &Arc<Gateway>, arrival: Arrival, body: B) -> Result<Counted, Refused>
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    let path = |deployment: &Deployment| {
        let paths = &deployment.instance.vendor.paths;
        let has = paths.lifecycle.contains(&Lifecycle::InputTokens);
        paths.responses.filter(|_| has).map(|path| format!("{path}/input_tokens"))
    };
    let counted =
        |tokens| json!({"object": "response.input_tokens", "input_tokens": tokens, "estimated": true});
    count(gateway, arrival, body, path, counted).await
}

async fn count<B>(
    gateway: &Arc<Gateway>,
    arrival: Arrival,
    body: B,
    path: impl Fn(&Deployment) -> Option<String>,
    counted: impl Fn(u64) -> Value,
) -> Result<Counted, Refused>
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    let mut ticket = Ticket::open(gateway, &arrival);
    let outcome = async {
        let prepared = prepare(gateway, &arrival, body, &mut ticket, SelectionMode::DryRun).await?;
        let Prepared { call, plan, .. } = prepared;
        let Some(deployment) = plan.first() else { return Err(domain::fault::internal_error()) };
        // The provider cannot read state that the gateway sealed for the client.
        let body = call.request.body.clone();
        let sealed = gateway.with_bytes(body.len(), move || codec::carries_sealed_state(&body)).await?;
        match path(deployment).filter(|_| !sealed) {
            Some(path) => count_at_provider(gateway, &call, deployment, &path).await,
            None => {
                let (model, body) = (deployment.target.model.clone(), call.request.body.clone());
                let count = move || estimate::prompt_tokens(&model, &body);
                // The tokenizer takes about a second for a few megabytes.
                let tokens = match call.request.body.len() <= SMALL_BODY {
                    true => count(),
                    false => gateway.body_work.run(&gateway.tasks, count).await?,
                };
                Ok(counted(tokens))
            }
        }
    };
    match outcome.await {
        Ok(value) => {
            // Nothing was generated, and counting is free.
            ticket.consumed(Usage::default(), b"");
            let mut headers = HeaderMap::new();
            ticket.holds.write_headers(&ticket.context, &mut headers);
            if ticket.audit.is_on() {
                ticket.audit.record_response(value.to_string().as_bytes());
            }
            ticket.complete();
            Ok((headers, value))
        }
        Err(fault) => Err(ticket.refuse(fault)),
    }
}

async fn count_at_provider(
    gateway: &Gateway,
    call: &Call,
    deployment: &Deployment,
    path: &str,
) -> Result<Value, Fault> {
    let format = call.surface.format();
    let body = formats::native(call.surface).splice(&call.request, &deployment.unstreamed_target());
    let request = ProviderRequest {
        path: deployment.instance.fill(path, &deployment.target.model),
        body,
        format,
        headers: call.forwarded.clone(),
        client_credential: deployment.client_credential.clone(),
        ..ProviderRequest::post()
    };
    let answer =
        provider_request::send(gateway, &deployment.target.instance, &deployment.instance, request).await?;
    serde_json::from_slice(&answer)
        .map_err(|_| domain::fault::upstream_invalid_response(&deployment.target.instance, "it is not JSON"))
}
