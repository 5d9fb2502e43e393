//! What a turn is made of: text, media, thoughts, tool calls and their results.

use serde_json::Value;

use super::Opaque;
use crate::call::Format;

#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    pub content: Content,
    /// The prompt up to and including this part is worth caching.
    pub cache: Option<CacheMark>,
    /// Where the client wrote it, for faults: `messages[3].content[0]`.
    pub place: Place,
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
    /// The model says why it does not answer.
    Refusal(String),
    /// A part only one format knows, whole.
    Foreign {
        format: Format,
        value: Value,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Media {
    pub source: Source,
    /// `image/png`, `application/pdf`; known for embedded data, guessed or absent for addresses.
    pub media_type: Option<String>,
    /// How closely an image is looked at: `low`, `high`, `auto`.
    pub detail: Option<String>,
    /// The name or title of a document.
    pub name: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    Url(String),
    /// Base64, as it came.
    Data(String),
    /// Plain text inside a document.
    Text(String),
    /// A file at the provider.
    File(String),
}

/// Reasoning: readable text, or a state only the model that made it can read, or both.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Thinking {
    pub text: String,
    pub opaque: Option<Opaque>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// What the result refers to; preserved both ways.
    pub id: String,
    /// The flat name: with its namespace in front, where it has one.
    pub name: String,
    /// JSON text; of a custom tool, the plain input.
    pub arguments: String,
    /// A custom tool takes free text instead of JSON.
    pub custom: bool,
    /// State a provider wants back with this very call.
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

/// Where something stood in the client's body. Two parts that say the same are equal wherever they stood.
#[derive(Clone, Debug, Default)]
pub struct Place(pub String);

impl PartialEq for Place {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Part {
    pub fn new(content: Content) -> Self {
        Self { content, cache: None, place: Place::default() }
    }

    pub fn text(text: impl Into<String>) -> Self {
        Self::new(Content::Text(text.into()))
    }

    #[must_use]
    pub fn at(mut self, place: impl Into<String>) -> Self {
        self.place = Place(place.into());
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

impl From<Content> for Part {
    fn from(content: Content) -> Self {
        Self::new(content)
    }
}
