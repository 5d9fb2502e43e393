//! Guardrails that ask a webhook for its verdict on the texts of a request or an answer.

#[cfg(test)]
mod tests;

use std::time::Duration;

use bytes::Bytes;
use domain::canon::Role;
use domain::receipt::GuardedSubject;
use egress::Outbound;
use futures_util::future::join_all;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use serde::{Deserialize, Serialize};

use crate::call::context::CallContext;
use crate::gateway::Gateway;
use crate::guardrails::{CompiledGuardrail, RemoteText, RemoteVerdict, RemoteVerdicts, Step};
use crate::services::webhooks;

/// A verdict has the texts of the question at most, and some room for longer ones.
const ANSWER_ROOM: usize = 1 << 20;

/// The body of a question.
#[derive(Serialize)]
struct Question<'a> {
    guardrail: &'a str,
    /// `request` or `answer`.
    subject: &'static str,
    request_id: &'a str,
    user_path: &'a str,
    messages: Vec<QuestionMessage<'a>>,
}

#[derive(Serialize)]
struct QuestionMessage<'a> {
    role: &'static str,
    content: &'a str,
}

impl<'a> QuestionMessage<'a> {
    fn of(RemoteText { role, text }: &'a RemoteText) -> Self {
        Self { role: role_name(*role), content: text }
    }
}

/// The body of an answer.
#[derive(Deserialize)]
struct WebhookAnswer {
    action: Action,
    /// As many as in the question, if the action is `replace`.
    #[serde(default)]
    messages: Vec<AnswerMessage>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Action {
    Allow,
    Block,
    Replace,
}

#[derive(Deserialize)]
struct AnswerMessage {
    content: String,
}

/// Whether a guardrail of the step asks a webhook.
pub(crate) fn asks(step: &Step) -> bool {
    step.iter().any(|guardrail| guardrail.webhook().is_some())
}

/// Asks all webhooks of a step at the same time.
pub(crate) async fn ask_step(
    step: &Step,
    subject: GuardedSubject,
    context: &CallContext,
    texts: &[RemoteText],
) -> RemoteVerdicts {
    let (request_id, user_path) = (context.request_id.as_str(), &*context.owner().user_path);
    let asking = step.iter().filter(|guardrail| guardrail.webhook().is_some()).map(|guardrail| async {
        let facts = QuestionFacts { subject, request_id, user_path };
        (guardrail.name().to_owned(), ask(context.gateway(), guardrail, facts, texts).await)
    });
    join_all(asking).await.into_iter().collect()
}

/// The facts about a call that a question has.
#[derive(Clone, Copy)]
pub struct QuestionFacts<'a> {
    pub subject: GuardedSubject,
    pub request_id: &'a str,
    pub user_path: &'a str,
}

/// Asks the webhook of a guardrail. Everything but a readable answer in time is a failure.
pub async fn ask(
    gateway: &Gateway,
    guardrail: &CompiledGuardrail,
    facts: QuestionFacts<'_>,
    texts: &[RemoteText],
) -> RemoteVerdict {
    let Some(config) = guardrail.webhook() else { return RemoteVerdict::Allow };
    let limit = Duration::from_millis(config.timeout_ms);
    match tokio::time::timeout(limit, exchange(gateway, guardrail, &config.url, facts, texts)).await {
        Ok(Ok(verdict)) => verdict,
        Ok(Err(reason)) => RemoteVerdict::Failed(reason),
        Err(_) => RemoteVerdict::Failed(format!("no answer within {} ms", config.timeout_ms)),
    }
}

async fn exchange(
    gateway: &Gateway,
    guardrail: &CompiledGuardrail,
    url: &str,
    facts: QuestionFacts<'_>,
    texts: &[RemoteText],
) -> Result<RemoteVerdict, String> {
    let (destination, path_and_query) = webhooks::destination(url, &gateway.egress, gateway.admin_trust)?;
    let body = question(guardrail.name(), facts, texts)?;
    let limit = body.len() + ANSWER_ROOM;
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
        return Err(format!("it answered {}", status.as_u16()));
    }
    verdict(&body, texts)
}

fn question(name: &str, facts: QuestionFacts<'_>, texts: &[RemoteText]) -> Result<Bytes, String> {
    let question = Question {
        guardrail: name,
        subject: facts.subject.as_str(),
        request_id: facts.request_id,
        user_path: facts.user_path,
        messages: texts.iter().map(QuestionMessage::of).collect(),
    };
    serde_json::to_vec(&question).map(Bytes::from).map_err(|error| error.to_string())
}

fn verdict(body: &[u8], texts: &[RemoteText]) -> Result<RemoteVerdict, String> {
    // The text of the error could repeat parts of the answer.
    let answer: WebhookAnswer =
        serde_json::from_slice(body).map_err(|_| "its answer is no verdict".to_owned())?;
    match answer.action {
        Action::Allow => Ok(RemoteVerdict::Allow),
        Action::Block => Ok(RemoteVerdict::Block),
        Action::Replace if answer.messages.len() != texts.len() => {
            Err(format!("it answered {} messages to {}", answer.messages.len(), texts.len()))
        }
        Action::Replace => {
            let contents = answer.messages.into_iter().map(|message| message.content);
            Ok(RemoteVerdict::replace(texts, contents.collect()))
        }
    }
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
            Some((HeaderName::try_from(name).ok()?, HeaderValue::try_from(value).ok()?))
        })
        .collect();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::USER_AGENT, HeaderValue::from_static("gatehouse-guardrails"));
    headers
}
