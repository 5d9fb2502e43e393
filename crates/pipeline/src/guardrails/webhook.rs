//! The texts that a webhook gets, and its verdict on them.

use std::collections::HashMap;

use domain::canon::Role;

/// A text that a webhook decides about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookText {
    pub role: Role,
    pub text: String,
    /// Whether the text is JSON, such as the arguments of a tool. A replacement has to be JSON, too.
    pub is_json: bool,
}

impl WebhookText {
    /// A JSON value in its shortest form, without escapes that could hide words.
    pub fn json(role: Role, json: &str) -> Self {
        let value = serde_json::from_str::<serde_json::Value>(json);
        let text = value.map_or_else(|_| json.to_owned(), |value| value.to_string());
        Self { role, text, is_json: true }
    }
}

/// The verdict of a webhook.
#[derive(Clone, Debug)]
pub enum WebhookVerdict {
    Allow,
    Block,
    /// The new text at each position; `None` where it is unchanged.
    Replace(Vec<Option<String>>),
    /// The webhook could not be called, or its response cannot be read.
    Failed(String),
}

/// The verdicts of the webhooks of one step, by the name of the guardrail.
pub type WebhookVerdicts = HashMap<String, WebhookVerdict>;

impl WebhookVerdict {
    /// The verdict that replaces texts by those at the same positions.
    pub fn replace(texts: &[WebhookText], replacements: Vec<String>) -> Self {
        let pairs = texts.iter().zip(replacements);
        Self::Replace(pairs.map(|(text, new)| (text.text != new).then_some(new)).collect())
    }
}
