//! Renders canonical events as Anthropic's stream. Deltas are written directly into the buffer.

use bytes::{BufMut as _, BytesMut};
use domain::call::Format;
use domain::canon::{Block, Delta, Event, Opaque, StopReason};
use domain::fault::Fault;
use domain::usage::Usage;
use serde_json::{Value, json};

use super::render::{is_afterthought, is_redacted, redacted, signature, state_of_call, stop_of};
use super::{error, stop, write_usage};
use crate::codec::{Renderer, Rendering};
use crate::json::{push_escaped, push_number, quote};
use crate::tool_ids;

pub struct StreamRenderer {
    rendering: Rendering,
    /// The rendered state of canonical blocks, by index.
    blocks: Vec<Shown>,
    /// Index of the client's next block.
    next: u32,
    usage: Usage,
    stop: Option<StopReason>,
    refused: bool,
    /// Whether text was sent.
    has_text: bool,
    /// Whether the stop reason was sent.
    stop_sent: bool,
}

/// A block as sent to the client so far. Text and thinking blocks are opened with their first content.
enum Shown {
    Nothing,
    Text { at: Option<u32> },
    Thinking { at: Option<u32>, state: Option<Opaque> },
    Call { at: u32, custom: bool },
}

impl Renderer for StreamRenderer {
    fn write(&mut self, event: &Event, out: &mut BytesMut) {
        match event {
            Event::Begin { .. } => self.begin(out),
            Event::Open { index, block } => self.open(*index as usize, block, out),
            Event::Delta { index, delta } => self.delta(*index as usize, delta, out),
            Event::Close { index } => self.close(*index as usize, out),
            Event::Usage { usage, .. } => {
                self.usage = (**usage).clone();
                self.finish(out);
            }
            Event::Finish { reason } => self.stop = Some(reason.clone()),
            Event::End => {
                self.finish(out);
                put(out, "message_stop", &json!({"type": "message_stop"}));
            }
        }
    }

    fn fail(&mut self, fault: &Fault, out: &mut BytesMut) {
        out.extend_from_slice(error::render_error_event(fault).as_bytes());
    }
}

impl StreamRenderer {
    pub fn new(rendering: Rendering) -> Self {
        let (blocks, usage) = (Vec::new(), Usage::default());
        Self {
            rendering,
            blocks,
            next: 0,
            usage,
            stop: None,
            refused: false,
            has_text: false,
            stop_sent: false,
        }
    }

    fn begin(&self, out: &mut BytesMut) {
        let message = json!({
            "id": self.rendering.ids.answer("msg_"),
            "type": "message",
            "role": "assistant",
            "model": self.rendering.requested_model,
            "content": [],
            "stop_reason": null,
            "stop_sequence": null,
            "usage": write_usage(&self.usage),
        });
        put(out, "message_start", &json!({"type": "message_start", "message": message}));
    }

    /// Sends stop reason and usage, which share one event: the reason waits for the usage, at most until the end.
    fn finish(&mut self, out: &mut BytesMut) {
        let Some(reason) = self.stop.as_ref().filter(|_| !self.stop_sent) else { return };
        let (reason, sequence) = stop::write(stop_of(reason, self.refused));
        let delta = json!({"stop_reason": reason, "stop_sequence": sequence});
        let event = json!({"type": "message_delta", "delta": delta, "usage": write_usage(&self.usage)});
        put(out, "message_delta", &event);
        self.stop_sent = true;
    }

    fn open(&mut self, index: usize, block: &Block, out: &mut BytesMut) {
        let shown = match block {
            Block::Text => Shown::Text { at: None },
            Block::Refusal => {
                self.refused = true;
                Shown::Text { at: None }
            }
            Block::Thinking => Shown::Thinking { at: None, state: None },
            Block::ToolCall { id, name, custom, opaque } => {
                if let Some(state) = opaque.as_ref().and_then(state_of_call) {
                    self.whole(&state, out);
                }
                let id = tool_ids::to_legal(id);
                let at = self.start(&json!({"type": "tool_use", "id": id, "name": name, "input": {}}), out);
                if *custom {
                    put_delta(out, at, ARGUMENTS, "{\"input\":\"");
                }
                Shown::Call { at, custom: *custom }
            }
            Block::Foreign { format: Format::Messages, value } => {
                self.whole(value, out);
                Shown::Nothing
            }
            Block::Foreign { .. } => Shown::Nothing,
        };
        if self.blocks.len() <= index {
            self.blocks.resize_with(index + 1, || Shown::Nothing);
        }
        self.blocks[index] = shown;
    }

    fn delta(&mut self, index: usize, delta: &Delta, out: &mut BytesMut) {
        let Some(block) = self.blocks.get_mut(index) else { return };
        match (block, delta) {
            (_, Delta::Text(text)) if text.is_empty() => {}
            (Shown::Text { at }, Delta::Text(text)) => {
                let at = *at.get_or_insert_with(|| put_start(&mut self.next, TEXT_START, out));
                put_delta(out, at, TEXT, text);
                self.has_text = true;
            }
            (Shown::Thinking { at, .. }, Delta::Text(text)) => {
                let at = *at.get_or_insert_with(|| put_start(&mut self.next, THINKING_START, out));
                put_delta(out, at, THINKING, text);
            }
            (Shown::Thinking { state, .. }, Delta::Opaque(opaque)) => *state = Some(opaque.clone()),
            (Shown::Call { at, custom: false }, Delta::Arguments(more)) if !more.is_empty() => {
                put_delta(out, *at, ARGUMENTS, more);
            }
            (Shown::Call { at, custom: true }, Delta::Arguments(more)) => {
                let quoted = quote(more);
                put_delta(out, *at, ARGUMENTS, &quoted[1..quoted.len() - 1]);
            }
            _ => {}
        }
    }

    fn close(&mut self, index: usize, out: &mut BytesMut) {
        let Some(block) = self.blocks.get_mut(index) else { return };
        match std::mem::replace(block, Shown::Nothing) {
            Shown::Nothing | Shown::Text { at: None } => {}
            Shown::Text { at: Some(at) } | Shown::Call { at, custom: false } => put_stop(out, at),
            Shown::Call { at, custom: true } => {
                put_delta(out, at, ARGUMENTS, "\"}");
                put_stop(out, at);
            }
            Shown::Thinking { at: None, state: None } => {}
            // A bare signature after the text is omitted, because clients take the last block as the answer.
            Shown::Thinking { at: None, state: Some(state) } if self.has_text && is_afterthought(&state) => {}
            Shown::Thinking { at: None, state: Some(state) } if is_redacted("", &state) => {
                self.whole(&redacted(&state), out);
            }
            Shown::Thinking { at, state } => {
                let at = at.unwrap_or_else(|| put_start(&mut self.next, THINKING_START, out));
                put_delta(out, at, SIGNATURE, &signature(state.as_ref(), &self.rendering));
                put_stop(out, at);
            }
        }
    }

    /// Writes a complete block at once.
    fn whole(&mut self, block: &Value, out: &mut BytesMut) {
        let at = self.start(block, out);
        put_stop(out, at);
    }

    fn start(&mut self, block: &Value, out: &mut BytesMut) -> u32 {
        put_start(&mut self.next, &block.to_string(), out)
    }
}

const TEXT_START: &str = r#"{"type":"text","text":""}"#;
const THINKING_START: &str = r#"{"type":"thinking","thinking":"","signature":""}"#;

/// The beginning of each kind of delta, up to its text.
const TEXT: &str = r#"{"type":"text_delta","text":""#;
const THINKING: &str = r#"{"type":"thinking_delta","thinking":""#;
const SIGNATURE: &str = r#"{"type":"signature_delta","signature":""#;
const ARGUMENTS: &str = r#"{"type":"input_json_delta","partial_json":""#;

fn put(out: &mut BytesMut, name: &str, data: &Value) {
    for piece in ["event: ", name, "\ndata: ", &data.to_string(), "\n\n"] {
        out.put_slice(piece.as_bytes());
    }
}

fn put_start(next: &mut u32, block: &str, out: &mut BytesMut) -> u32 {
    let at = *next;
    *next += 1;
    out.put_slice(b"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":");
    push_number(out, at);
    out.put_slice(b",\"content_block\":");
    out.put_slice(block.as_bytes());
    out.put_slice(b"}\n\n");
    at
}

fn put_delta(out: &mut BytesMut, at: u32, kind: &str, text: &str) {
    out.reserve(128 + text.len());
    out.put_slice(b"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":");
    push_number(out, at);
    out.put_slice(b",\"delta\":");
    out.put_slice(kind.as_bytes());
    push_escaped(out, text);
    out.put_slice(b"\"}}\n\n");
}

fn put_stop(out: &mut BytesMut, at: u32) {
    out.put_slice(b"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":");
    push_number(out, at);
    out.put_slice(b"}\n\n");
}
