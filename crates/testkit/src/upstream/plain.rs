//! The formats besides conversations: embeddings, rerank and legacy completions.

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

/// Reads the model and rejects unknown fields.
fn admit(visit: &Visit<'_>, request: &Value, known: &[&str]) -> Result<Asked, Refusal> {
    if let Some(field) = stranger(request, known) {
        return Err(unknown(field));
    }
    let model =
        request["model"].as_str().filter(|model| !model.is_empty()).ok_or_else(|| missing("model"))?;
    Ok(Asked { name: ModelName::parse(model), raw: visit.raw.to_vec(), ..Asked::default() })
}
