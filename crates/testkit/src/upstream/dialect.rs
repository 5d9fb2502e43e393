//! The API formats, their error bodies, and the trait for rendering answers.

use serde_json::{Value, json};

use super::answer::Step;
use super::rejection::UpstreamRejection;
use super::reply::Reply;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    Chat,
    Responses,
    Messages,
    Gemini,
    Completions,
    Embeddings,
    Rerank,
}

/// A format with the options of one request.
pub(super) trait ResponseRenderer {
    fn dialect(&self) -> Dialect;

    /// The complete answer.
    fn document(&self, reply: &Reply) -> Value;

    /// The answer as events, one step each.
    fn events(&self, reply: &Reply) -> Vec<Step>;

    /// The error event that ends a stream after this many events.
    fn failing_end(&self, reply: &Reply, sent: usize) -> Step;

    /// A stream that fails before any content.
    fn failing_start(&self, reply: &Reply) -> Vec<Step> {
        vec![self.failing_end(reply, 0)]
    }

    /// A failure document with status 200.
    fn failing_document(&self, _reply: &Reply) -> Value {
        self.dialect().error(&self.dialect().overloaded())
    }

    /// An event with truncated JSON.
    fn broken_event(&self) -> &'static str {
        "data: {\"id\": \"chatcmpl-\n\n"
    }
}

impl Dialect {
    pub fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Responses => "responses",
            Self::Messages => "messages",
            Self::Gemini => "generate",
            Self::Completions => "completions",
            Self::Embeddings => "embeddings",
            Self::Rerank => "rerank",
        }
    }

    pub fn id(self, port: u16, number: u64) -> String {
        match self {
            Self::Chat => format!("chatcmpl-{port}-{number}"),
            Self::Responses => format!("resp_{port}_{number}"),
            Self::Messages => format!("msg_{port}_{number}"),
            Self::Gemini => format!("gen-{port}-{number}"),
            Self::Completions => format!("cmpl-{port}-{number}"),
            Self::Embeddings => format!("embd-{port}-{number}"),
            Self::Rerank => format!("rerank-{port}-{number}"),
        }
    }

    /// Whether its answers have no completion tokens.
    pub fn is_silent(self) -> bool {
        matches!(self, Self::Embeddings | Self::Rerank)
    }

    pub fn overloaded(self) -> UpstreamRejection {
        let status = if self == Self::Messages { 529 } else { 503 };
        UpstreamRejection::new(status, "The server is overloaded.").code("server_overloaded")
    }

    pub fn error(self, rejection: &UpstreamRejection) -> Value {
        let (status, message) = (rejection.status, &rejection.message);
        match self {
            Self::Messages => json!({
                "type": "error", "error": {"type": anthropic_type(status), "message": message},
                "request_id": "req_scripted",
            }),
            Self::Gemini => {
                json!({"error": {"code": status, "message": message, "status": google_status(status)}})
            }
            _ => json!({"error": {
                "message": message, "type": openai_type(status), "param": rejection.param, "code": rejection.code,
            }}),
        }
    }
}

fn openai_type(status: u16) -> &'static str {
    match status {
        429 => "requests",
        500.. => "server_error",
        _ => "invalid_request_error",
    }
}

fn anthropic_type(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    }
}

fn google_status(status: u16) -> &'static str {
    match status {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        409 => "ABORTED",
        429 => "RESOURCE_EXHAUSTED",
        499 => "CANCELLED",
        501 => "UNIMPLEMENTED",
        503 | 529 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        500.. => "INTERNAL",
        _ => "INVALID_ARGUMENT",
    }
}
