//! The formats beside conversations: embeddings, rerank, and completions of old.

mod completions;
mod embeddings;
mod rerank;

#[cfg(test)]
mod tests;

pub(super) use completions::open as completions;
pub(super) use embeddings::open as embeddings;
pub(super) use rerank::open as rerank;

use serde_json::Value;

use super::asked::Asked;
use super::desk::Visit;
use super::name::ModelName;
use super::openai::{missing, unknown};
use super::refusal::{Refusal, stranger};

/// The model, and no field that is not known.
fn admit(visit: &Visit<'_>, request: &Value, known: &[&str]) -> Result<Asked, Refusal> {
    if let Some(field) = stranger(request, known) {
        return Err(unknown(field));
    }
    let model =
        request["model"].as_str().filter(|model| !model.is_empty()).ok_or_else(|| missing("model"))?;
    Ok(Asked { name: ModelName::parse(model), raw: visit.raw.to_vec(), ..Asked::default() })
}
