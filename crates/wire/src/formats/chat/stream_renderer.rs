//! Renders canonical events as a stream of chunks. The parts common to all chunks are rendered once and copied.

use bytes::{BufMut as _, BytesMut};
use domain::call::Format;
use domain::canon::{Block, Delta, Event, Opaque, StopReason};
use domain::fault::Fault;
use domain::usage::Usage;
use serde_json::{Map, Value};

use super::render::is_custom;
use super::stop::{self, Held};
use super::usage::UsageMember;
use super::{details, error};
use crate::codec::{Renderer, Rendering};
use crate::custom;
use crate::json::{push_string, quote};

pub struct StreamRenderer {
    rendering: Rendering,
    /// Bytes from `data: ` to the opening brace of the delta.
    head: Vec<u8>,
    /// Bytes from the closing brace of the delta to the blank line, for chunks without a finish reason.
    tail: &'static [u8],
    open: Open,
    calls: u32,
    details: u32,
    held: Held,
    usage: Option<Box<Usage>>,
}

/// The open block.
#[derive(Default)]
struct Open {
    kind: OpenBlock,
    /// Bytes between the head and the text of a delta.
    prefix: Vec<u8>,
    /// Bytes between the text of a delta and the tail.
    suffix: &'static [u8],
    /// The reasoning text so far, which a sealed state has to include; or the arguments collected for unwrapping.
    text: String,
    opaque: Option<Opaque>,
}

#[derive(Default, PartialEq, Eq)]
enum OpenBlock {
    #[default]
    None,
    Text,
    Thinking,
    Call {
        id: String,
    },
    /// A call of a custom tool that was sent to the provider as a function; its input is known once the arguments are
    /// complete.
    Wrapped {
        id: String,
    },
}

const TAIL: &[u8] = b"},\"finish_reason\":null}]}\n\n";
/// Chunk end for clients that requested usage, who get the member in every chunk.
const TAIL_WITH_USAGE: &[u8] = b"},\"finish_reason\":null}],\"usage\":null}\n\n";

impl Renderer for StreamRenderer {
    fn write(&mut self, event: &Event, out: &mut BytesMut) {
        match event {
            Event::Delta { delta, .. } => self.delta(delta, out),
            Event::Begin { model, .. } => {
                if let Some(model) = model {
                    self.head = head(&self.rendering, model);
                }
                self.chunk(b"\"role\":\"assistant\",\"content\":\"\"", out);
            }
            Event::Open { block, .. } => self.open(block, out),
            Event::Close { .. } => self.close(out),
            Event::Usage { usage, .. } => self.usage = Some(usage.clone()),
            Event::Finish { reason } => self.finish(reason, out),
            Event::End => self.end(out),
        }
    }

    fn fail(&mut self, fault: &Fault, out: &mut BytesMut) {
        out.extend_from_slice(error::render_error_event(fault).as_bytes());
    }
}

impl StreamRenderer {
    pub fn new(rendering: Rendering) -> Self {
        let head = head(&rendering, &rendering.model);
        let tail = if rendering.include_usage { TAIL_WITH_USAGE } else { TAIL };
        Self {
            rendering,
            head,
            tail,
            open: Open::default(),
            calls: 0,
            details: 0,
            held: Held::default(),
            usage: None,
        }
    }

    fn chunk(&self, delta: &[u8], out: &mut BytesMut) {
        out.reserve(self.head.len() + delta.len() + self.tail.len());
        out.extend_from_slice(&self.head);
        out.extend_from_slice(delta);
        out.extend_from_slice(self.tail);
    }

    fn delta(&mut self, delta: &Delta, out: &mut BytesMut) {
        match (delta, &self.open.kind) {
            (Delta::Opaque(opaque), _) => self.open.opaque = Some(opaque.clone()),
            (Delta::Text(_) | Delta::Arguments(_), OpenBlock::None) => {}
            (Delta::Text(text) | Delta::Arguments(text), OpenBlock::Wrapped { .. }) => {
                self.open.text.push_str(text);
            }
            (Delta::Text(text) | Delta::Arguments(text), _) => {
                self.write_text_delta(text, out);
                if self.open.kind == OpenBlock::Thinking {
                    self.open.text.push_str(text);
                }
            }
        }
    }

    fn write_text_delta(&self, text: &str, out: &mut BytesMut) {
        if text.is_empty() {
            return;
        }
        let open = &self.open;
        let room = self.head.len() + open.prefix.len() + text.len() + open.suffix.len() + self.tail.len();
        out.reserve(room + 16);
        out.extend_from_slice(&self.head);
        out.extend_from_slice(&open.prefix);
        push_string(out, text);
        out.extend_from_slice(open.suffix);
        out.extend_from_slice(self.tail);
    }

    fn open(&mut self, block: &Block, out: &mut BytesMut) {
        let words =
            |name: &str, kind| Open { kind, prefix: format!("\"{name}\":").into(), ..Open::default() };
        self.open = match block {
            Block::Text => words("content", OpenBlock::Text),
            Block::Thinking => words("reasoning_content", OpenBlock::Thinking),
            Block::Refusal => {
                self.held.refusal = true;
                words("refusal", OpenBlock::Text)
            }
            Block::ToolCall { id, name, custom, opaque } => {
                Open { opaque: opaque.clone(), ..self.open_call(id, name, *custom, out) }
            }
            Block::Foreign { .. } => Open::default(),
        };
    }

    fn open_call(&mut self, id: &str, name: &str, custom: bool, out: &mut BytesMut) -> Open {
        let index = self.calls;
        self.calls += 1;
        self.held.calls = true;
        let as_custom = is_custom(custom, name, &self.rendering.tools);
        let (kind, member) = if as_custom { ("custom", "input") } else { ("function", "arguments") };
        let (quoted_id, name) = (quote(id), quote(name));
        let start = format!(
            r#""tool_calls":[{{"index":{index},"id":{quoted_id},"type":"{kind}","{kind}":{{"name":{name},"{member}":""}}}}]"#
        );
        self.chunk(start.as_bytes(), out);
        let id = id.to_owned();
        Open {
            kind: if as_custom && !custom { OpenBlock::Wrapped { id } } else { OpenBlock::Call { id } },
            prefix: format!(r#""tool_calls":[{{"index":{index},"{kind}":{{"{member}":"#).into(),
            suffix: b"}}]",
            ..Open::default()
        }
    }

    /// Closes the block and writes its final state; the state may be replaced while the block is open.
    fn close(&mut self, out: &mut BytesMut) {
        let open = std::mem::take(&mut self.open);
        let entries = match (&open.kind, &open.opaque) {
            (OpenBlock::Thinking, Some(opaque)) => thought_state(&open.text, opaque),
            (OpenBlock::Call { id } | OpenBlock::Wrapped { id }, Some(opaque)) => {
                vec![details::of_call(id, opaque, false)]
            }
            _ => Vec::new(),
        };
        if matches!(open.kind, OpenBlock::Wrapped { .. }) {
            let input = custom::unwrap(&open.text);
            self.open = open;
            self.write_text_delta(&input, out);
            self.open = Open::default();
        }
        for mut entry in entries {
            // Clients merge list entries by this index.
            entry.insert("index".into(), self.details.into());
            self.details += 1;
            let entry = Value::Object(entry);
            self.chunk(format!("\"reasoning_details\":[{entry}]").as_bytes(), out);
        }
    }

    fn finish(&mut self, reason: &StopReason, out: &mut BytesMut) {
        let usage = if self.rendering.include_usage { ",\"usage\":null" } else { "" };
        let word = stop::write(reason, self.held);
        out.extend_from_slice(&self.head);
        out.extend_from_slice(format!("}},\"finish_reason\":\"{word}\"}}]{usage}}}\n\n").as_bytes());
    }

    fn end(&mut self, out: &mut BytesMut) {
        if let Some(usage) = self.usage.as_deref().filter(|_| self.rendering.include_usage) {
            let end = self.head.len() - CHOICE.len();
            out.extend_from_slice(&self.head[..end]);
            let usage = serde_json::to_string(&UsageMember::new(usage)).unwrap_or_default();
            out.extend_from_slice(format!("],\"usage\":{usage}}}\n\n").as_bytes());
        }
        out.put_slice(b"data: [DONE]\n\n");
    }
}

/// The beginning of the only choice of a chunk.
const CHOICE: &str = r#"{"index":0,"delta":{"#;

fn head(rendering: &Rendering, model: &str) -> Vec<u8> {
    let (id, model) = (quote(&rendering.ids.answer("chatcmpl-")), quote(model));
    let created = rendering.created;
    format!(
        r#"data: {{"id":{id},"object":"chat.completion.chunk","created":{created},"model":{model},"choices":[{CHOICE}"#
    )
    .into()
}

/// The state of a thinking block whose text was already sent: a sealed state includes the text, a native one does not.
fn thought_state(text: &str, opaque: &Opaque) -> Vec<Map<String, Value>> {
    if opaque.origin.format == Format::Chat {
        let mut entries = details::for_client(text, Some(opaque));
        // The state is the last entry.
        let mut entry = entries.pop().unwrap_or_default();
        entry.shift_remove("text");
        entry.shift_remove("summary");
        return vec![entry];
    }
    let mut opaque = opaque.clone();
    if opaque.text.is_none() && !text.is_empty() {
        opaque.text = Some(text.to_owned());
    }
    let mut entries = details::for_client(text, Some(&opaque));
    entries.iter_mut().for_each(|entry| drop(entry.shift_remove("text")));
    entries
}
