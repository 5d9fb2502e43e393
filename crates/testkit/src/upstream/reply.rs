//! What the upstream says, before any dialect writes it down.

use super::asked::Asked;
use super::script::Billed;

/// How the reply tells what it cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum UsageStyle {
    #[default]
    Plain,
    Absent,
    Weird,
    EveryChunk,
}

/// Why it ended, tool calls apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Stop {
    #[default]
    End,
    Length,
    Sequence(String),
    /// A filter cut it off.
    Filter,
    /// The content is the model's refusal.
    Refusal,
}

#[derive(Clone, Debug)]
pub(super) struct ToolCall {
    pub name: String,
    /// The arguments' JSON text (the free text, when custom) in the fragments a stream sends it in.
    pub arguments: Vec<String>,
    pub custom: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Reply {
    pub model: String,
    /// One token each, as are the pieces of content and of arguments.
    pub reasoning: Vec<String>,
    /// The reasoning is handed out unreadable, where the dialect has a form for it.
    pub redacted: bool,
    pub content: Vec<String>,
    pub calls: Vec<ToolCall>,
    pub stop: Stop,
    pub prompt_tokens: u64,
    pub cached_tokens: u64,
    /// For five minutes and for an hour; part of the prompt.
    pub cache_writes: (u64, u64),
    pub usage: UsageStyle,
    pub azure_first: bool,
}

impl Reply {
    pub fn new(asked: &Asked) -> Self {
        let content = words(&format!("Hello from the upstream. You said: {}", asked.last_text));
        let prompt_tokens = asked.prompt_tokens();
        Self { model: asked.name.whole.clone(), content, prompt_tokens, ..Self::default() }
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

/// Of this many characters each.
pub(super) fn pieces(text: &str, size: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(size).map(|piece| piece.iter().collect()).collect()
}
