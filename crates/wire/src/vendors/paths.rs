//! What a vendor serves natively, and where: paths below the base URL, `{model}` in them where the model stands there.

use domain::call::{Format, Surface};

#[derive(Clone, Copy, Debug, Default)]
pub struct Paths {
    pub chat: Option<&'static str>,
    pub responses: Option<&'static str>,
    pub messages: Option<&'static str>,
    pub generate: Option<&'static str>,
    pub generate_stream: Option<&'static str>,
    pub embeddings: Option<&'static str>,
    pub rerank: Option<&'static str>,
    pub completions: Option<&'static str>,
    /// Counts a messages request without answering it.
    pub count_tokens: Option<&'static str>,
    /// What of a response's life the vendor has beside its creation; all below `responses`.
    pub lifecycle: &'static [Lifecycle],
}

/// Operations on responses, beside creating one.
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

    /// For messages: "response compaction is not supported".
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
            Format::Generate if stream => self.generate_stream,
            Format::Generate => self.generate,
        }
    }
}

/// Chat completions, embeddings and legacy completions where OpenAI has them: what most vendors serve.
pub(super) const OPENAI_LIKE: Paths = Paths {
    chat: Some("/chat/completions"),
    responses: None,
    messages: None,
    generate: None,
    generate_stream: None,
    embeddings: Some("/embeddings"),
    rerank: None,
    completions: Some("/completions"),
    count_tokens: None,
    lifecycle: &[],
};
