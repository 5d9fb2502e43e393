//! The stage that restores the client's names of tools that were renamed for the provider.

use domain::canon::Event;
use wire::renames::Renames;

use crate::streaming::event_stage::EventStage;

impl EventStage for Renames {
    fn push(&mut self, mut event: Event, out: &mut Vec<Event>) {
        self.restore(&mut event);
        out.push(event);
    }
}

#[cfg(test)]
mod tests {
    use domain::call::Format;
    use domain::canon::{Block, FunctionTool, Prompt, Tool};

    use super::*;

    #[test]
    fn a_renamed_tool_is_called_by_the_clients_name() {
        let name = "files.read:all";
        let mut prompt = Prompt::new(Format::Chat);
        prompt.tools = vec![Tool::Function(FunctionTool { name: name.into(), ..FunctionTool::default() })];
        let mut renames = Renames::fit(&mut prompt, Format::Chat);
        let sent = prompt.tools[0].flat_name().unwrap();
        assert_ne!(sent, name);
        let open = |name: &str| {
            let block = Block::ToolCall { id: "c".into(), name: name.into(), custom: false, opaque: None };
            Event::Open { index: 0, block }
        };
        let mut out = Vec::new();
        for event in [open(&sent), open("other"), Event::Close { index: 0 }, Event::End] {
            renames.push(event, &mut out);
        }
        assert_eq!(out, [open(name), open("other"), Event::Close { index: 0 }, Event::End]);
    }
}
