//! Renders a stream for a Gemini client: chunks of one answer, each with complete parts.
//!
//! The format has no call fragments, so arguments are buffered until their block closes. The finish reason is sent with
//! the usage, which may arrive last.

use bytes::BytesMut;
use domain::call::Format;
use domain::canon::{Block, Delta, Event, Opaque, StopReason};
use domain::fault::Fault;
use domain::usage::Usage;

use super::pieces::{Call, call_part, passenger, text_part};
use super::render::identity;
use super::{error, stop, usage};
use crate::codec::{Renderer, Rendering};

pub struct StreamRenderer {
    rendering: Rendering,
    /// Bytes at the end of every chunk.
    tail: BytesMut,
    blocks: Vec<Open>,
    /// State of another format's thinking, to attach to the next call.
    riding: Option<Opaque>,
    usage: Option<Usage>,
    reason: Option<StopReason>,
}

/// An open block and its index.
struct Open {
    index: u32,
    kind: OpenBlock,
}

enum OpenBlock {
    Text,
    /// Thinking; its text is kept only to be sealed with its state.
    Thinking(String),
    Call(Call),
}

impl Renderer for StreamRenderer {
    fn write(&mut self, event: &Event, out: &mut BytesMut) {
        match event {
            Event::Begin { id, model } => {
                self.tail.clear();
                identity(id.as_deref(), model.as_deref(), &self.rendering, &mut self.tail);
            }
            Event::Open { index, block } => self.open(*index, block, out),
            Event::Delta { index, delta } => self.grow(*index, delta, out),
            Event::Close { index } => self.close(*index, out),
            Event::Usage { usage, .. } => self.usage = Some((**usage).clone()),
            Event::Finish { reason } => self.reason = Some(reason.clone()),
            Event::End => self.end(out),
        }
    }

    fn fail(&mut self, fault: &Fault, out: &mut BytesMut) {
        out.extend_from_slice(error::render_error_event(fault).as_bytes());
    }
}

impl StreamRenderer {
    pub fn new(rendering: Rendering) -> Self {
        let mut tail = BytesMut::new();
        identity(None, None, &rendering, &mut tail);
        Self { rendering, tail, blocks: Vec::new(), riding: None, usage: None, reason: None }
    }

    fn open(&mut self, index: u32, block: &Block, out: &mut BytesMut) {
        let kind = match block {
            Block::Text | Block::Refusal => OpenBlock::Text,
            Block::Thinking => OpenBlock::Thinking(String::new()),
            Block::ToolCall { id, name, custom, opaque } => OpenBlock::Call(Call {
                id: id.clone(),
                name: name.clone(),
                arguments: String::new(),
                custom: *custom,
                opaque: opaque.clone(),
            }),
            Block::Foreign { format, value } => {
                if *format == Format::Gemini {
                    self.piece(out, |out| out.extend_from_slice(value.to_string().as_bytes()));
                }
                return;
            }
        };
        self.blocks.push(Open { index, kind });
    }

    fn grow(&mut self, index: u32, delta: &Delta, out: &mut BytesMut) {
        let Some(at) = self.blocks.iter().rposition(|open| open.index == index) else { return };
        match (&mut self.blocks[at].kind, delta) {
            (OpenBlock::Text, Delta::Text(text)) if !text.is_empty() => {
                self.piece(out, |out| text_part(out, text, false, None));
            }
            (OpenBlock::Thinking(so_far), Delta::Text(text)) if !text.is_empty() => {
                so_far.push_str(text);
                self.piece(out, |out| text_part(out, text, true, None));
            }
            (OpenBlock::Thinking(so_far), Delta::Opaque(opaque)) => {
                let riding = passenger(so_far, opaque);
                // The text was already sent; state of another format includes it.
                let sealed = riding.clone().unwrap_or_else(|| opaque.clone());
                self.riding = riding;
                self.piece(out, |out| text_part(out, "", true, Some(&sealed)));
            }
            (OpenBlock::Call(call), Delta::Arguments(more)) => call.arguments.push_str(more),
            (OpenBlock::Call(call), Delta::Opaque(opaque)) => call.opaque = Some(opaque.clone()),
            _ => {}
        }
    }

    fn close(&mut self, index: u32, out: &mut BytesMut) {
        let Some(at) = self.blocks.iter().rposition(|open| open.index == index) else { return };
        if let OpenBlock::Call(mut call) = self.blocks.remove(at).kind {
            call.opaque = call.opaque.or_else(|| self.riding.take());
            self.piece(out, |out| call_part(out, &call));
        }
    }

    fn piece(&self, out: &mut BytesMut, part: impl FnOnce(&mut BytesMut)) {
        out.extend_from_slice(b"data: {\"candidates\":[{\"content\":{\"parts\":[");
        part(out);
        out.extend_from_slice(b"],\"role\":\"model\"},\"index\":0}]");
        out.extend_from_slice(&self.tail);
        out.extend_from_slice(b"}\r\n\r\n");
    }

    fn end(&mut self, out: &mut BytesMut) {
        let reason = self.reason.take().unwrap_or_default();
        // Clients reject a content without parts; Gemini itself sends an empty text here.
        let last =
            br#"data: {"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":""#;
        out.extend_from_slice(last);
        out.extend_from_slice(stop::write(&reason).as_bytes());
        out.extend_from_slice(b"\",\"index\":0}]");
        if let Some(usage) = &self.usage {
            out.extend_from_slice(b",\"usageMetadata\":");
            out.extend_from_slice(usage::write_usage(usage).to_string().as_bytes());
        }
        out.extend_from_slice(&self.tail);
        out.extend_from_slice(b"}\r\n\r\n");
    }
}
