//! One request as every dialect reads it: as much as the behaviours depend on.

use serde_json::Value;

use super::name::ModelName;
use super::refusal::decode;

#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    pub name: ModelName,
    pub raw: Vec<u8>,
    pub streams: bool,
    /// Every text of the prompt, the system's too.
    pub texts: Vec<String>,
    /// Of the last turn, whoever spoke.
    pub last_text: String,
    /// Of the user's turns at the end.
    pub user_text: String,
    /// What the tools said, when the last turn is theirs.
    pub results: Option<String>,
    pub any_result: bool,
    pub tools: Vec<Tool>,
    pub choice: Choice,
    /// What the answer must satisfy.
    pub schema: Option<Value>,
    pub stop: Vec<String>,
    pub limit: Option<u64>,
    /// The request asked to see reasoning.
    pub reasons: bool,
    pub images: Vec<Seen>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Tool {
    pub name: String,
    pub schema: Value,
    /// Takes free text instead of JSON.
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

/// An image or a document that arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub media_type: String,
    /// `None` when only its address came.
    pub bytes: Option<usize>,
}

impl Asked {
    /// Eight for the frame and one for each word.
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

impl Seen {
    pub fn base64(media_type: &str, data: &str) -> Self {
        Self { media_type: media_type.to_owned(), bytes: decode(data).map(|bytes| bytes.len()) }
    }

    /// A `data:` URL, or an address.
    pub fn url(url: &str) -> Self {
        let data = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
        match data {
            Some((media_type, data)) => Self::base64(media_type, data),
            None => Self { media_type: "url".into(), bytes: None },
        }
    }
}
