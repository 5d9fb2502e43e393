//! Remote guardrails: those of a step are asked at the same time, each by a webhook or by a model.

use domain::receipt::GuardedSubject;
use futures_util::future::join_all;

use crate::guardrail_model;
use crate::guardrail_webhook::{self, WebhookFacts};
use crate::guardrails::{CompiledGuardrail, RemoteText, RemoteVerdict, RemoteVerdicts, Step};
use crate::internal_call::InternalCaller;

/// Whether a guardrail of the step is remote.
pub(crate) fn has_remote(step: &Step) -> bool {
    step.iter().any(|guardrail| guardrail.is_remote())
}

/// Asks all remote guardrails of a step at the same time.
pub(crate) async fn ask_step(
    step: &Step,
    subject: GuardedSubject,
    caller: &InternalCaller,
    texts: &[RemoteText],
) -> RemoteVerdicts {
    let remote = step.iter().filter(|guardrail| guardrail.is_remote());
    let asking = remote.map(|guardrail| async {
        (guardrail.name().to_owned(), ask(guardrail, subject, caller, texts).await)
    });
    join_all(asking).await.into_iter().collect()
}

/// Asks a remote guardrail about texts. Everything but a usable verdict in time is a failure.
pub async fn ask(
    guardrail: &CompiledGuardrail,
    subject: GuardedSubject,
    caller: &InternalCaller,
    texts: &[RemoteText],
) -> RemoteVerdict {
    if let Some(altering) = guardrail.altering() {
        return guardrail_model::alter_texts(altering, caller, texts).await;
    }
    let (request_id, user_path) = (caller.request_id.as_str(), &*caller.user_path);
    let facts = WebhookFacts { subject, request_id, user_path };
    guardrail_webhook::call_webhook(caller.gateway(), guardrail, facts, texts).await
}
