//! Paths of the operations a vendor serves natively, below the base URL; `{model}` is replaced by the model.

use domain::call::{Format, Surface};

#[derive(Clone, Copy, Debug, Default)]
pub struct Paths {
    pub chat: Option<&'static str>,
    pub responses: Option<&'static str>,
    pub messages: Option<&'static str>,
    pub gemini: Option<&'static str>,
    pub gemini_stream: Option<&'static str>,
    pub embeddings: Option<&'static str>,
    pub rerank: Option<&'static str>,
    pub completions: Option<&'static str>,
    /// Counts the tokens of a Messages request.
    pub count_tokens: Option<&'static str>,
    /// Supported operations on existing responses, below `responses`.
    pub lifecycle: &'static [Lifecycle],
}

/// Operations on responses besides creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lifecycle {
    Retrieve,
    Delete,
    Cancel,
    InputItems,
    InputTokens,
    Compact,
}

impl Lifecycle {
    pub const ALL: &'static [Self] =
        &[Self::Retrieve, Self::Delete, Self::Cancel, Self::InputItems, Self::InputTokens, Self::Compact];

    /// The name in messages such as "response compaction is not supported".
    pub fn title(self) -> &'static str {
        match self {
            Self::Retrieve => "retrieval",
            Self::Delete => "deletion",
            Self::Cancel => "cancellation",
            Self::InputItems => "listing of input items",
            Self::InputTokens => "counting of input tokens",
            Self::Compact => "compaction",
        }
    }
}

impl Paths {
    pub fn surface(&self, surface: Surface, stream: bool) -> Option<&'static str> {
        match surface {
            Surface::Converse(format) => self.of(format, stream),
            Surface::Completions => self.completions,
            Surface::Embeddings | Surface::EmbedContent { .. } => self.embeddings,
            Surface::Rerank => self.rerank,
        }
    }

    pub fn of(&self, format: Format, stream: bool) -> Option<&'static str> {
        match format {
            Format::Chat => self.chat,
            Format::Responses => self.responses,
            Format::Messages => self.messages,
            Format::Gemini if stream => self.gemini_stream,
            Format::Gemini => self.gemini,
        }
    }
}

/// Chat completions, embeddings and legacy completions at OpenAI's paths, as most vendors have them.
pub(super) const OPENAI_LIKE: Paths = Paths {
    chat: Some("/chat/completions"),
    responses: None,
    messages: None,
    gemini: None,
    gemini_stream: None,
    embeddings: Some("/embeddings"),
    rerank: None,
    completions: Some("/completions"),
    count_tokens: None,
    lifecycle: &[],
};
