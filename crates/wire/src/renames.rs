//! Renames tools whose names a provider does not accept, and restores the names in the answer.

use std::collections::HashMap;

use domain::call::Format;
use domain::canon::{Block, Content, Event, Part, Prompt, Reply, Tool, ToolChoice};

use crate::fingerprint::fingerprint;

/// Client's tool name by the name sent to the provider; usually empty.
#[derive(Clone, Debug, Default)]
pub struct Renames(HashMap<String, String>);

impl Renames {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Renames every tool in the prompt that the format does not accept.
    pub fn fit(prompt: &mut Prompt, format: Format) -> Self {
        let mut renames = Self::default();
        for tool in &mut prompt.tools {
            let (Some(flat), false) = (tool.flat_name(), matches!(tool, Tool::Foreign(_))) else { continue };
            if fits(&flat, format) {
                continue;
            }
            let sent = renames.sent(&flat, format);
            match tool {
                Tool::Function(tool) => (tool.namespace, tool.name) = (None, sent),
                Tool::Custom(tool) => (tool.namespace, tool.name) = (None, sent),
                Tool::Foreign(_) => {}
            }
        }
        for part in prompt.turns.iter_mut().flat_map(|turn| &mut turn.parts) {
            renames.fit_part(part, format);
        }
        match &mut prompt.tool_choice {
            Some(ToolChoice::Named(name)) => renames.replace(name, format),
            Some(ToolChoice::Among { names, .. }) => {
                names.iter_mut().for_each(|name| renames.replace(name, format))
            }
            _ => {}
        }
        renames
    }

    pub fn restore(&self, event: &mut Event) {
        if let Event::Open { block: Block::ToolCall { name, .. }, .. } = event {
            self.give_back(name);
        }
    }

    pub fn restore_reply(&self, reply: &mut Reply) {
        for part in &mut reply.parts {
            if let Content::ToolCall(call) = &mut part.content {
                self.give_back(&mut call.name);
            }
        }
    }

    fn fit_part(&mut self, part: &mut Part, format: Format) {
        match &mut part.content {
            Content::ToolCall(call) => self.replace(&mut call.name, format),
            Content::ToolResult(result) => {
                if let Some(name) = &mut result.name {
                    self.replace(name, format);
                }
            }
            _ => {}
        }
    }

    fn replace(&mut self, name: &mut String, format: Format) {
        if !fits(name, format) {
            *name = self.sent(name, format);
        }
    }

    /// The name to send. It is deterministic, so that a tool keeps its name from turn to turn.
    fn sent(&mut self, name: &str, format: Format) -> String {
        let legal: String = name.chars().map(|letter| if is_legal(letter) { letter } else { '_' }).collect();
        let hash = fingerprint(name.as_bytes());
        let kept: String = legal.chars().take(longest(format) - 9).collect();
        let sent = format!("{kept}_{:08x}", hash as u32);
        self.0.insert(sent.clone(), name.to_owned());
        sent
    }

    fn give_back(&self, name: &mut String) {
        if let Some(own) = self.0.get(name) {
            name.clone_from(own);
        }
    }
}

fn longest(format: Format) -> usize {
    match format {
        Format::Chat | Format::Gemini => 64,
        Format::Responses | Format::Messages => 128,
    }
}

fn is_legal(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-')
}

/// Whether a name is accepted. Gemini allows more characters, which its own codec handles.
fn fits(name: &str, format: Format) -> bool {
    name.len() <= longest(format) && (format == Format::Gemini || name.chars().all(is_legal))
}

#[cfg(test)]
mod tests {
    use domain::canon::{FunctionTool, Role, ToolCall, Turn};

    use super::*;

    fn prompt(name: &str) -> Prompt {
        let mut prompt = Prompt::new(Format::Messages);
        prompt.tools = vec![Tool::Function(FunctionTool { name: name.into(), ..FunctionTool::default() })];
        prompt.tool_choice = Some(ToolChoice::Named(name.into()));
        let call = ToolCall {
            id: "c".into(),
            name: name.into(),
            arguments: "{}".into(),
            custom: false,
            opaque: None,
        };
        prompt.turns = vec![Turn::new(Role::Assistant, vec![Content::ToolCall(call).into()])];
        prompt
    }

    #[test]
    fn long_and_strange_names_are_sent_short_and_come_back() {
        for name in ["x".repeat(109), "files.read:all".to_owned(), "ünïcode".to_owned()] {
            let mut fitted = prompt(&name);
            let renames = Renames::fit(&mut fitted, Format::Chat);
            let sent = fitted.tools[0].flat_name().unwrap();
            assert!(sent.len() <= 64 && sent.chars().all(is_legal), "{sent}");
            assert_eq!(fitted.tool_choice, Some(ToolChoice::Named(sent.clone())));
            let Content::ToolCall(call) = &fitted.turns[0].parts[0].content else { panic!() };
            assert_eq!(call.name, sent);
            let mut reply = Reply { parts: fitted.turns[0].parts.clone(), ..Reply::default() };
            renames.restore_reply(&mut reply);
            assert_eq!(reply.parts, prompt(&name).turns[0].parts);
        }
    }

    #[test]
    fn a_name_that_fits_is_unchanged() {
        let mut fitted = prompt("read_file");
        let renames = Renames::fit(&mut fitted, Format::Chat);
        assert!(renames.0.is_empty());
        assert_eq!(fitted, prompt("read_file"));
    }
}
