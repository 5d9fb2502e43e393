//! The inspection of one block of an answer by the guardrails of all steps.

use domain::canon::{Block, Content, Delta, Role};
use domain::fault::Fault;

use super::json_stream::JsonStream;
use super::state::GuardrailState;
use super::text_stream::{OnFinding, TextStream};

/// The kinds of content that are inspected while they arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentKind {
    Text,
    /// Text that is JSON, because the client asked for that.
    JsonText,
    Thinking,
    /// Arguments of a tool call, as JSON.
    Arguments,
    /// Plain text for a custom tool.
    CustomInput,
}

impl ContentKind {
    pub fn of_block(block: &Block, is_json: bool) -> Option<Self> {
        match block {
            Block::Text if is_json => Some(Self::JsonText),
            Block::Text | Block::Refusal => Some(Self::Text),
            Block::Thinking => Some(Self::Thinking),
            Block::ToolCall { custom: true, .. } => Some(Self::CustomInput),
            Block::ToolCall { .. } => Some(Self::Arguments),
            Block::Foreign { .. } => None,
        }
    }

    /// The kind and the text of a part of a whole answer.
    pub fn of_content(content: &mut Content, is_json: bool) -> Option<(Self, &mut String)> {
        match content {
            Content::Text(text) => Some((if is_json { Self::JsonText } else { Self::Text }, text)),
            Content::Refusal(text) => Some((Self::Text, text)),
            Content::Thinking(thinking) => Some((Self::Thinking, &mut thinking.text)),
            Content::ToolCall(call) => {
                let kind = if call.custom { Self::CustomInput } else { Self::Arguments };
                Some((kind, &mut call.arguments))
            }
            _ => None,
        }
    }

    /// The event content with this text.
    pub fn delta(self, text: String) -> Delta {
        match self {
            Self::Text | Self::JsonText | Self::Thinking => Delta::Text(text),
            Self::Arguments | Self::CustomInput => Delta::Arguments(text),
        }
    }
}

/// A block during its inspection.
pub struct AnswerBlock {
    kind: ContentKind,
    /// One for each step.
    streams: Vec<StepStream>,
}

enum StepStream {
    Text(TextStream),
    Json(JsonStream),
}

impl AnswerBlock {
    pub fn new(kind: ContentKind, steps: &[Vec<GuardrailState>]) -> Self {
        let on_finding = if kind == ContentKind::Thinking { OnFinding::Withhold } else { OnFinding::Replace };
        let stream = |states: &Vec<GuardrailState>| match kind {
            ContentKind::Arguments | ContentKind::JsonText => StepStream::Json(JsonStream::new(states)),
            _ => StepStream::Text(TextStream::new(states, Role::Assistant, on_finding)),
        };
        Self { kind, streams: steps.iter().map(stream).collect() }
    }

    pub fn kind(&self) -> ContentKind {
        self.kind
    }

    /// Takes content and returns the part that is decided.
    pub fn push(&mut self, text: &str, steps: &mut [Vec<GuardrailState>]) -> Result<String, Fault> {
        let mut text = text.to_owned();
        for (stream, states) in self.streams.iter_mut().zip(steps) {
            let mut output = String::with_capacity(text.len());
            stream.push(&text, states, &mut output)?;
            text = output;
        }
        Ok(text)
    }

    /// Decides about all held content and returns it: the block ends here.
    pub fn finish(&mut self, steps: &mut [Vec<GuardrailState>]) -> Result<String, Fault> {
        let mut text = String::new();
        for (stream, states) in self.streams.iter_mut().zip(steps) {
            let mut output = String::new();
            if !text.is_empty() {
                stream.push(&text, states, &mut output)?;
            }
            stream.finish(states, &mut output)?;
            text = output;
        }
        Ok(text)
    }

    /// Drops held content: the continuation of the block starts with it again.
    pub fn drop_held(&mut self, steps: &[Vec<GuardrailState>]) {
        for (stream, states) in self.streams.iter_mut().zip(steps) {
            match stream {
                StepStream::Text(text) => text.drop_held(states, Role::Assistant),
                StepStream::Json(json) => *json = JsonStream::new(states),
            }
        }
    }

    /// Whether the block is incomplete because the rest of it is left out.
    pub fn is_withheld(&self) -> bool {
        self.streams.iter().any(|stream| matches!(stream, StepStream::Text(text) if text.is_withheld()))
    }
}

impl StepStream {
    fn push(&mut self, text: &str, states: &mut [GuardrailState], output: &mut String) -> Result<(), Fault> {
        match self {
            Self::Text(stream) => stream.push(text, states, output),
            Self::Json(stream) => stream.push(text, states, output),
        }
    }

    fn finish(&mut self, states: &mut [GuardrailState], output: &mut String) -> Result<(), Fault> {
        match self {
            Self::Text(stream) => stream.finish(states, output),
            Self::Json(stream) => stream.finish(states, output),
        }
    }
}
