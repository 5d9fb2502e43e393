//! Renders output items as JSON; items in progress have no content.

use domain::call::Format;
use domain::canon::Opaque;

use super::Names;
use crate::codec::IdGenerator;
use crate::json::Quoted;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Message {
    Text,
    Refusal,
}

impl Message {
    /// The content part of a message.
    pub fn part(self, text: &str) -> String {
        match self {
            Self::Text => {
                format!(r#"{{"type":"output_text","annotations":[],"logprobs":[],"text":{}}}"#, Quoted(text))
            }
            Self::Refusal => format!(r#"{{"type":"refusal","refusal":{}}}"#, Quoted(text)),
        }
    }
}

pub fn message(id: &str, message: Message, text: Option<&str>) -> String {
    let (status, content) = match text {
        Some(text) => ("completed", message.part(text)),
        None => ("in_progress", String::new()),
    };
    let id = Quoted(id);
    format!(r#"{{"id":{id},"type":"message","status":"{status}","content":[{content}],"role":"assistant"}}"#)
}

/// A reasoning item with its text as the summary.
pub fn reasoning(id: &str, text: &str, state: Option<&str>) -> String {
    let summary = if text.is_empty() { String::new() } else { summary_part(text) };
    let state = state.map(|state| format!(r#","encrypted_content":{}"#, Quoted(state))).unwrap_or_default();
    format!(r#"{{"id":{},"type":"reasoning","summary":[{summary}]{state}}}"#, Quoted(id))
}

pub fn summary_part(text: &str) -> String {
    format!(r#"{{"type":"summary_text","text":{}}}"#, Quoted(text))
}

/// State for the client: native state unchanged, that of another format sealed with its text.
pub fn state(opaque: &Opaque, text: &str) -> String {
    if opaque.origin.format == Format::Responses {
        return opaque.data.clone();
    }
    let text = Some(text).filter(|text| !text.is_empty()).map(str::to_owned);
    Opaque { text, ..opaque.clone() }.seal()
}

/// The state of a call; the empty text distinguishes it from the state of reasoning.
pub fn call_state(opaque: &Opaque) -> String {
    Opaque { text: Some(String::new()), ..opaque.clone() }.seal()
}

/// A tool call item.
pub struct Call {
    pub id: String,
    pub custom: bool,
    pub name: String,
    /// All members except status and arguments, as JSON.
    members: String,
}

impl Call {
    pub fn new(call_id: &str, flat_name: &str, custom: bool, names: &Names, ids: &mut IdGenerator) -> Self {
        let (namespace, name, takes_text) = names.of(flat_name);
        let custom = custom || takes_text;
        let (prefix, kind) = if custom { ("ctc_", "custom_tool_call") } else { ("fc_", "function_call") };
        let id = ids.item(prefix);
        let namespace =
            namespace.map(|namespace| format!(r#","namespace":{}"#, Quoted(namespace))).unwrap_or_default();
        let members = format!(
            r#""id":{},"type":"{kind}","call_id":{},"name":{}{namespace}"#,
            Quoted(&id),
            Quoted(call_id),
            Quoted(name)
        );
        Self { id, custom, name: name.to_owned(), members }
    }

    /// Renders the item. Missing arguments of a completed function call become an empty object.
    pub fn item(&self, arguments: Option<&str>) -> String {
        let status = if arguments.is_some() { "completed" } else { "in_progress" };
        let (field, arguments) = match arguments {
            Some(input) if self.custom => ("input", input),
            Some(arguments) if arguments.trim().is_empty() => ("arguments", "{}"),
            Some(arguments) => ("arguments", arguments),
            None if self.custom => ("input", ""),
            None => ("arguments", ""),
        };
        format!(r#"{{{},"status":"{status}","{field}":{}}}"#, self.members, Quoted(arguments))
    }
}
