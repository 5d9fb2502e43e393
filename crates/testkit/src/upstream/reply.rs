//! The reply, independent of any format.

use super::answer::Billed;
use super::parsed_request::ParsedRequest;

/// The way usage is reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum UsageStyle {
    #[default]
    Plain,
    Absent,
    Weird,
    EveryChunk,
}

/// The reason of the end, apart from tool calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Stop {
    #[default]
    End,
    Length,
    Sequence(String),
    /// Cut by a content filter.
    Filter,
    /// The content is the model's refusal.
    Refusal,
}

#[derive(Clone, Debug)]
pub(super) struct ToolCall {
    pub name: String,
    /// The arguments' JSON text (the free text, if custom) in the fragments that a stream sends.
    pub arguments: Vec<String>,
    pub custom: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Reply {
    pub model: String,
    /// Reasoning pieces of one token each, like the pieces of content and arguments.
    pub reasoning: Vec<String>,
    /// Whether the reasoning is sent in unreadable form, if the format has one.
    pub redacted: bool,
    pub content: Vec<String>,
    pub calls: Vec<ToolCall>,
    pub stop: Stop,
    pub prompt_tokens: u64,
    pub cached_tokens: u64,
    /// Five-minute and one-hour cache writes; part of the prompt.
    pub cache_writes: (u64, u64),
    pub usage: UsageStyle,
    pub azure_first: bool,
}

impl Reply {
    pub fn new(parsed: &ParsedRequest) -> Self {
        let content = words(&format!("Hello from the upstream. You said: {}", parsed.last_text));
        let prompt_tokens = parsed.prompt_tokens();
        Self { model: parsed.name.whole.clone(), content, prompt_tokens, ..Self::default() }
    }

    pub fn completion_tokens(&self) -> u64 {
        let fragments: usize = self.calls.iter().map(|call| call.arguments.len()).sum();
        (self.reasoning.len() + self.content.len() + fragments) as u64
    }

    pub fn reasoning_tokens(&self) -> u64 {
        self.reasoning.len() as u64
    }

    pub fn text(&self) -> String {
        self.content.concat()
    }

    pub fn billed(&self) -> Billed {
        Billed {
            prompt_tokens: self.prompt_tokens,
            cached_tokens: self.cached_tokens,
            cache_write_5m_tokens: self.cache_writes.0,
            cache_write_1h_tokens: self.cache_writes.1,
        }
    }
}

impl ToolCall {
    pub fn arguments(&self) -> serde_json::Value {
        serde_json::from_str(&self.arguments.concat()).unwrap_or_default()
    }
}

pub(super) fn words(text: &str) -> Vec<String> {
    text.split_inclusive(' ').map(str::to_owned).collect()
}

pub(super) fn numbered_words(count: usize) -> Vec<String> {
    (0..count).map(|index| format!("word{index} ")).collect()
}

/// Splits a text into pieces of this many characters.
pub(super) fn pieces(text: &str, size: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(size).map(|piece| piece.iter().collect()).collect()
}
