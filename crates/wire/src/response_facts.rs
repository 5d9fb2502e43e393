//! Extracts model and finish reasons from a provider's answer for traces: complete documents and stream events of every
//! format.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::json;

const LONGEST: usize = 200;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResponseFacts {
    pub model: Option<String>,
    /// One finish reason per completed choice, as the provider wrote it.
    pub finish_reasons: Vec<String>,
}

/// The members of every format with a model or finish reason. Raw values, so that a member of another type is skipped.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Document<'a> {
    #[serde(borrow)]
    model: Option<&'a RawValue>,
    #[serde(borrow, rename = "modelVersion")]
    model_version: Option<&'a RawValue>,
    #[serde(borrow)]
    choices: Option<&'a RawValue>,
    #[serde(borrow)]
    candidates: Option<&'a RawValue>,
    #[serde(borrow)]
    stop_reason: Option<&'a RawValue>,
    #[serde(borrow)]
    status: Option<&'a RawValue>,
    #[serde(borrow)]
    incomplete_details: Option<&'a RawValue>,
    /// `message_start` and response events nest the object, `message_delta` its changes.
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    response: Option<&'a RawValue>,
    #[serde(borrow)]
    delta: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Choice {
    #[serde(alias = "finishReason")]
    finish_reason: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Incomplete {
    reason: Option<String>,
}

impl ResponseFacts {
    /// Reads a complete answer.
    pub fn of(document: &[u8]) -> Self {
        let mut facts = Self::default();
        facts.read(document);
        facts
    }

    /// Reads a complete answer.
    pub fn read(&mut self, document: &[u8]) {
        if let Ok(document) = std::str::from_utf8(document) {
            self.read_text(document, true);
        }
    }

    /// Reads the data of one event. Once the model is known, events with only content are skipped without parsing.
    pub fn read_event(&mut self, data: &[u8]) {
        if (self.model.is_none() || names_an_end(data))
            && let Ok(data) = std::str::from_utf8(data)
        {
            self.read_text(data, true);
        }
    }

    fn read_text(&mut self, text: &str, outermost: bool) {
        let Ok(document) = serde_json::from_str::<Document<'_>>(text) else { return };
        if self.model.is_none() {
            let named = document.model.or(document.model_version);
            self.model = named.and_then(string).filter(|model| !model.is_empty());
        }
        for choices in [document.choices, document.candidates].into_iter().flatten() {
            let ended = parsed::<Vec<Choice>>(choices).into_iter().flatten();
            self.finish_reasons.extend(ended.filter_map(|choice| choice.finish_reason).map(cut));
        }
        self.finish_reasons.extend(document.stop_reason.and_then(string));
        self.finish_reasons.extend(status_reason(&document));
        if outermost {
            for nested in [document.message, document.response, document.delta].into_iter().flatten() {
                self.read_text(nested.get(), false);
            }
        }
    }
}

/// The finish reason of a response, derived from its status.
fn status_reason(document: &Document<'_>) -> Option<String> {
    match document.status.and_then(string)?.as_str() {
        "completed" => Some("stop".to_owned()),
        "incomplete" => {
            let details = document.incomplete_details.and_then(parsed::<Incomplete>);
            Some(details.and_then(|details| details.reason).map_or_else(|| "length".to_owned(), cut))
        }
        "failed" => Some("error".to_owned()),
        _ => None,
    }
}

fn parsed<T: DeserializeOwned>(raw: &RawValue) -> Option<T> {
    serde_json::from_str(raw.get()).ok()
}

fn string(raw: &RawValue) -> Option<String> {
    parsed::<String>(raw).map(cut)
}

fn cut(text: String) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => text[..end].to_owned(),
        None => text,
    }
}

/// Whether the event has a finish reason with a string value, or ends a response.
fn names_an_end(data: &[u8]) -> bool {
    static MEMBERS: LazyLock<[Finder<'static>; 3]> =
        LazyLock::new(|| ["finish_reason\"", "stop_reason\"", "finishReason\""].map(Finder::new));
    static ENDS: LazyLock<[Finder<'static>; 3]> = LazyLock::new(|| {
        ["\"response.completed\"", "\"response.incomplete\"", "\"response.failed\""].map(Finder::new)
    });
    let has_string = |finder: &Finder<'_>| {
        finder.find_iter(data).any(|at| {
            let value = json::value_after(&data[at + finder.needle().len()..]);
            value.is_some_and(|value| value.starts_with(b"\""))
        })
    };
    MEMBERS.iter().any(has_string) || ENDS.iter().any(|finder| finder.find(data).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_names_its_model_and_its_end() {
        for (events, model, reasons) in [
            (
                vec![
                    r#"{"model":"gpt-4o-2024","choices":[{"delta":{"content":"a"},"finish_reason":null}]}"#,
                    r#"{"model":"gpt-4o-2024","choices":[{"delta":{},"finish_reason": "stop"}]}"#,
                ],
                "gpt-4o-2024",
                vec!["stop"],
            ),
            (
                vec![
                    r#"{"type":"message_start","message":{"model":"claude-x","stop_reason":null}}"#,
                    r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"stop_reason\": \"no"}}"#,
                    r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#,
                ],
                "claude-x",
                vec!["tool_use"],
            ),
            (
                vec![
                    r#"{"type":"response.created","response":{"model":"gpt-5","status":"in_progress"}}"#,
                    r#"{"type":"response.incomplete","response":{"model":"gpt-5","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}"#,
                ],
                "gpt-5",
                vec!["max_output_tokens"],
            ),
            (
                vec![
                    r#"{"candidates":[{"content":{}}],"modelVersion":"gemini-3"}"#,
                    r#"{"candidates":[{"finishReason":"STOP"}],"modelVersion":"gemini-3"}"#,
                ],
                "gemini-3",
                vec!["STOP"],
            ),
        ] {
            let mut facts = ResponseFacts::default();
            events.iter().for_each(|event| facts.read_event(event.as_bytes()));
            assert_eq!(facts.model.as_deref(), Some(model));
            assert_eq!(facts.finish_reasons, reasons);
        }
    }

    #[test]
    fn documents_are_read_leniently() {
        let mut facts = ResponseFacts::default();
        facts.read(br#"{"model":5,"status":400,"choices":"none","stop_reason":"end_turn"}"#);
        assert_eq!(facts, ResponseFacts { model: None, finish_reasons: vec!["end_turn".into()] });
        let mut facts = ResponseFacts::default();
        facts.read(b"<html>");
        facts.read_event(b"[DONE]");
        assert_eq!(facts, ResponseFacts::default());
        facts.read(br#"{"model":"text-embedding-3","data":[]}"#);
        assert_eq!(facts.model.as_deref(), Some("text-embedding-3"));
    }
}
