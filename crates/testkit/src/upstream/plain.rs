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

use super::model_name::ModelName;
use super::openai::{missing, unknown};
use super::parsed_request::ParsedRequest;
use super::rejection::{UpstreamRejection, unknown_member};
use super::upstream_request::UpstreamRequest;

/// Reads the model and rejects unknown fields.
fn admit(
    context: &UpstreamRequest<'_>,
    request: &Value,
    known: &[&str],
) -> Result<ParsedRequest, UpstreamRejection> {
    if let Some(field) = unknown_member(request, known) {
        return Err(unknown(field));
    }
    let model =
        request["model"].as_str().filter(|model| !model.is_empty()).ok_or_else(|| missing("model"))?;
    Ok(ParsedRequest { name: ModelName::parse(model), raw: context.raw.to_vec(), ..ParsedRequest::default() })
}
