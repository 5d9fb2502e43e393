//! Encodes turns as chat messages.

use domain::call::Format;
use domain::canon::{Content, Field, Part, Role, ToolResult, Turn};
use serde_json::{Map, Value, json};

use super::Encoder;
use super::parts::plain_text;
use super::tools::call_id;
use crate::formats::chat::details;

/// Placeholder for reasoning that was not kept.
const UNKNOWN_THOUGHTS: &str = "(not kept)";

impl Encoder<'_> {
    pub(super) fn messages(&mut self) -> Vec<Value> {
        let mut messages = Vec::with_capacity(self.prompt.turns.len());
        let mut begun = false;
        for turn in &self.prompt.turns {
            begun |= !matches!(turn.role, Role::System | Role::Developer);
            match turn.role {
                // Some models accept instructions only at the beginning.
                Role::System | Role::Developer if begun && !self.rules.system_turns => {
                    self.message("user", turn, &mut messages);
                }
                Role::System => self.message("system", turn, &mut messages),
                Role::Developer if self.target.vendor.quirks.developer_role => {
                    self.message("developer", turn, &mut messages);
                }
                Role::Developer => self.message("system", turn, &mut messages),
                Role::User => self.message("user", turn, &mut messages),
                Role::Assistant => self.assistant(turn, &mut messages),
                Role::Tool => self.results(&turn.parts, &mut messages),
            }
        }
        if let Some(instruction) = self.instruction.take() {
            let is_system = |message: &&Value| message["role"] == "system" || message["role"] == "developer";
            let first = messages.iter().take_while(is_system).count();
            messages.insert(first, json!({"role": "system", "content": instruction}));
        }
        messages
    }

    fn message(&mut self, role: &str, turn: &Turn, messages: &mut Vec<Value>) {
        let own = |part: &&Part| !matches!(part.content, Content::Foreign { .. } | Content::ToolResult(_));
        let parts: Vec<&Part> = turn.parts.iter().filter(own).collect();
        let content = match role {
            "user" => self.mixed(&parts),
            _ => self.words(&parts),
        };
        let results: Vec<Part> = turn
            .parts
            .iter()
            .filter(|part| matches!(part.content, Content::ToolResult(_)))
            .cloned()
            .collect();
        if !results.is_empty() {
            self.results(&results, messages);
        }
        if parts.is_empty() && !results.is_empty() {
            return;
        }
        let mut message = Map::from_iter([("role".to_owned(), role.into()), ("content".to_owned(), content)]);
        self.foreign_members(turn, &mut message);
        messages.push(message.into());
    }

    fn assistant(&mut self, turn: &Turn, messages: &mut Vec<Value>) {
        let mut message = Map::from_iter([("role".to_owned(), Value::from("assistant"))]);
        let (mut words, mut refusals, mut calls) = (Vec::new(), Vec::new(), Vec::new());
        for part in &turn.parts {
            match &part.content {
                Content::Text(text) if text.is_empty() => {}
                Content::Text(_) => words.push(part),
                Content::Refusal(text) => refusals.push(text.as_str()),
                Content::ToolCall(made) => calls.push(self.call(made)),
                Content::Thinking(_) | Content::Foreign { .. } => {}
                Content::Image(_) | Content::Document(_) | Content::Audio(_) | Content::ToolResult(_) => {
                    self.drop_part(part);
                }
            }
        }
        let content = match words.is_empty() {
            true if calls.is_empty() && refusals.is_empty() => "".into(),
            true => Value::Null,
            false => self.words(&words),
        };
        // A turn that only holds reasoning this model cannot read is omitted.
        let empty = content == "" && !turn.parts.is_empty();
        message.insert("content".into(), content);
        if !refusals.is_empty() {
            message.insert("refusal".into(), refusals.join("\n\n").into());
        }
        self.thoughts(turn, &mut message);
        if !calls.is_empty() {
            message.insert("tool_calls".into(), calls.into());
        }
        self.foreign_members(turn, &mut message);
        if !empty || message.len() > 2 {
            messages.push(message.into());
        }
    }

    /// Adds reasoning that this model produced, or unsigned reasoning for servers that expect it back.
    fn thoughts(&mut self, turn: &Turn, message: &mut Map<String, Value>) {
        let (mut texts, mut entries) = (Vec::new(), Vec::new());
        let fits = |opaque: &domain::canon::Opaque| opaque.fits(Format::Chat, self.target.model);
        for part in &turn.parts {
            match &part.content {
                Content::Thinking(thinking) => match &thinking.opaque {
                    Some(opaque) if fits(opaque) => {
                        entries.extend(details::for_provider(&thinking.text, opaque));
                        texts.push(thinking.text.as_str());
                    }
                    Some(_) => {}
                    None => texts.push(thinking.text.as_str()),
                },
                Content::ToolCall(call) => {
                    let opaque = call.opaque.as_ref().filter(|opaque| fits(opaque));
                    entries.extend(opaque.map(|opaque| details::of_call(&call.id, opaque, true)));
                }
                _ => {}
            }
        }
        texts.retain(|text| !text.is_empty());
        let called = turn.parts.iter().any(|part| matches!(part.content, Content::ToolCall(_)));
        // These servers reject a tool call without reasoning, even if another model made it.
        if texts.is_empty() && called {
            texts.push(UNKNOWN_THOUGHTS);
        }
        if self.rules.wants_signatures && !texts.is_empty() {
            message.insert("reasoning_content".into(), texts.join("\n\n").into());
        }
        if !entries.is_empty() {
            message.insert("reasoning_details".into(), json!(entries));
        }
    }

    /// Adds message members that only chat completions have; those of other formats are dropped.
    fn foreign_members(&mut self, turn: &Turn, message: &mut Map<String, Value>) {
        for part in &turn.parts {
            match &part.content {
                Content::Foreign { format: Format::Chat, value: Value::Object(members) } => {
                    message.extend(members.clone());
                }
                Content::Foreign { .. } => self.drop_part(part),
                _ => {}
            }
        }
    }

    /// Writes one message per tool result; content other than text follows them all in a user message.
    fn results(&mut self, parts: &[Part], messages: &mut Vec<Value>) {
        let mut shown: Vec<Value> = Vec::new();
        for part in parts {
            match &part.content {
                Content::ToolResult(result) => {
                    let mut message = self.result(result, &mut shown);
                    self.cache_mark(part.cache, &mut message);
                    messages.push(message);
                }
                _ => shown.extend(self.part(part)),
            }
        }
        if !shown.is_empty() {
            messages.push(json!({"role": "user", "content": shown}));
        }
    }

    fn result(&mut self, result: &ToolResult, shown: &mut Vec<Value>) -> Value {
        if result.is_error {
            self.drop_field(Field::IsError);
        }
        let texts: Vec<&Part> = result.parts.iter().filter(|part| plain_text(part).is_some()).collect();
        let content = self.words(&texts);
        let others: Vec<Value> = result
            .parts
            .iter()
            .filter(|part| plain_text(part).is_none())
            .filter_map(|part| self.part(part))
            .collect();
        if !others.is_empty() {
            let name = result.name.as_deref().unwrap_or("tool");
            let text = format!("Result of the call {} of {name}:", result.call_id);
            shown.push(json!({"type": "text", "text": text}));
            shown.extend(others);
        }
        let id = call_id(&result.call_id, self.target.vendor.quirks.call_ids);
        json!({"role": "tool", "tool_call_id": id, "content": content})
    }
}
