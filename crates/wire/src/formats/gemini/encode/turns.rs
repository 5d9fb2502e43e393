//! Encodes turns as contents: user and model alternate, and results follow their calls with the same number, order and
//! names.

use std::collections::HashSet;

use domain::canon::{Content, Part, Role, ToolCall, Turn};
use serde_json::{Map, Value, json};

use super::Encoder;
use super::parts::{text, with_signature};
use crate::formats::gemini::names;

/// Documented placeholder for the signature of a call that another model made.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    User,
    Model,
}

/// Contents under construction; consecutive parts of the same role share a content.
#[derive(Default)]
pub(super) struct Contents {
    list: Vec<(Side, Vec<Value>)>,
    /// Results already placed after their calls, by turn and part.
    placed: HashSet<(usize, usize)>,
}

impl Contents {
    pub(super) fn push(&mut self, side: Side, part: Value) {
        match self.list.last_mut() {
            Some((last, parts)) if *last == side => parts.push(part),
            _ => self.list.push((side, vec![part])),
        }
    }

    /// Adds placeholder signatures. Gemini validates the first call of every step since the last user message, not
    /// earlier ones.
    fn vouch(&mut self) {
        let is = |part: &Value, member: &str| part.get(member).is_some();
        let spoke = self.list.iter().rposition(|(side, parts)| {
            *side == Side::User && !parts.iter().any(|part| is(part, "functionResponse"))
        });
        for (side, parts) in &mut self.list[spoke.unwrap_or(0)..] {
            let call = parts.iter_mut().find(|part| is(part, "functionCall"));
            if let Some(call) = call.filter(|call| *side == Side::Model && !is(call, "thoughtSignature")) {
                with_signature(call, NO_SIGNATURE);
            }
        }
    }

    fn into_values(self) -> Vec<Value> {
        let role = |side| if side == Side::User { "user" } else { "model" };
        self.list.into_iter().map(|(side, parts)| json!({"role": role(side), "parts": parts})).collect()
    }
}

impl Encoder<'_> {
    pub(super) fn contents(&mut self) {
        let turns = &self.prompt.turns;
        let mut contents = Contents::default();
        let mut system = Vec::new();
        let mut at = 0;
        while let Some(turn) = turns.get(at) {
            at += 1;
            match turn.role {
                Role::System | Role::Developer if contents.list.is_empty() => {
                    for part in &turn.parts {
                        system.extend(self.instruction(part));
                    }
                }
                Role::System | Role::Developer | Role::User => {
                    for part in &turn.parts {
                        self.user_part(part, &mut contents);
                    }
                }
                Role::Assistant => {
                    let more = turns[at..].iter().take_while(|turn| turn.role == Role::Assistant).count();
                    self.model_turns(at - 1, at + more, &mut contents);
                    at += more;
                }
                Role::Tool => self.other_results(at - 1, &mut contents),
            }
        }
        if self.rules.wants_signatures {
            contents.vouch();
        }
        // Contents are required: a prompt with only instructions is sent as a user message.
        if contents.list.is_empty() {
            system.drain(..).for_each(|part| contents.push(Side::User, part));
        }
        let mut body = Map::new();
        if !system.is_empty() {
            body.insert("systemInstruction".into(), json!({ "parts": system }));
        }
        body.insert("contents".into(), contents.into_values().into());
        self.body.extend(body);
    }

    fn instruction(&mut self, part: &Part) -> Option<Value> {
        self.note_cache(part);
        match &part.content {
            Content::Text(words) => (!words.is_empty()).then(|| text(words)),
            _ => {
                self.dropped.name(part.place.0.as_str());
                None
            }
        }
    }

    /// Encodes a run of model turns, followed by the results of all their calls.
    fn model_turns(&mut self, start: usize, end: usize, contents: &mut Contents) {
        let turns: &[Turn] = &self.prompt.turns;
        let parts: Vec<&Part> = turns[start..end].iter().flat_map(|turn| &turn.parts).collect();
        for value in self.model_parts(&parts) {
            contents.push(Side::Model, value);
        }
        for part in parts {
            if let Content::ToolCall(call) = &part.content {
                self.result_of(call, end, contents);
            }
        }
    }

    /// Writes the result of a call. Unanswered calls get a placeholder result, because the numbers must match.
    fn result_of(&mut self, call: &ToolCall, after: usize, contents: &mut Contents) {
        let turns = &self.prompt.turns;
        for (at, turn) in turns.iter().enumerate().skip(after) {
            let same = |part: &Part| matches!(&part.content, Content::ToolCall(other) if other.id == call.id);
            if turn.parts.iter().any(same) {
                break;
            }
            for (index, part) in turn.parts.iter().enumerate() {
                let Content::ToolResult(result) = &part.content else { continue };
                if result.call_id == call.id && contents.placed.insert((at, index)) {
                    self.note_cache(part);
                    return self.result(call, result, contents);
                }
            }
        }
        if after < turns.len() {
            let response = json!({"error": "This call was not answered."});
            let name = names::sent(&call.name);
            let part = json!({"functionResponse": {"id": call.id, "name": name, "response": response}});
            contents.push(Side::User, part);
        }
    }

    /// Encodes the rest of a tool turn: a second result for the same call is dropped, other parts become user content.
    fn other_results(&mut self, at: usize, contents: &mut Contents) {
        let turn = &self.prompt.turns[at];
        for (index, part) in turn.parts.iter().enumerate() {
            match part.content {
                Content::ToolResult(_) if contents.placed.contains(&(at, index)) => {}
                Content::ToolResult(_) => self.dropped.name(part.place.0.as_str()),
                _ => self.user_part(part, contents),
            }
        }
    }
}
