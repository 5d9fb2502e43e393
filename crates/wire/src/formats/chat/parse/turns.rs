//! Parses messages into turns: one each, except that consecutive tool results share one.

use domain::call::Format;
use domain::canon::{Content, Part, Role, Thinking, ToolCall, ToolResult, Turn};
use domain::fault::{self, Fault};
use serde_json::{Value, json};

use super::content::{self, Allowed};
use crate::formats::chat::details::{self, Detail};
use crate::members::{Members, wrong};

pub fn read(messages: Vec<Value>) -> Result<Vec<Turn>, Fault> {
    let mut reader = Reader { turns: Vec::with_capacity(messages.len()), functions: Vec::new() };
    for (index, message) in messages.into_iter().enumerate() {
        let place = format!("messages[{index}]");
        let message = Members::of(message, place.clone())?;
        reader.message(message, &place)?;
    }
    Ok(reader.turns)
}

struct Reader {
    turns: Vec<Turn>,
    /// Names of the legacy function calls, which have no ids.
    functions: Vec<String>,
}

impl Reader {
    fn message(&mut self, mut message: Members, place: &str) -> Result<(), Fault> {
        let role = message.required_string("role")?;
        match role.as_str() {
            "system" => self.turn_with_content(Role::System, message, place, Allowed::Text),
            "developer" => self.turn_with_content(Role::Developer, message, place, Allowed::Text),
            "user" => self.turn_with_content(Role::User, message, place, Allowed::Media),
            "assistant" => self.assistant(message, place),
            "tool" => {
                let call_id = message.required_string("tool_call_id")?;
                self.result(call_id, message, place)
            }
            "function" => {
                let name = message.required_string("name")?;
                let call_id = self.function_id(&name, place)?;
                self.result(call_id, message, place)
            }
            other => {
                let allowed = "'system', 'developer', 'user', 'assistant', 'tool' and 'function'";
                Err(message.unknown("role", other, allowed))
            }
        }
    }

    fn turn_with_content(
        &mut self,
        role: Role,
        mut message: Members,
        place: &str,
        allowed: Allowed,
    ) -> Result<(), Fault> {
        let Some(value) = message.take("content") else { return Err(message.missing("content")) };
        let mut parts = content::read(value, place, allowed)?;
        mark(&mut parts, &mut message);
        keep_rest(&mut parts, message, place);
        self.turns.push(Turn::new(role, parts));
        Ok(())
    }

    fn result(&mut self, call_id: String, mut message: Members, place: &str) -> Result<(), Fault> {
        let mut parts = match message.take("content") {
            Some(value) => content::read(value, place, Allowed::Media)?,
            None => Vec::new(),
        };
        let cache = message.cache_mark();
        parts.retain(|part| part.as_text() != Some(""));
        let result = ToolResult { call_id, name: None, parts, is_error: false };
        let part = Part::new(Content::ToolResult(result)).cached(cache).at(place);
        match self.turns.last_mut() {
            Some(turn) if turn.role == Role::Tool => turn.parts.push(part),
            _ => self.turns.push(Turn::new(Role::Tool, vec![part])),
        }
        Ok(())
    }

    fn assistant(&mut self, mut message: Members, place: &str) -> Result<(), Fault> {
        let mut words = match message.take("content") {
            Some(value) => content::read(value, place, Allowed::Answer)?,
            None => Vec::new(),
        };
        words.retain(|part| part.as_text() != Some(""));
        mark(&mut words, &mut message);
        if let Some(refusal) = message.string("refusal")?.filter(|text| !text.is_empty()) {
            words.push(Part::new(Content::Refusal(refusal)).at(format!("{place}.refusal")));
        }
        let mut calls = read_calls(&mut message)?;
        if let Some(mut call) = message.object("function_call")? {
            let name = call.required_string("name")?;
            self.functions.push(name.clone());
            let id = self.function_id(&name, place)?;
            let arguments = call.string("arguments")?.unwrap_or_default();
            let call = ToolCall { id, name, arguments, custom: false, opaque: None };
            calls.push(Part::new(Content::ToolCall(call)).at(format!("{place}.function_call")));
        }
        let mut parts = read_thinking(&mut message, &mut calls, place)?;
        parts.append(&mut words);
        parts.append(&mut calls);
        message.take("annotations");
        keep_rest(&mut parts, message, place);
        self.turns.push(Turn::new(Role::Assistant, parts));
        Ok(())
    }

    /// The generated id of the latest legacy call of a function. Repeated calls of a function get distinct ids.
    fn function_id(&self, name: &str, place: &str) -> Result<String, Fault> {
        match self.functions.iter().filter(|called| *called == name).count() {
            0 => {
                let param = format!("{place}.name");
                let message = format!("'{param}': no earlier message calls the function '{name}'.");
                Err(fault::invalid_parameter(param, message))
            }
            1 => Ok(format!("call_{name}")),
            count => Ok(format!("call_{name}_{count}")),
        }
    }
}

/// Applies a cache mark on the message to its last part.
fn mark(parts: &mut [Part], message: &mut Members) {
    if let (Some(mark), Some(last)) = (message.cache_mark(), parts.last_mut()) {
        last.cache.get_or_insert(mark);
    }
}

/// Keeps message members that only this format has, including `name`, each as a part of its own.
fn keep_rest(parts: &mut Vec<Part>, message: Members, place: &str) {
    for (name, value) in message.rest() {
        let void =
            value.as_array().is_some_and(Vec::is_empty) || value.as_object().is_some_and(|it| it.is_empty());
        if !void {
            let place = format!("{place}.{name}");
            parts.push(
                Part::new(Content::Foreign { format: Format::Chat, value: json!({ name: value }) }).at(place),
            );
        }
    }
}

fn read_calls(message: &mut Members) -> Result<Vec<Part>, Fault> {
    let calls = message.array("tool_calls")?.unwrap_or_default();
    let read = |(index, call)| {
        let place = message.path(&format!("tool_calls[{index}]"));
        let mut call = Members::of(call, place.clone())?;
        let id = call.required_string("id")?;
        let kind = call.string("type")?.unwrap_or_else(|| "function".to_owned());
        let custom = match kind.as_str() {
            "function" => false,
            "custom" => true,
            other => return Err(call.unknown("type", other, "'function' and 'custom'")),
        };
        let mut called = call.required_object(&kind)?;
        let name = called.required_string("name")?;
        let arguments = match custom {
            true => called.string("input")?.unwrap_or_default(),
            false => called.string("arguments")?.unwrap_or_default(),
        };
        Ok(Part::new(Content::ToolCall(ToolCall { id, name, arguments, custom, opaque: None })).at(place))
    };
    calls.into_iter().enumerate().map(read).collect()
}

/// Reads reasoning, which comes first in a turn. State that names a tool call is attached to that call.
fn read_thinking(message: &mut Members, calls: &mut [Part], place: &str) -> Result<Vec<Part>, Fault> {
    let plain = message.string("reasoning_content")?;
    let plain = match message.take("reasoning") {
        Some(Value::String(text)) => plain.or(Some(text)),
        Some(_) if plain.is_none() => return Err(wrong(message.path("reasoning"), "a string")),
        _ => plain,
    };
    let mut thoughts: Vec<(Thinking, usize)> = Vec::new();
    let mut signed = None;
    for (index, entry) in message.array("reasoning_details")?.unwrap_or_default().into_iter().enumerate() {
        let path = format!("{place}.reasoning_details[{index}]");
        let Value::Object(entry) = entry else { return Err(wrong(&path, "an object")) };
        let detail = Detail::read(entry);
        if let Some(call) = detail.id.as_deref().and_then(|id| find_call(calls, id)) {
            call.opaque = detail.opaque_of_call("");
            continue;
        }
        let has_text = !detail.text.is_empty();
        // State without text belongs to the text before it.
        if let Some((last, _)) = thoughts.last_mut().filter(|(last, _)| last.opaque.is_none() && !has_text) {
            let text = std::mem::take(&mut last.text);
            *last = details::thought(text, detail.opaque_of_thought("", true));
            continue;
        }
        if signed.is_none() && detail.is_text() {
            signed = Some(thoughts.len());
        }
        let opaque = detail.opaque_of_thought("", has_text);
        thoughts.push((details::thought(detail.text, opaque), index));
    }
    let has_text = thoughts.iter().any(|(thinking, _)| !thinking.text.is_empty());
    if let Some(text) = plain.filter(|text| !has_text && !text.is_empty()) {
        match signed {
            Some(at) => thoughts[at].0.text = text,
            None => thoughts.insert(0, (Thinking { text, opaque: None }, 0)),
        }
    }
    thoughts.retain(|(thinking, _)| !thinking.text.is_empty() || thinking.opaque.is_some());
    let part = |(thinking, index): (Thinking, usize)| {
        Part::new(Content::Thinking(thinking)).at(format!("{place}.reasoning_details[{index}]"))
    };
    Ok(thoughts.into_iter().map(part).collect())
}

fn find_call<'a>(calls: &'a mut [Part], id: &str) -> Option<&'a mut ToolCall> {
    calls.iter_mut().find_map(|part| match &mut part.content {
        Content::ToolCall(call) if call.id == id => Some(call),
        _ => None,
    })
}
