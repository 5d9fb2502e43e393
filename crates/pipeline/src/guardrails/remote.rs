//! Remote guardrails, which ask a webhook or a model: the texts that they get, and their verdicts.

use std::collections::HashMap;

use domain::canon::Role;

/// A text that a remote guardrail decides about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteText {
    pub role: Role,
    pub text: String,
    /// Whether the text is JSON, such as the arguments of a tool. A replacement has to be JSON, too.
    pub is_json: bool,
    /// Whether it cannot be replaced, because a signature covers it.
    pub is_signed: bool,
}

impl RemoteText {
    /// A JSON value in its shortest form, without escapes that could hide words.
    pub fn json(role: Role, json: &str) -> Self {
        let value = serde_json::from_str::<serde_json::Value>(json);
        let text = value.map_or_else(|_| json.to_owned(), |value| value.to_string());
        Self { role, text, is_json: true, is_signed: false }
    }
}

/// The verdict of a remote guardrail.
#[derive(Clone, Debug)]
pub enum RemoteVerdict {
    Allow,
    Block,
    /// The new text at each position; `None` where it is unchanged.
    Replace(Vec<Option<String>>),
    /// It could not be asked, or its answer cannot be used.
    Failed(String),
}

/// The verdicts of the remote guardrails of one step, by the name of the guardrail.
pub type RemoteVerdicts = HashMap<String, RemoteVerdict>;

impl RemoteVerdict {
    /// The verdict that replaces texts by those at the same positions.
    pub fn replace(texts: &[RemoteText], replacements: Vec<String>) -> Self {
        let pairs = texts.iter().zip(replacements);
        Self::Replace(pairs.map(|(text, new)| (text.text != new).then_some(new)).collect())
    }
}
