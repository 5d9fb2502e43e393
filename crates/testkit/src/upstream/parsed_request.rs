//! A request, reduced to the fields the behaviours depend on, common to all formats.

use serde_json::Value;

use super::model_name::ModelName;
use super::rejection::decode;

#[derive(Clone, Debug, Default)]
pub(super) struct ParsedRequest {
    pub name: ModelName,
    pub raw: Vec<u8>,
    pub streams: bool,
    /// All texts of the prompt, including the system's.
    pub texts: Vec<String>,
    /// Text of the last turn, of any role.
    pub last_text: String,
    /// Text of the trailing user turns.
    pub user_text: String,
    /// The tool results, if the last turn consists of them.
    pub results: Option<String>,
    pub any_result: bool,
    pub tools: Vec<Tool>,
    pub choice: Choice,
    /// The schema of the answer.
    pub schema: Option<Value>,
    pub stop: Vec<String>,
    pub limit: Option<u64>,
    /// Whether the request asked for visible reasoning.
    pub reasons: bool,
    pub images: Vec<Attachment>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Tool {
    pub name: String,
    pub schema: Value,
    /// Whether the tool takes free text instead of JSON.
    pub custom: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Choice {
    #[default]
    Auto,
    None,
    Any,
    Named(String),
}

/// A received image or document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Attachment {
    pub media_type: String,
    /// The size; `None` if only a URL was sent.
    pub bytes: Option<usize>,
}

impl ParsedRequest {
    /// The prompt's cost: eight tokens plus one per word.
    pub fn prompt_tokens(&self) -> u64 {
        8 + self.texts.iter().map(|text| text.split_whitespace().count() as u64).sum::<u64>()
    }

    pub fn forced(&self) -> Option<&Tool> {
        match &self.choice {
            Choice::Named(name) => self.tools.iter().find(|tool| tool.name == *name),
            Choice::Any => self.tools.first(),
            Choice::Auto | Choice::None => None,
        }
    }
}

impl Attachment {
    pub fn base64(media_type: &str, data: &str) -> Self {
        Self { media_type: media_type.to_owned(), bytes: decode(data).map(|bytes| bytes.len()) }
    }

    /// Reads a `data:` URL or another URL.
    pub fn url(url: &str) -> Self {
        let data = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
        match data {
            Some((media_type, data)) => Self::base64(media_type, data),
            None => Self { media_type: "url".into(), bytes: None },
        }
    }
}
