//! Renders canonical events as the full set of response events that the official clients expect.

mod event_writer;
mod open_item;

use bytes::BytesMut;
use domain::call::Format;
use domain::canon::{Block, Delta, Event, Opaque, StopReason};
use domain::fault::Fault;
use serde_json::Value;

use super::error;
use super::object::{Object, State};
use super::render::{Names, items};
use super::write_usage;
use crate::codec::{IdGenerator, Renderer, Rendering};
use event_writer::EventWriter;
use open_item::OpenItem;

pub struct StreamRenderer {
    object: Object,
    ids: IdGenerator,
    names: Names,
    writer: EventWriter,
    begun: bool,
    /// Finished items, by their position in the output.
    items: Vec<Option<String>>,
    open: Vec<Slot>,
    usage: Option<Value>,
    stop: StopReason,
    refused: bool,
}

struct Slot {
    block: u32,
    place: usize,
    item: OpenItem,
}

impl StreamRenderer {
    pub fn new(rendering: Rendering) -> Self {
        Self {
            object: Object::new(&rendering),
            names: Names::new(&rendering.tools),
            ids: rendering.ids,
            writer: EventWriter::default(),
            begun: false,
            items: Vec::new(),
            open: Vec::new(),
            usage: None,
            stop: StopReason::EndTurn,
            refused: false,
        }
    }
}

impl Renderer for StreamRenderer {
    fn write(&mut self, event: &Event, out: &mut BytesMut) {
        self.begin(out);
        match event {
            Event::Begin { .. } => {}
            Event::Open { index, block } => self.open(*index, block, out),
            Event::Delta { index, delta } => self.append(*index, delta, out),
            Event::Close { index } => self.close(*index, out),
            Event::Usage { usage, .. } => self.usage = Some(write_usage(usage)),
            Event::Finish { reason } => self.stop = reason.clone(),
            Event::End => self.end(out),
        }
    }

    fn fail(&mut self, fault: &Fault, out: &mut BytesMut) {
        self.begin(out);
        let response = self.response(&State::Failed(fault));
        self.writer.event(out, "response.failed", format_args!(r#""response":{response}"#));
        out.extend_from_slice(error::error_event(fault, self.writer.sequence).as_bytes());
    }
}

impl StreamRenderer {
    fn begin(&mut self, out: &mut BytesMut) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        let response = self.response(&State::InProgress);
        for kind in ["response.created", "response.in_progress"] {
            self.writer.event(out, kind, format_args!(r#""response":{response}"#));
        }
    }

    fn response(&self, state: &State<'_>) -> String {
        let done = self.items.iter().filter_map(Option::as_deref);
        self.object.write(state, done, self.usage.as_ref())
    }

    fn open(&mut self, block: u32, opened: &Block, out: &mut BytesMut) {
        let item = match opened {
            Block::Text => OpenItem::text(self.ids.item("msg_")),
            Block::Refusal => {
                self.refused = true;
                OpenItem::refusal(self.ids.item("msg_"))
            }
            Block::Thinking => OpenItem::reasoning(self.ids.item("rs_")),
            Block::ToolCall { id, name, custom, opaque } => {
                if let Some(opaque) = opaque {
                    self.state_of_a_call(opaque, out);
                }
                let call = items::Call::new(id, name, *custom, &self.names, &mut self.ids);
                OpenItem::call(call, *custom)
            }
            Block::Foreign { format: Format::Responses, value } => {
                return self.whole_item(&value.to_string(), out);
            }
            Block::Foreign { .. } => return,
        };
        let place = self.items.len();
        self.items.push(None);
        item.open(place, &mut self.writer, out);
        self.open.push(Slot { block, place, item });
    }

    fn append(&mut self, block: u32, delta: &Delta, out: &mut BytesMut) {
        let Some(slot) = self.open.iter_mut().rfind(|slot| slot.block == block) else { return };
        match delta {
            Delta::Text(more) | Delta::Arguments(more) => {
                slot.item.append(more, slot.place, &mut self.writer, out);
            }
            Delta::Opaque(opaque) => slot.item.set_state(opaque),
        }
    }

    fn close(&mut self, block: u32, out: &mut BytesMut) {
        let Some(index) = self.open.iter().rposition(|slot| slot.block == block) else { return };
        let mut slot = self.open.remove(index);
        let item = slot.item.close(slot.place, &mut self.writer, out);
        self.writer.item(out, "done", slot.place, &item);
        self.items[slot.place] = Some(item);
        if let Some(opaque) = slot.item.late_state() {
            self.state_of_a_call(&opaque, out);
        }
    }

    /// Writes a call's state as a reasoning item, which clients send back with the calls that follow it.
    fn state_of_a_call(&mut self, opaque: &Opaque, out: &mut BytesMut) {
        let item = items::reasoning(&self.ids.item("rs_"), "", Some(&items::call_state(opaque)));
        self.whole_item(&item, out);
    }

    fn whole_item(&mut self, item: &str, out: &mut BytesMut) {
        let place = self.items.len();
        self.writer.item(out, "added", place, item);
        self.writer.item(out, "done", place, item);
        self.items.push(Some(item.to_owned()));
    }

    fn end(&mut self, out: &mut BytesMut) {
        let state = State::Ended { stop: &self.stop, refused: self.refused };
        let response = self.response(&state);
        let kind = match state.status() {
            "incomplete" => "response.incomplete",
            _ => "response.completed",
        };
        self.writer.event(out, kind, format_args!(r#""response":{response}"#));
        out.extend_from_slice(b"data: [DONE]\n\n");
    }
}
