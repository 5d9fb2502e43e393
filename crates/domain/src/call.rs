//! The parts of a client request that the gateway acts on. The body itself stays raw bytes.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The API formats that the gateway serves and calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// OpenAI chat completions.
    #[default]
    Chat,
    /// OpenAI responses.
    Responses,
    /// Anthropic messages.
    Messages,
    /// Gemini generateContent.
    #[serde(rename = "generate")]
    Gemini,
}

impl Format {
    pub const ALL: [Self; 4] = [Self::Chat, Self::Responses, Self::Messages, Self::Gemini];

    /// The name as it is shown, the same as when serialized.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Responses => "responses",
            Self::Messages => "messages",
            Self::Gemini => "generate",
        }
    }
}

/// The operation requested of a provider: generation in one of the API formats, or a plain operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Surface {
    Converse(Format),
    /// Legacy text completions.
    Completions,
    Embeddings,
    /// Embeddings requested in Gemini's format, one content or a list; providers are called in OpenAI's format.
    EmbedContent {
        batch: bool,
    },
    Rerank,
}

impl Surface {
    /// The name as it is shown.
    pub fn name(self) -> &'static str {
        match self {
            Self::Converse(format) => format.name(),
            Self::Completions => "completions",
            Self::Embeddings | Self::EmbedContent { .. } => "embeddings",
            Self::Rerank => "rerank",
        }
    }

    /// The API format of its error responses.
    pub fn format(self) -> Format {
        match self {
            Self::Converse(format) => format,
            Self::EmbedContent { .. } => Format::Gemini,
            Self::Completions | Self::Embeddings | Self::Rerank => Format::Chat,
        }
    }
}

/// A resolved target: a configured provider instance and the model id as that provider knows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    pub instance: Arc<str>,
    pub provider_type: Arc<str>,
    pub model: Arc<str>,
}

impl Target {
    /// `instance/model`, as in the `X-Gateway-Model` header.
    pub fn selector(&self) -> String {
        format!("{}/{}", self.instance, self.model)
    }
}
