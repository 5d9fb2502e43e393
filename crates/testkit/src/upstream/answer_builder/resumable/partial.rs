//! A partial answer in a request, and the request to continue it.

use serde_json::Value;

pub(super) struct PartialAnswer {
    pub text: String,
    /// The text after the partial answer.
    pub request: String,
}

impl PartialAnswer {
    /// Minimum length of a quotation; shorter matches are coincidental.
    const LEAST_QUOTED: usize = 8;

    pub fn find(body: &Value) -> Option<Self> {
        let turns = ["messages", "input", "contents"].iter().find_map(|member| body[*member].as_array())?;
        let is_assistant = |turn: &Value| matches!(turn["role"].as_str(), Some("assistant" | "model"));
        let index = turns.iter().rposition(is_assistant)?;
        let request = turns[index + 1..].iter().map(text_of_turn).collect();
        Some(Self { text: text_of_turn(&turns[index]), request })
    }

    /// Number of characters at the end of the partial answer that the request quotes.
    pub fn quoted(&self) -> Option<usize> {
        let ends = self.text.char_indices().map(|(start, _)| &self.text[start..]);
        let mut ends = ends.map(str::trim_end);
        let quoted = ends.find(|end| !end.is_empty() && self.request.contains(end))?;
        let trailing = self.text.chars().count() - self.text.trim_end().chars().count();
        let length = quoted.chars().count() + trailing;
        (length >= Self::LEAST_QUOTED || length == self.text.chars().count()).then_some(length)
    }
}

fn text_of_turn(turn: &Value) -> String {
    match turn.get("content").or_else(|| turn.get("parts")) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    }
}
