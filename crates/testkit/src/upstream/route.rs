//! Maps a method and a path to the format served there.

use super::chat::Surface;
use super::dialect::Dialect;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Route {
    Chat(Surface),
    Responses,
    Messages,
    GenerateContent {
        model: String,
        streams: bool,
    },
    Completions(Surface),
    Embeddings(Surface),
    Rerank,
    Images,
    /// Below `/v1/responses/{id}`.
    Stored(String),
    InputTokens,
    Compact,
    CountTokens,
    GeminiCountTokens {
        model: String,
    },
    Models(Models),
}

/// The provider whose model list is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Models {
    /// Anthropic's list if `anthropic-version` is sent.
    OpenAi,
    Gemini,
    Ollama,
    Azure,
}

impl Route {
    /// The route, and for Azure the deployment.
    pub fn find(method: &str, path: &str) -> Option<(Self, Option<String>)> {
        if let Some(rest) = path.strip_prefix("/openai/deployments/") {
            let (deployment, action) = rest.split_once('/')?;
            let route = match (method, action) {
                ("POST", "chat/completions") => Self::Chat(Surface::Azure),
                ("POST", "embeddings") => Self::Embeddings(Surface::Azure),
                ("POST", "completions") => Self::Completions(Surface::Azure),
                _ => return None,
            };
            return Some((route, Some(decoded(deployment))));
        }
        Self::plain(method, path).map(|route| (route, None))
    }

    fn plain(method: &str, path: &str) -> Option<Self> {
        let route = match (method, path) {
            ("POST", "/v1/chat/completions") => Self::Chat(Surface::OpenAi),
            ("POST", "/ollama/v1/chat/completions") => Self::Chat(Surface::Ollama),
            ("POST", "/v1/responses") => Self::Responses,
            ("POST", "/v1/responses/input_tokens") => Self::InputTokens,
            ("POST", "/v1/responses/compact") => Self::Compact,
            ("POST", "/v1/messages") => Self::Messages,
            ("POST", "/v1/messages/count_tokens") => Self::CountTokens,
            ("POST", "/v1/completions") => Self::Completions(Surface::OpenAi),
            ("POST", "/ollama/v1/completions") => Self::Completions(Surface::Ollama),
            ("POST", "/v1/embeddings") => Self::Embeddings(Surface::OpenAi),
            ("POST", "/v1beta/openai/embeddings") => Self::Embeddings(Surface::Gemini),
            ("POST", "/ollama/v1/embeddings") => Self::Embeddings(Surface::Ollama),
            ("POST", "/v1/rerank") => Self::Rerank,
            ("POST", "/v1/images/generations") => Self::Images,
            ("GET", "/v1/models") => Self::Models(Models::OpenAi),
            ("GET", "/v1beta/models") => Self::Models(Models::Gemini),
            ("GET", "/ollama/api/tags" | "/ollama/v1/models") => Self::Models(Models::Ollama),
            ("GET", "/openai/models" | "/openai/deployments") => Self::Models(Models::Azure),
            _ => return Self::with_name(method, path),
        };
        Some(route)
    }

    fn with_name(method: &str, path: &str) -> Option<Self> {
        if let Some(rest) = path.strip_prefix("/v1/responses/") {
            return Some(Self::Stored(rest.to_owned()));
        }
        let (model, action) = path.strip_prefix("/v1beta/models/")?.rsplit_once(':')?;
        let model = decoded(model);
        match (method, action) {
            ("POST", "generateContent") => Some(Self::GenerateContent { model, streams: false }),
            ("POST", "streamGenerateContent") => Some(Self::GenerateContent { model, streams: true }),
            ("POST", "countTokens") => Some(Self::GeminiCountTokens { model }),
            _ => None,
        }
    }

    pub fn dialect(&self) -> Dialect {
        match self {
            Self::Chat(_) | Self::Models(_) | Self::Images => Dialect::Chat,
            Self::Responses | Self::Stored(_) | Self::InputTokens | Self::Compact => Dialect::Responses,
            Self::Messages | Self::CountTokens => Dialect::Messages,
            Self::GenerateContent { .. } | Self::GeminiCountTokens { .. } => Dialect::Gemini,
            Self::Completions(_) => Dialect::Completions,
            Self::Embeddings(_) => Dialect::Embeddings,
            Self::Rerank => Dialect::Rerank,
        }
    }
}

/// Percent-decodes a path segment.
fn decoded(segment: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = segment.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match hex.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
