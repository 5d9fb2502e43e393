//! Encodes turns as messages: system turns lifted or placed, adjacent messages of one role merged, tool results first.

use domain::canon::{Part, Role, Turn};
use serde_json::{Map, Value};

use super::Encoder;
use super::parts::{self, Block};
use crate::vendors::ThinkingStyle;

/// Placeholder user messages: before a leading assistant message, and after a trailing one.
const BEGIN: &str = "(The conversation begins.)";
const GO_ON: &str = "Continue.";

#[derive(Default)]
pub(super) struct Conversation {
    pub(super) system: Vec<Value>,
    pub(super) messages: Vec<Value>,
    /// Whether thinking must be disabled because the turn to continue does not begin with a thinking block.
    pub(super) bars_thinking: bool,
}

#[derive(Debug)]
struct Message {
    role: &'static str,
    blocks: Vec<Block>,
    /// Members besides role and content.
    members: Map<String, Value>,
}

impl Encoder<'_> {
    pub(super) fn conversation(&mut self) -> Conversation {
        let turns = &self.prompt.turns;
        let lead = turns.iter().take_while(|turn| is_system(turn)).count();
        // If there are only instructions, the last one is sent as the message to answer.
        let lead = if lead == turns.len() { lead.saturating_sub(1) } else { lead };
        let mut conversation = Conversation::default();
        for turn in &turns[..lead] {
            conversation.system.extend(self.blocks(turn, Role::System).into_iter().map(Value::Object));
        }
        let mut messages: Vec<Message> = Vec::new();
        for turn in &turns[lead..] {
            if is_system(turn) {
                self.instruct(turn, &mut messages);
            } else {
                let role = if turn.role == Role::Assistant { "assistant" } else { "user" };
                let blocks = self.blocks(turn, turn.role);
                self.push(&mut messages, role, blocks, turn);
            }
        }
        let mut messages = with_instructions_placed(messages);
        messages.iter_mut().filter(|message| message.role == "user").for_each(Message::results_first);
        self.mend(&mut messages);
        conversation.bars_thinking = self.rules.thinking == ThinkingStyle::Budget && lacks_thought(&messages);
        conversation.messages = messages.into_iter().map(Message::into_value).collect();
        conversation
    }

    fn blocks(&mut self, turn: &Turn, role: Role) -> Vec<Block> {
        let mut blocks: Vec<Block> = turn.parts.iter().filter_map(|part| self.block(part, role)).collect();
        // Thinking blocks come first. Anthropic's own clients already send them in the model's order.
        if !self.own() && blocks.first().is_some_and(|first| !is_thought(first)) {
            blocks.sort_by_key(|block| !is_thought(block));
        }
        blocks
    }

    fn push(&self, messages: &mut Vec<Message>, role: &'static str, blocks: Vec<Block>, turn: &Turn) {
        if blocks.is_empty() {
            return;
        }
        let mut members = Map::new();
        if let Some(place) = turn.parts.first().map(message_place) {
            self.leftovers.restore(place, &mut members);
        }
        match messages.last_mut() {
            Some(last) if last.role == role => {
                last.blocks.extend(blocks);
                last.members.extend(members);
            }
            _ => messages.push(Message { role, blocks, members }),
        }
    }

    /// Encodes instructions amid the conversation: a system message after the user's if the model accepts it, otherwise
    /// a marked user message.
    fn instruct(&mut self, turn: &Turn, messages: &mut Vec<Message>) {
        let blocks = self.blocks(turn, Role::System);
        let behind_user = messages.last().is_some_and(|last| matches!(last.role, "user" | "system"));
        if self.rules.system_turns && behind_user {
            return self.push(messages, "system", blocks, turn);
        }
        let blocks = if messages.is_empty() { blocks } else { marked(blocks) };
        self.push(messages, "user", blocks, turn);
    }

    /// Makes the conversation begin with a user message and, for models without prefill, end with one.
    fn mend(&self, messages: &mut Vec<Message>) {
        if messages.first().is_some_and(|first| first.role == "assistant") {
            messages.insert(0, Message::of_user(BEGIN));
        }
        let Some(last) = messages.last_mut().filter(|last| last.role == "assistant") else { return };
        let Some(block) = last.blocks.last_mut() else { return };
        match kind(block) {
            "text" if self.rules.prefill => {
                if let Some(Value::String(text)) = block.get_mut("text") {
                    text.truncate(text.trim_end().len());
                }
            }
            // A turn paused during the provider's own tools continues without a user message.
            "text" | "thinking" | "redacted_thinking" => messages.push(Message::of_user(GO_ON)),
            _ => {}
        }
    }
}

impl Message {
    fn of_user(words: &str) -> Self {
        Self { role: "user", blocks: parts::text(words).into_iter().collect(), members: Map::new() }
    }

    fn results_first(&mut self) {
        self.blocks.sort_by_key(|block| kind(block) != "tool_result");
    }

    fn into_value(self) -> Value {
        let Self { role, mut blocks, members: mut message } = self;
        message.insert("role".into(), role.into());
        let only_text = match blocks.as_mut_slice() {
            [only] if only.len() == 2 && kind(only) == "text" => only.get_mut("text").map(Value::take),
            _ => None,
        };
        // Moved, not serialized again: a long conversation has many thousands of blocks.
        let content =
            only_text.unwrap_or_else(|| Value::Array(blocks.into_iter().map(Value::Object).collect()));
        message.insert("content".into(), content);
        Value::Object(message)
    }
}

/// Places system messages, which may only precede an assistant message. Those before a user message (the assistant
/// message between them may have been empty) become part of it.
fn with_instructions_placed(messages: Vec<Message>) -> Vec<Message> {
    let mut placed: Vec<Message> = Vec::with_capacity(messages.len());
    for message in messages {
        if message.role == "user"
            && let Some(instruction) = placed.pop_if(|last| last.role == "system")
            && let Some(before) = placed.last_mut()
        {
            before.blocks.extend(marked(instruction.blocks));
            before.blocks.extend(message.blocks);
            before.members.extend(message.members);
        } else {
            placed.push(message);
        }
    }
    placed
}

fn marked(mut blocks: Vec<Block>) -> Vec<Block> {
    for block in &mut blocks {
        if let Some(Value::String(text)) = block.get_mut("text") {
            *text = format!("<system>\n{text}\n</system>");
        }
    }
    blocks
}

fn is_system(turn: &Turn) -> bool {
    matches!(turn.role, Role::System | Role::Developer)
}

fn kind(block: &Block) -> &str {
    block.get("type").and_then(Value::as_str).unwrap_or_default()
}

fn is_thought(block: &Block) -> bool {
    matches!(kind(block), "thinking" | "redacted_thinking")
}

/// The message path `messages[3]` of `messages[3].content[0]`.
fn message_place(part: &Part) -> &str {
    part.place.0.split_once(".content").map_or("", |(message, _)| message)
}

/// Whether the turn in progress lacks a leading thinking block, which is required with a thinking budget. A turn is in
/// progress while it waits for tool results, and spans all the messages separated only by such results.
fn lacks_thought(messages: &[Message]) -> bool {
    let Some(mut at) = messages.iter().rposition(|message| message.role == "assistant") else { return false };
    let calls = |message: &Message| message.blocks.iter().any(|block| kind(block) == "tool_use");
    if at + 1 < messages.len() && !calls(&messages[at]) {
        return false;
    }
    let only_results = |message: &Message| message.blocks.iter().all(|block| kind(block) == "tool_result");
    while at >= 2 && only_results(&messages[at - 1]) && messages[at - 2].role == "assistant" {
        at -= 2;
    }
    !messages[at].blocks.first().is_some_and(is_thought)
}
