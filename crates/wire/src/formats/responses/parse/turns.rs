//! Parses input items into turns.

use std::collections::HashSet;

use domain::call::Format;
use domain::canon::{self, Content, Opaque, Part, Role, Thinking, ToolCall, ToolResult, Turn};
use domain::fault::{self, Fault};
use serde_json::Value;

use super::content;
use crate::members::{Members, wrong};

/// Item types of provider-run tools, and others that only this format has, from the assistant.
const FOREIGN_CALLS: &[&str] = &[
    "file_search_call",
    "web_search_call",
    "computer_call",
    "image_generation_call",
    "code_interpreter_call",
    "local_shell_call",
    "shell_call",
    "apply_patch_call",
    "tool_search_call",
    "mcp_list_tools",
    "mcp_approval_request",
    "mcp_call",
    "compaction",
    "compaction_summary",
    "context_compaction",
];

/// The corresponding results, and other items that clients add.
const FOREIGN_RESULTS: &[&str] = &[
    "computer_call_output",
    "local_shell_call_output",
    "shell_call_output",
    "apply_patch_call_output",
    "tool_search_output",
    "mcp_approval_response",
    "compaction_trigger",
];

pub struct Conversation {
    turns: Vec<Turn>,
    /// State that may belong to the next call.
    waiting: Option<(Opaque, String)>,
    /// Ids of calls of foreign tools; their results are foreign as well.
    foreign: HashSet<String>,
    /// Tools found among the items, with their paths.
    tools: Vec<(String, Value)>,
}

impl Conversation {
    pub fn new(turns: Vec<Turn>) -> Self {
        Self { turns, waiting: None, foreign: HashSet::new(), tools: Vec::new() }
    }

    pub fn read(&mut self, items: Vec<Value>) -> Result<(), Fault> {
        for (index, item) in items.into_iter().enumerate() {
            self.item(item, format!("input[{index}]"))?;
        }
        Ok(())
    }

    pub fn finish(mut self) -> (Vec<Turn>, Vec<(String, Value)>) {
        self.settle();
        (self.turns, self.tools)
    }

    /// Adds a separate turn.
    pub fn push_turn(&mut self, role: Role, parts: Vec<Part>) {
        self.turns.push(Turn::new(role, parts));
    }

    /// Adds parts; consecutive parts of the same role share a turn.
    fn add(&mut self, role: Role, parts: Vec<Part>) {
        match self.turns.last_mut() {
            Some(turn) if turn.role == role => turn.parts.extend(parts),
            _ => self.push_turn(role, parts),
        }
    }

    fn item(&mut self, value: Value, place: String) -> Result<(), Fault> {
        let kind = match &value["type"] {
            Value::String(kind) => kind.clone(),
            Value::Null if !value["role"].is_null() => "message".to_owned(),
            _ if value.is_object() => return Err(wrong(format!("{place}.type"), "a string")),
            _ => return Err(wrong(&place, "an object")),
        };
        if !matches!(kind.as_str(), "function_call" | "custom_tool_call") {
            self.settle();
        }
        match kind.as_str() {
            "message" => self.message(Members::of(value, place)?),
            "function_call" | "custom_tool_call" => {
                self.call(Members::of(value, place)?, kind == "custom_tool_call")
            }
            "function_call_output" | "custom_tool_call_output" => self.result(value, place),
            "reasoning" => self.reasoning(Members::of(value, place)?),
            "additional_tools" => {
                let mut item = Members::of(value, place)?;
                let place = item.path("tools");
                let tools = item.array("tools")?.unwrap_or_default().into_iter().enumerate();
                self.tools.extend(tools.map(|(index, tool)| (format!("{place}[{index}]"), tool)));
                Ok(())
            }
            known if FOREIGN_CALLS.contains(&known) => {
                self.foreign.extend(value["call_id"].as_str().map(str::to_owned));
                self.add(Role::Assistant, vec![foreign(value, place)]);
                Ok(())
            }
            known if FOREIGN_RESULTS.contains(&known) => {
                self.add(Role::Tool, vec![foreign(value, place)]);
                Ok(())
            }
            other => Err(refuse(other, place)),
        }
    }

    fn message(&mut self, mut item: Members) -> Result<(), Fault> {
        let role = match item.required_string("role")?.as_str() {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            "system" => Role::System,
            "developer" => Role::Developer,
            _ => return Err(item.fault("role", "must be 'user', 'assistant', 'system' or 'developer'.")),
        };
        let parts = content::read(&mut item, "content")?;
        match role {
            Role::Assistant => self.add(role, parts),
            _ => self.push_turn(role, parts),
        }
        Ok(())
    }

    fn call(&mut self, mut item: Members, custom: bool) -> Result<(), Fault> {
        let namespace = item.string("namespace")?;
        let call = ToolCall {
            id: item.required_string("call_id")?,
            name: canon::flat_name(namespace.as_deref(), &item.required_string("name")?),
            arguments: item.required_string(if custom { "input" } else { "arguments" })?,
            custom,
            opaque: self.waiting.take().map(|(opaque, _)| opaque),
        };
        self.add(Role::Assistant, vec![Part::new(Content::ToolCall(call)).at(item.into_path())]);
        Ok(())
    }

    fn result(&mut self, value: Value, place: String) -> Result<(), Fault> {
        if value["call_id"].as_str().is_some_and(|id| self.foreign.contains(id)) {
            self.add(Role::Tool, vec![foreign(value, place)]);
            return Ok(());
        }
        let mut item = Members::of(value, place)?;
        let call_id = item.required_string("call_id")?;
        let mut parts = content::read(&mut item, "output")?;
        parts.retain(|part| part.as_text() != Some(""));
        let result = ToolResult { call_id, name: None, parts, is_error: false };
        self.add(Role::Tool, vec![Part::new(Content::ToolResult(result)).at(item.into_path())]);
        Ok(())
    }

    fn reasoning(&mut self, mut item: Members) -> Result<(), Fault> {
        let mut texts = Vec::new();
        for name in ["summary", "content"] {
            if item.peek(name).is_some() && texts.is_empty() {
                let parts = content::read(&mut item, name)?;
                texts.extend(parts.iter().filter_map(Part::as_text).map(str::to_owned));
            }
        }
        let text = texts.join("\n\n");
        let Some(encrypted) = item.string("encrypted_content")?.filter(|state| !state.is_empty()) else {
            let thinking = Thinking { text, opaque: None };
            self.add(Role::Assistant, vec![Part::new(Content::Thinking(thinking)).at(item.into_path())]);
            return Ok(());
        };
        let mut opaque = Opaque::open(&encrypted, Format::Responses);
        let readable = opaque.text.take();
        let of_a_call = readable.as_deref() == Some("")
            || (opaque.origin.format == Format::Gemini && readable.is_none() && !opaque.whole);
        if of_a_call && text.is_empty() {
            self.waiting = Some((opaque, item.into_path()));
            return Ok(());
        }
        let thinking = Thinking { text: readable.unwrap_or(text), opaque: Some(opaque) };
        self.add(Role::Assistant, vec![Part::new(Content::Thinking(thinking)).at(item.into_path())]);
        Ok(())
    }

    /// Places pending state if no call follows: on the call before it, or as reasoning of its own.
    fn settle(&mut self) {
        let Some((opaque, place)) = self.waiting.take() else { return };
        let last = self.turns.last_mut().and_then(|turn| turn.parts.last_mut());
        if let Some(Part { content: Content::ToolCall(call), .. }) = last
            && call.opaque.is_none()
        {
            call.opaque = Some(opaque);
            return;
        }
        let thinking = Thinking { text: String::new(), opaque: Some(opaque) };
        self.add(Role::Assistant, vec![Part::new(Content::Thinking(thinking)).at(place)]);
    }
}

fn foreign(value: Value, place: String) -> Part {
    Part::new(Content::Foreign { format: Format::Responses, value }).at(place)
}

fn refuse(kind: &str, place: String) -> Fault {
    let path = format!("{place}.type");
    let message = if kind == "item_reference" {
        format!("'{path}': 'item_reference' points to an item at another provider; send the item itself.")
    } else {
        format!(
            "'{path}' must be 'message', 'reasoning', 'function_call', 'function_call_output', \
             'custom_tool_call', 'custom_tool_call_output' or another item type of the Responses API."
        )
    };
    fault::invalid_parameter(path, message)
}
