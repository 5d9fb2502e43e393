//! Webhooks of guardrails: the texts of a request or an answer are posted to a server, which decides about them.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::canon::Role;
use domain::receipt::GuardedSubject;
use egress::{Destination, Outbound};
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use serde::{Deserialize, Serialize};

use crate::gateway::Gateway;
use crate::guardrails::{CompiledGuardrail, RemoteText, RemoteVerdict, WebhookCheck};
use crate::services::webhooks;

/// The most bytes of a response beyond those of the request.
const RESPONSE_SIZE_MARGIN: usize = 1 << 20;

/// The body of a request to a webhook.
#[derive(Serialize)]
struct WebhookRequest<'a> {
    guardrail: &'a str,
    /// `request` or `answer`.
    subject: &'static str,
    request_id: &'a str,
    user_path: &'a str,
    messages: Vec<RequestMessage<'a>>,
}

#[derive(Serialize)]
struct RequestMessage<'a> {
    role: &'static str,
    content: &'a str,
    /// `json` for a content that is JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<&'static str>,
}

impl<'a> RequestMessage<'a> {
    fn of(RemoteText { role, text, is_json, .. }: &'a RemoteText) -> Self {
        Self { role: role_name(*role), content: text, format: is_json.then_some("json") }
    }
}

/// The body of a response of a webhook.
#[derive(Deserialize)]
struct WebhookResponse {
    action: Action,
    /// As many as in the request, if the action is `replace`.
    #[serde(default)]
    messages: Vec<ResponseMessage>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Action {
    Allow,
    Block,
    Replace,
}

#[derive(Deserialize)]
struct ResponseMessage {
    content: String,
}

/// The facts about a call that a webhook gets.
#[derive(Clone, Copy)]
pub struct WebhookFacts<'a> {
    pub subject: GuardedSubject,
    pub request_id: &'a str,
    pub user_path: &'a str,
}

/// Calls the webhook of a guardrail. Everything but a readable response in time is a failure.
pub async fn call_webhook(
    gateway: &Gateway,
    guardrail: &CompiledGuardrail,
    facts: WebhookFacts<'_>,
    texts: &[RemoteText],
) -> RemoteVerdict {
    let Some(webhook) = guardrail.webhook() else { return RemoteVerdict::Allow };
    let timeout_ms = webhook.config.timeout_ms;
    let limit = Duration::from_millis(timeout_ms);
    match tokio::time::timeout(limit, exchange(gateway, guardrail, webhook, facts, texts)).await {
        Ok(Ok(verdict)) => verdict,
        Ok(Err(reason)) => RemoteVerdict::Failed(reason),
        Err(_) => RemoteVerdict::Failed(format!("the webhook did not respond within {timeout_ms} ms")),
    }
}

async fn exchange(
    gateway: &Gateway,
    guardrail: &CompiledGuardrail,
    webhook: &WebhookCheck,
    facts: WebhookFacts<'_>,
    texts: &[RemoteText],
) -> Result<RemoteVerdict, String> {
    let (destination, path_and_query) = destination(gateway, webhook)?;
    let body = request_body(guardrail.name(), facts, texts)?;
    let limit = body.len() + RESPONSE_SIZE_MARGIN;
    let request = Outbound {
        destination,
        method: Method::POST,
        path_and_query,
        headers: headers(guardrail).into(),
        body: vec![body].into(),
    };
    let answer = gateway.egress.send(request).await.map_err(|error| error.reason().to_owned())?;
    let status = answer.status;
    let body = answer.body.collect(limit).await.map_err(|error| error.reason().to_owned())?;
    if !status.is_success() {
        return Err(format!("the webhook returned HTTP {}", status.as_u16()));
    }
    verdict(&body, texts)
}

fn request_body(name: &str, facts: WebhookFacts<'_>, texts: &[RemoteText]) -> Result<Bytes, String> {
    let question = WebhookRequest {
        guardrail: name,
        subject: facts.subject.as_str(),
        request_id: facts.request_id,
        user_path: facts.user_path,
        messages: texts.iter().map(RequestMessage::of).collect(),
    };
    serde_json::to_vec(&question).map(Bytes::from).map_err(|error| error.to_string())
}

fn verdict(body: &[u8], texts: &[RemoteText]) -> Result<RemoteVerdict, String> {
    // The text of the error could repeat parts of the response.
    let answer: WebhookResponse = serde_json::from_slice(body)
        .map_err(|_| "the response of the webhook is not a valid verdict".to_owned())?;
    match answer.action {
        Action::Allow => Ok(RemoteVerdict::Allow),
        Action::Block => Ok(RemoteVerdict::Block),
        Action::Replace if answer.messages.len() != texts.len() => {
            let (count, expected) = (answer.messages.len(), texts.len());
            Err(format!("the webhook returned {count} messages, and {expected} were expected"))
        }
        Action::Replace => {
            let contents = answer.messages.into_iter().map(|message| message.content);
            Ok(RemoteVerdict::replace(texts, contents.collect()))
        }
    }
}

/// The destination of a webhook, with the path and query of its URL.
fn destination(gateway: &Gateway, webhook: &WebhookCheck) -> Result<(Arc<Destination>, String), String> {
    if let Some(known) = webhook.destination.get() {
        return Ok(known.clone());
    }
    let found = webhooks::destination(&webhook.config.url, &gateway.egress, gateway.admin_trust)?;
    Ok(webhook.destination.get_or_init(|| found).clone())
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::System => "system",
        Role::Developer => "developer",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    }
}

fn headers(guardrail: &CompiledGuardrail) -> HeaderMap {
    let own = guardrail.document().headers.iter();
    let mut headers: HeaderMap = own
        .filter_map(|(name, value)| {
            let mut value = HeaderValue::try_from(value).ok()?;
            value.set_sensitive(true);
            Some((HeaderName::try_from(name).ok()?, value))
        })
        .collect();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::USER_AGENT, HeaderValue::from_static("gatehouse-guardrails"));
    headers
}
