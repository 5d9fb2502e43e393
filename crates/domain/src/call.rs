//! What a client asked for, as far as the gateway acts on it; the body itself stays bytes.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The dialects the gateway serves and calls.
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
    Generate,
}

impl Format {
    pub const ALL: [Self; 4] = [Self::Chat, Self::Responses, Self::Messages, Self::Generate];
}

/// What is asked of a provider: an answer in one of the dialects, or one of the plain operations beside them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Surface {
    Converse(Format),
    /// Legacy text completions.
    Completions,
    Embeddings,
    /// Embeddings asked for in Gemini's shape, one content or a list; providers are asked in OpenAI's.
    EmbedContent {
        batch: bool,
    },
    Rerank,
}

impl Surface {
    /// The dialect its errors are told in.
    pub fn format(self) -> Format {
        match self {
            Self::Converse(format) => format,
            Self::EmbedContent { .. } => Format::Generate,
            Self::Completions | Self::Embeddings | Self::Rerank => Format::Chat,
        }
    }
}

/// A resolved place to send a call: a configured provider instance and the model id as that provider knows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    pub instance: Arc<str>,
    pub provider_type: Arc<str>,
    pub model: Arc<str>,
}

impl Target {
    /// `instance/model`, as `X-Gateway-Model` shows it.
    pub fn selector(&self) -> String {
        format!("{}/{}", self.instance, self.model)
    }
}
