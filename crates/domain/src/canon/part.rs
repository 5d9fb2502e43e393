//! Content parts of a turn: text, media, thinking, tool calls and tool results.

use serde_json::Value;

use super::Opaque;
use crate::call::Format;

#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    pub content: Content,
    /// Cache breakpoint: the prompt up to and including this part should be cached.
    pub cache: Option<CacheMark>,
    /// Position in the client's body, for error messages: `messages[3].content[0]`.
    pub place: BodyPath,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    Text(String),
    Image(Media),
    /// A PDF or a text file.
    Document(Media),
    Audio(Media),
    Thinking(Thinking),
    ToolCall(ToolCall),
    ToolResult(ToolResult),
    /// The model's explanation why it does not answer.
    Refusal(String),
    /// A complete part that exists in one format only.
    Foreign {
        format: Format,
        value: Value,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Media {
    pub source: MediaSource,
    /// `image/png`, `application/pdf`; always present for embedded data, guessed or absent for URLs.
    pub media_type: Option<String>,
    /// Image resolution requested from the model: `low`, `high`, `auto`.
    pub detail: Option<String>,
    /// The name or title of a document.
    pub name: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum MediaSource {
    Url(String),
    /// Base64, as received.
    Data(String),
    /// Plain text inside a document.
    Text(String),
    /// The id of a file stored at the provider.
    File(String),
}

/// Reasoning: readable text, opaque state for the model that produced it, or both.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Thinking {
    pub text: String,
    pub opaque: Option<Opaque>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// The id that the tool result refers to; preserved in both directions.
    pub id: String,
    /// The flat name: prefixed with its namespace, if it has one.
    pub name: String,
    /// JSON text; for a custom tool, the plain input.
    pub arguments: String,
    /// True for a custom tool, which takes free text instead of JSON.
    pub custom: bool,
    /// State that the provider expects back with this call.
    pub opaque: Option<Opaque>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    pub call_id: String,
    /// The tool's name, filled in from its call by [`super::Prompt::pair_results`].
    pub name: Option<String>,
    pub parts: Vec<Part>,
    pub is_error: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheMark {
    FiveMinutes,
    OneHour,
}

/// Position in the client's body. All places are equal, so that parts compare by content alone.
#[derive(Clone, Debug, Default)]
pub struct BodyPath(pub String);

impl PartialEq for BodyPath {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Part {
    pub fn new(content: Content) -> Self {
        Self { content, cache: None, place: BodyPath::default() }
    }

    pub fn text(text: impl Into<String>) -> Self {
        Self::new(Content::Text(text.into()))
    }

    #[must_use]
    pub fn at(mut self, place: impl Into<String>) -> Self {
        self.place = BodyPath(place.into());
        self
    }

    #[must_use]
    pub fn cached(mut self, mark: Option<CacheMark>) -> Self {
        self.cache = mark;
        self
    }

    pub fn as_text(&self) -> Option<&str> {
        match &self.content {
            Content::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl Content {
    /// The bytes of its text; 0 for content without one.
    pub fn byte_count(&self) -> u64 {
        let length = match self {
            Self::Text(text) | Self::Refusal(text) => text.len(),
            Self::Thinking(thought) => thought.text.len(),
            Self::ToolCall(call) => call.name.len() + call.arguments.len(),
            _ => 0,
        };
        length as u64
    }
}

impl From<Content> for Part {
    fn from(content: Content) -> Self {
        Self::new(content)
    }
}
