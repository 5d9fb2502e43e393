//! Parses contents into turns. User content with function responses becomes tool turns and user turns.

use domain::call::Format;
use domain::canon::{Content, Opaque, Part, Prompt, Role, Thinking, ToolCall, ToolResult, Turn};
use domain::fault::Fault;
use serde_json::Value;

use super::media;
use super::node::Node;

/// Parts that only this format has; they are kept unchanged and not sent to other formats.
const FOREIGN: &[&str] =
    &["executableCode", "codeExecutionResult", "toolCall", "toolResponse", "videoMetadata"];

pub fn system(node: &Node<'_>) -> Result<Turn, Fault> {
    if let Some(text) = node.value.as_str() {
        return Ok(Turn::new(Role::System, vec![Part::text(text).at(node.path.clone())]));
    }
    let mut parts = Vec::new();
    for part in node.required("parts")?.list()? {
        let text = part.required("text")?.text()?;
        parts.push(Part::text(text).at(part.path));
    }
    Ok(Turn::new(Role::System, parts))
}

pub fn read(root: &Node<'_>, prompt: &mut Prompt) -> Result<(), Fault> {
    let mut reader = Reader { calls: Vec::new() };
    for (index, content) in root.required("contents")?.list()?.iter().enumerate() {
        reader.content(index, content, &mut prompt.turns)?;
    }
    Ok(())
}

struct Reader {
    calls: Vec<Called>,
}

/// A call and whether it was answered by a result.
struct Called {
    id: String,
    name: String,
    answered: bool,
}

impl Reader {
    fn content(&mut self, index: usize, content: &Node<'_>, turns: &mut Vec<Turn>) -> Result<(), Fault> {
        content.members()?;
        let model = match content.get("role") {
            None => false,
            Some(role) => match role.text()? {
                "model" => true,
                "user" | "function" | "" => false,
                _ => return Err(role.refuse("must be 'user', 'model' or 'function'")),
            },
        };
        let parts = content.get("parts").map(|parts| parts.list()).transpose()?.unwrap_or_default();
        if model {
            let mut turn = Turn::new(Role::Assistant, Vec::new());
            for part in &parts {
                self.model_part(index, part, &mut turn.parts)?;
            }
            turns.push(turn);
            return Ok(());
        }
        let mut last = None;
        for node in &parts {
            let part = self.user_part(node)?;
            let role = if matches!(part.content, Content::ToolResult(_)) { Role::Tool } else { Role::User };
            match turns.last_mut().filter(|_| last == Some(role)) {
                Some(turn) => turn.parts.push(part),
                None => turns.push(Turn::new(role, vec![part])),
            }
            last = Some(role);
        }
        if parts.is_empty() {
            turns.push(Turn::new(Role::User, Vec::new()));
        }
        Ok(())
    }

    fn user_part(&mut self, node: &Node<'_>) -> Result<Part, Fault> {
        node.members()?;
        let content = if let Some(text) = node.get("text") {
            Content::Text(text.text()?.to_owned())
        } else if let Some(response) = node.get("functionResponse") {
            Content::ToolResult(self.result(&response)?)
        } else if let Some(content) = media::read(node)? {
            content
        } else {
            foreign(node)?
        };
        Ok(Part::new(content).at(node.path.clone()))
    }

    fn model_part(&mut self, index: usize, node: &Node<'_>, parts: &mut Vec<Part>) -> Result<(), Fault> {
        node.members()?;
        let signature = node.get("thoughtSignature").map(|signature| signature.text()).transpose()?;
        if let Some(call) = node.get("functionCall") {
            let call = self.call(index, &call)?;
            let opaque = signature.map(|signature| Opaque::open(signature, Format::Gemini));
            push_call(call, opaque, node, parts);
            return Ok(());
        }
        let text = node.get("text").map(|text| text.text()).transpose()?;
        let thought = node.get("thought").map(|thought| thought.boolean()).transpose()?.unwrap_or(false);
        if text.is_none() && (signature.is_none() || !node.rest(&["thought", "thoughtSignature"]).is_empty())
        {
            parts.push(Part::new(foreign(node)?).at(node.path.clone()));
            return Ok(());
        }
        let text = text.unwrap_or_default();
        if thought {
            push_thinking(text, signature, node, parts);
            return Ok(());
        }
        if !text.is_empty() || signature.is_none() {
            parts.push(Part::text(text).at(node.path.clone()));
        }
        if signature.is_some() {
            push_thinking("", signature, node, parts);
        }
        Ok(())
    }

    /// Reads a call. A missing id is derived from its position, so that it is the same whenever the conversation is
    /// sent again.
    fn call(&mut self, index: usize, node: &Node<'_>) -> Result<ToolCall, Fault> {
        let name = node.required("name")?.text()?.to_owned();
        let id = node.get("id").map(|id| id.text()).transpose()?.filter(|id| !id.is_empty());
        let id = id.map_or_else(
            || {
                let prefix = format!("call_{index}_");
                let count = self.calls.iter().filter(|call| call.id.starts_with(&prefix)).count();
                format!("{prefix}{count}")
            },
            str::to_owned,
        );
        let arguments = match node.get("args") {
            None => "{}".to_owned(),
            Some(args) => {
                args.members()?;
                args.value.to_string()
            }
        };
        self.calls.push(Called { id: id.clone(), name: name.clone(), answered: false });
        Ok(ToolCall { id, name, arguments, custom: false, opaque: None })
    }

    fn result(&mut self, node: &Node<'_>) -> Result<ToolResult, Fault> {
        let name = node.required("name")?.text()?;
        let id = node.get("id").map(|id| id.text()).transpose()?;
        // Some clients number the results of calls without an id: those are matched by name and order.
        let position = id
            .and_then(|id| self.calls.iter().rposition(|call| call.id == id))
            .or_else(|| self.calls.iter().position(|call| call.name == name && !call.answered));
        let Some(call) = position.map(|position| &mut self.calls[position]) else {
            return Err(node.refuse(&format!("answers no earlier functionCall of the name '{name}'")));
        };
        call.answered = true;
        let (text, is_error) = match node.get("response") {
            None => (String::new(), false),
            Some(response) => read_tool_response(&response)?,
        };
        let mut parts = Vec::new();
        if !text.is_empty() {
            parts.push(Part::text(text).at(format!("{}.response", node.path)));
        }
        for part in node.get("parts").map(|parts| parts.list()).transpose()?.unwrap_or_default() {
            let content = match media::read(&part)? {
                Some(content) => content,
                None => foreign(&part)?,
            };
            parts.push(Part::new(content).at(part.path));
        }
        Ok(ToolResult { call_id: call.id.clone(), name: Some(call.name.clone()), parts, is_error })
    }
}

/// Reads a response object; one that only wraps an output or an error is unwrapped.
fn read_tool_response(response: &Node<'_>) -> Result<(String, bool), Fault> {
    let members = response.members()?;
    let plain = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut only = members.iter().filter(|_| members.len() == 1);
    Ok(match only.next().map(|(key, value)| (key.as_str(), value)) {
        Some(("result" | "output", Value::String(text))) => (text.clone(), false),
        Some(("error", value)) if !value.is_null() => (plain(value), true),
        _ => (response.value.to_string(), false),
    })
}

/// Adds a thinking part. Consecutive pieces are merged into one; the last one carries the state.
fn push_thinking(text: &str, signature: Option<&str>, node: &Node<'_>, parts: &mut Vec<Part>) {
    let mut thinking = Thinking { text: text.to_owned(), opaque: None };
    let last = parts.last().map(|part| &part.content);
    if let Some(Content::Thinking(Thinking { text: begun, opaque: None })) = last {
        thinking.text.insert_str(0, begun);
        parts.pop();
    }
    thinking.opaque = signature.map(|signature| {
        let mut opaque = Opaque::open(signature, Format::Gemini);
        let native = opaque.origin.format == Format::Gemini && opaque.origin.model.is_empty();
        opaque.whole = if native { thinking.text.is_empty() } else { opaque.whole };
        opaque
    });
    if let Some(text) = thinking.opaque.as_ref().and_then(|opaque| opaque.text.clone()) {
        thinking.text = text;
    }
    parts.push(Part::new(Content::Thinking(thinking)).at(node.path.clone()));
}

/// Adds a call. State of another format is attached to the call because Gemini clients do not send thoughts back; it is
/// restored as thinking before the call.
fn push_call(mut call: ToolCall, opaque: Option<Opaque>, node: &Node<'_>, parts: &mut Vec<Part>) {
    let known = |opaque: &Opaque| {
        parts.iter().any(|part| match &part.content {
            Content::Thinking(thinking) => {
                thinking.opaque.as_ref().is_some_and(|own| own.data == opaque.data)
            }
            _ => false,
        })
    };
    match opaque {
        Some(opaque) if opaque.origin.format != Format::Gemini => {
            if !known(&opaque) {
                let text = opaque.text.clone().unwrap_or_default();
                let thinking = Thinking { text, opaque: Some(opaque) };
                parts.push(Part::new(Content::Thinking(thinking)).at(node.path.clone()));
            }
        }
        opaque => call.opaque = opaque,
    }
    parts.push(Part::new(Content::ToolCall(call)).at(node.path.clone()));
}

fn foreign(node: &Node<'_>) -> Result<Content, Fault> {
    let known = FOREIGN.iter().chain(&["inlineData", "fileData"]);
    if known.into_iter().any(|name| node.get(name).is_some()) {
        return Ok(Content::Foreign { format: Format::Gemini, value: node.value.clone() });
    }
    Err(node.refuse(
        "must have one of 'text', 'inlineData', 'fileData', 'functionCall' (from the model), 'functionResponse' \
         (from the user), 'executableCode' or 'codeExecutionResult'",
    ))
}
