//! The inspection of an answer: of the events of a stream as they pass, or of a whole answer in the same way.

use std::collections::HashMap;
use std::ops::Range;

use ::guardrails::placeholder::{PlaceholderMap, ScopeKey};
use domain::canon::{Block, Content, Delta, Event, Reply, Role};
use domain::fault::Fault;
use domain::receipt::{GuardedSubject, GuardrailVerdict};
use serde_json::Value;

use super::answer_block::{AnswerBlock, ContentKind};
use super::plan::Step;
use super::remote::{RemoteText, RemoteVerdicts};
use super::state::{GuardrailState, NewText};

/// Passes one answer through its guardrails.
pub struct AnswerInspector {
    steps: Vec<Vec<GuardrailState>>,
    /// The open blocks, by index.
    blocks: HashMap<u32, AnswerBlock>,
    /// The fault that has ended the answer: nothing more is passed on.
    fault: Option<Fault>,
    /// Whether texts are JSON.
    is_json: bool,
}

impl AnswerInspector {
    pub fn new(steps: &[Step], key: &ScopeKey, is_json: bool) -> Self {
        let states = |step: &Step| GuardrailState::of_step(step, GuardedSubject::Answer, key);
        Self { steps: steps.iter().map(states).collect(), blocks: HashMap::new(), fault: None, is_json }
    }

    pub fn is_json(&self) -> bool {
        self.is_json
    }

    /// Drops the held text of all open blocks.
    pub fn drop_held(&mut self) {
        for block in self.blocks.values_mut() {
            block.drop_held(&self.steps);
        }
    }

    /// Inspects events. They are replaced by those that may be passed on; held text follows with later ones.
    pub fn push(&mut self, events: &mut Vec<Event>) -> Result<(), Fault> {
        for event in std::mem::take(events) {
            if self.fault.is_some() {
                break;
            }
            self.fault = self.push_event(event, events).err();
        }
        self.fault.clone().map_or(Ok(()), Err)
    }

    fn push_event(&mut self, event: Event, out: &mut Vec<Event>) -> Result<(), Fault> {
        match event {
            Event::Open { index, block: Block::Foreign { format, value } } => {
                let value = self.inspect_value(0..self.steps.len(), value)?;
                out.push(Event::Open { index, block: Block::Foreign { format, value } });
            }
            Event::Open { index, block } => {
                if let Some(kind) = ContentKind::of_block(&block, self.is_json) {
                    self.blocks.insert(index, AnswerBlock::new(kind, &self.steps));
                }
                out.push(Event::Open { index, block });
            }
            Event::Delta { index, delta: Delta::Text(text) | Delta::Arguments(text) } => {
                if let Some(block) = self.blocks.get_mut(&index) {
                    let text = block.push(&text, &mut self.steps)?;
                    push_delta(index, block.kind(), text, out);
                }
            }
            Event::Delta { index, delta: Delta::Opaque(opaque) } => {
                // A signature follows the text that it covers.
                if self.blocks.get(&index).is_some_and(|block| block.kind() == ContentKind::Thinking) {
                    self.end_text(index, out)?;
                }
                if !self.blocks.get(&index).is_some_and(AnswerBlock::is_withheld) {
                    out.push(Event::Delta { index, delta: Delta::Opaque(opaque) });
                }
            }
            Event::Close { index } => {
                self.end_text(index, out)?;
                self.blocks.remove(&index);
                out.push(Event::Close { index });
            }
            other => out.push(other),
        }
        Ok(())
    }

    /// Passes on the held text of a block.
    fn end_text(&mut self, index: u32, out: &mut Vec<Event>) -> Result<(), Fault> {
        if let Some(block) = self.blocks.get_mut(&index) {
            let text = block.finish(&mut self.steps)?;
            push_delta(index, block.kind(), text, out);
        }
        Ok(())
    }

    /// Inspects a whole answer and changes it in place.
    pub fn inspect_reply(&mut self, reply: &mut Reply) -> Result<(), Fault> {
        self.inspect_steps(0..self.steps.len(), reply)
    }

    /// The texts of a whole answer, for remote guardrails: those of its parts, or the JSON of parts that only one format has.
    pub fn texts(&self, reply: &mut Reply) -> Vec<RemoteText> {
        let parts = reply.parts.iter_mut();
        parts.filter_map(|part| remote_text(&mut part.content, self.is_json)).collect()
    }

    /// Sets the verdicts of the remote guardrails of a step, and makes their changes to a whole answer.
    pub fn apply_remote_verdicts(
        &mut self,
        step: usize,
        mut verdicts: RemoteVerdicts,
        reply: &mut Reply,
    ) -> Result<(), Fault> {
        let states = &mut self.steps[step];
        let texts = GuardrailState::set_remote_verdicts(states, &mut verdicts);
        // Without a replacement, no part has to be read.
        let parts = if texts.is_empty() { &mut [][..] } else { &mut reply.parts[..] };
        let mut texts = texts.into_iter();
        for part in parts {
            let Some(text) = remote_text(&mut part.content, self.is_json) else { continue };
            let Some(NewText { index, text: replacement }) = texts.next().flatten() else { continue };
            if text.is_json && serde_json::from_str::<Value>(&replacement).is_err() {
                states[index].record_invalid_replacement();
            } else {
                states[index].record_replacement();
                replace_content(&mut part.content, replacement, self.is_json);
            }
        }
        GuardrailState::fault_of(states).map_or(Ok(()), Err)
    }

    /// Inspects a whole answer by some of the steps.
    pub fn inspect_steps(&mut self, steps: Range<usize>, reply: &mut Reply) -> Result<(), Fault> {
        for part in &mut reply.parts {
            if let Content::Foreign { value, .. } = &mut part.content {
                *value = self.inspect_value(steps.clone(), value.take())?;
            }
            let Some((kind, text)) = ContentKind::of_content(&mut part.content, self.is_json) else {
                continue;
            };
            let states = &mut self.steps[steps.clone()];
            let mut block = AnswerBlock::new(kind, states);
            let mut inspected = block.push(text, states)?;
            inspected.push_str(&block.finish(states)?);
            *text = inspected;
            if let (Content::Thinking(thinking), true) = (&mut part.content, block.is_withheld()) {
                thinking.opaque = None;
            }
        }
        Ok(())
    }

    /// Inspects all texts in a block that only one format has.
    fn inspect_value(&mut self, steps: Range<usize>, value: Value) -> Result<Value, Fault> {
        let mut text = value.to_string();
        let mut is_changed = false;
        for states in &mut self.steps[steps] {
            let map = &mut PlaceholderMap::default();
            let changed = GuardrailState::inspect_json_in_order(states, Role::Assistant, &text, map);
            if let Some(changed) = changed {
                text = changed;
                is_changed = true;
            }
            if let Some(fault) = GuardrailState::fault_of(states) {
                return Err(fault);
            }
        }
        match is_changed {
            true => Ok(serde_json::from_str(&text).unwrap_or(Value::Null)),
            false => Ok(value),
        }
    }

    /// The verdicts so far.
    pub fn verdicts(&self) -> Vec<GuardrailVerdict> {
        self.steps.iter().flatten().map(GuardrailState::verdict).collect()
    }
}

fn push_delta(index: u32, kind: ContentKind, text: String, out: &mut Vec<Event>) {
    if !text.is_empty() {
        out.push(Event::Delta { index, delta: kind.delta(text) });
    }
}

/// The text of a part of an answer as a remote guardrail gets it; `None` if it has none.
fn remote_text(content: &mut Content, is_json: bool) -> Option<RemoteText> {
    if let Content::Foreign { value, .. } = content {
        return Some(RemoteText {
            role: Role::Assistant,
            text: value.to_string(),
            is_json: true,
            is_signed: false,
        });
    }
    let (kind, text) = ContentKind::of_content(content, is_json)?;
    Some(match kind {
        ContentKind::Arguments | ContentKind::JsonText => RemoteText::json(Role::Assistant, text),
        _ => RemoteText { role: Role::Assistant, text: text.clone(), is_json: false, is_signed: false },
    })
}

/// Replaces the text of a part. A signature of the old text is removed.
fn replace_content(content: &mut Content, replacement: String, is_json: bool) {
    if let Content::Foreign { value, .. } = content {
        *value = serde_json::from_str(&replacement).unwrap_or_default();
    } else if let Some((_, text)) = ContentKind::of_content(content, is_json) {
        *text = replacement;
    }
    if let Content::Thinking(thinking) = content {
        thinking.opaque = None;
    }
}
