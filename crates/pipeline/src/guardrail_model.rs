//! Guardrails of the type `llm_based_altering`: a model is given each text with instructions, and its answer takes the
//! place of the text.

use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use domain::canon::{Content, Reply, StopReason};
use domain::fault::Fault;
use domain::resources::guardrail::AlteringConfig;
use futures_util::future::join_all;
use serde_json::json;

use crate::guardrails::{RemoteText, RemoteVerdict, includes_role};
use crate::internal_call::{self, InternalCall, InternalCaller};

/// The endpoint in the receipts of these calls.
pub const ENDPOINT: &str = "/internal/guardrails";

/// The time for all texts of a request or an answer together.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// The texts that are given to the model at the same time.
const PARALLEL_TEXTS: usize = 8;

/// The most texts of a request or an answer that are given to the model.
const MOST_TEXTS: usize = 200;

/// Lets the model alter texts. A failure with one text is a failure of the guardrail.
pub async fn alter_texts(
    config: &AlteringConfig,
    caller: &InternalCaller,
    texts: &[RemoteText],
) -> RemoteVerdict {
    let chosen: Vec<usize> = (0..texts.len()).filter(|index| is_altered(config, &texts[*index])).collect();
    if let Some(reason) = too_many(chosen.len()) {
        return RemoteVerdict::Failed(reason);
    }
    let mut replacements: Vec<Option<String>> = vec![None; texts.len()];
    let clock = &caller.gateway().clock;
    let deadline = clock.tick() + TIME_LIMIT;
    for indices in chosen.chunks(PARALLEL_TEXTS) {
        let timeout = deadline.saturating_sub(clock.tick());
        if timeout.is_zero() {
            let seconds = TIME_LIMIT.as_secs();
            return RemoteVerdict::Failed(format!("the texts were not altered within {seconds} s"));
        }
        let altering = indices.iter().map(|index| alter(config, caller, &texts[*index], timeout));
        for (index, altered) in indices.iter().zip(join_all(altering).await) {
            match altered {
                Ok(text) => replacements[*index] = (text != texts[*index].text).then_some(text),
                Err(reason) => return RemoteVerdict::Failed(reason),
            }
        }
    }
    match replacements.iter().all(Option::is_none) {
        true => RemoteVerdict::Allow,
        false => RemoteVerdict::Replace(replacements),
    }
}

/// The reason why so many texts are not altered; `None` if they are.
fn too_many(texts: usize) -> Option<String> {
    let reason =
        || format!("there are {texts} texts to alter, and at most {MOST_TEXTS} are given to the model");
    (texts > MOST_TEXTS).then(reason)
}

/// Whether a text is given to the model. One that a signature covers cannot be replaced.
fn is_altered(config: &AlteringConfig, text: &RemoteText) -> bool {
    let prefix = &config.skip_content_prefix;
    let is_skipped = !prefix.is_empty() && text.text.starts_with(&**prefix);
    includes_role(&config.roles, text.role) && !is_skipped && !text.is_signed && !text.text.trim().is_empty()
}

async fn alter(
    config: &AlteringConfig,
    caller: &InternalCaller,
    text: &RemoteText,
    timeout: Duration,
) -> Result<String, String> {
    let call = InternalCall { endpoint: ENDPOINT, body: request_body(config, text), timeout };
    // A trait object: the call contains a whole dispatch, and this future is part of those of other calls.
    let completing: Pin<Box<dyn Future<Output = Result<Reply, Fault>> + Send + '_>> =
        Box::pin(internal_call::complete(caller, call));
    let reply =
        completing.await.map_err(|fault| format!("the call of the model failed: {}", fault.message))?;
    answered_text(&reply, config.max_tokens)
}

fn request_body(config: &AlteringConfig, text: &RemoteText) -> Bytes {
    let mut instructions = config.prompt.clone();
    if text.is_json {
        instructions.push_str("\n\nThe text is JSON. Answer with JSON alone.");
    }
    let messages = json!([
        {"role": "system", "content": instructions},
        {"role": "user", "content": text.text},
    ]);
    let body = json!({"model": config.model, "messages": messages, "max_tokens": config.max_tokens});
    Bytes::from(body.to_string())
}

/// The text of an answer. One that is not complete is an error: the rest of the text would be lost.
fn answered_text(reply: &Reply, max_tokens: u64) -> Result<String, String> {
    match reply.stop {
        StopReason::EndTurn | StopReason::StopSequence(_) => {}
        StopReason::MaxTokens => {
            return Err(format!("the answer of the model is longer than max_tokens ({max_tokens})"));
        }
        _ => return Err("the model did not answer with a text".to_owned()),
    }
    let texts = reply.parts.iter().filter_map(|part| match &part.content {
        Content::Text(text) => Some(text.as_str()),
        _ => None,
    });
    let text: String = texts.collect();
    let is_refused = reply.parts.iter().any(|part| matches!(part.content, Content::Refusal(_)));
    match text.is_empty() || is_refused {
        true => Err("the model did not answer with a text".to_owned()),
        false => Ok(text),
    }
}

#[cfg(test)]
mod tests;
