//! Verdicts of guardrails that ask a server: the texts that it is sent, and its answer.

use std::collections::HashMap;

use domain::canon::Role;

/// A text that a server decides about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteText {
    pub role: Role,
    pub text: String,
}

/// The answer of a server.
#[derive(Clone, Debug)]
pub enum RemoteVerdict {
    Allow,
    Block,
    /// The texts that it has changed, by role and text.
    Replace(HashMap<(Role, String), String>),
    /// It could not be asked, or its answer cannot be read.
    Failed(String),
}

/// The answers of the servers of one step, by the name of the guardrail.
pub type RemoteVerdicts = HashMap<String, RemoteVerdict>;

impl RemoteVerdict {
    /// The verdict that replaces texts by those at the same positions.
    pub fn replace(texts: &[RemoteText], replacements: Vec<String>) -> Self {
        let pairs = texts.iter().zip(replacements);
        let changed = pairs.filter(|(text, new)| text.text != *new);
        Self::Replace(changed.map(|(text, new)| ((text.role, text.text.clone()), new)).collect())
    }
}
