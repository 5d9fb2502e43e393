//! Span data of a traced call that is not in its receipt.

use std::time::Duration;

use domain::call::{Format, Surface};
use serde_json::Value;
use wire::codec::Request;
use wire::response_facts::ResponseFacts;

use super::attributes;

pub struct CallTrace {
    pub operation: &'static str,
    /// The request parameters as attributes.
    pub parameters: Vec<Value>,
    /// Spans in the order of the receipt's attempts.
    pub attempts: Vec<AttemptTrace>,
}

/// The client span of one attempt. Its outcome is in the receipt.
pub struct AttemptTrace {
    pub span_id: String,
    /// Start time, relative to the call's arrival.
    pub started: Duration,
    pub provider_type: String,
    /// The provider's origin (`https://host:port`); none for a built-in one.
    pub server: Option<String>,
    /// Set when the answer is complete.
    pub response: ResponseFacts,
}

impl CallTrace {
    pub fn new(endpoint: &str, surface: Surface) -> Box<Self> {
        let operation = operation(endpoint, surface);
        Box::new(Self { operation, parameters: Vec::new(), attempts: Vec::new() })
    }

    pub fn requested(&mut self, request: &Request) {
        self.parameters = attributes::parameters(request);
    }

    pub fn attempted(
        &mut self,
        provider_type: &str,
        server: Option<String>,
        span_id: String,
        started: Duration,
    ) {
        self.attempts.push(AttemptTrace {
            span_id,
            started,
            provider_type: provider_type.to_owned(),
            server,
            response: ResponseFacts::default(),
        });
    }

    /// Sets the answer of the last attempt.
    pub fn answered(&mut self, response: ResponseFacts) {
        if let Some(last) = self.attempts.last_mut() {
            last.response = response;
        }
    }
}

/// The `gen_ai.operation.name`. The semantic conventions define only some of these; the others are specific to
/// Gatehouse.
fn operation(endpoint: &str, surface: Surface) -> &'static str {
    let ends = |suffixes: &[&str]| suffixes.iter().any(|suffix| endpoint.ends_with(suffix));
    match surface {
        _ if endpoint.starts_with("/p/") => "passthrough",
        _ if ends(&["/count_tokens", "/input_tokens", ":countTokens"]) => "count_tokens",
        _ if ends(&["/compact"]) => "compact",
        Surface::Converse(Format::Gemini) => "generate_content",
        Surface::Converse(_) => "chat",
        Surface::Completions => "text_completion",
        Surface::Embeddings | Surface::EmbedContent { .. } => "embeddings",
        Surface::Rerank => "rerank",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_have_the_names_of_the_conventions() {
        for (endpoint, surface, expected) in [
            ("/v1/chat/completions", Surface::Converse(Format::Chat), "chat"),
            ("/v1/responses", Surface::Converse(Format::Responses), "chat"),
            ("/v1/messages", Surface::Converse(Format::Messages), "chat"),
            ("/v1/messages/count_tokens", Surface::Converse(Format::Messages), "count_tokens"),
            ("/v1beta/models/{model}", Surface::Converse(Format::Gemini), "generate_content"),
            ("/v1/completions", Surface::Completions, "text_completion"),
            ("/v1/embeddings", Surface::Embeddings, "embeddings"),
            ("/v1beta/models/{call}", Surface::EmbedContent { batch: true }, "embeddings"),
            ("/v1/rerank", Surface::Rerank, "rerank"),
            ("/p/{provider}/{endpoint}", Surface::Converse(Format::Chat), "passthrough"),
        ] {
            assert_eq!(operation(endpoint, surface), expected, "{endpoint}");
        }
    }
}
