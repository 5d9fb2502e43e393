//! An open block of the answer: renders its events and the resulting item.

use bytes::BytesMut;
use domain::canon::Opaque;

use super::event_writer::EventWriter;
use crate::formats::responses::custom_input::Unwrapper;
use crate::formats::responses::render::items::{self, Call, Message};
use crate::json::Quoted;

pub enum OpenItem {
    Message {
        id: String,
        message: Message,
        text: String,
    },
    Reasoning {
        id: String,
        text: String,
        state: Option<Opaque>,
    },
    Call {
        call: Call,
        arguments: String,
        /// Unwraps the JSON arguments of a custom tool that was sent as a function.
        unwrapper: Option<Unwrapper>,
        late_state: Option<Opaque>,
    },
}

impl OpenItem {
    pub fn text(id: String) -> Self {
        Self::Message { id, message: Message::Text, text: String::new() }
    }

    pub fn refusal(id: String) -> Self {
        Self::Message { id, message: Message::Refusal, text: String::new() }
    }

    pub fn reasoning(id: String) -> Self {
        Self::Reasoning { id, text: String::new(), state: None }
    }

    /// Creates a call; `plain` if the deltas are the input itself.
    pub fn call(call: Call, plain: bool) -> Self {
        let unwrapper = (call.custom && !plain).then(Unwrapper::default);
        Self::Call { call, arguments: String::new(), unwrapper, late_state: None }
    }

    pub fn open(&self, place: usize, writer: &mut EventWriter, out: &mut BytesMut) {
        match self {
            Self::Message { id, message, .. } => {
                writer.item(out, "added", place, &items::message(id, *message, None));
                let part = message.part("");
                let members = format_args!(
                    r#""item_id":"{id}","output_index":{place},"content_index":0,"part":{part}"#
                );
                writer.event(out, "response.content_part.added", members);
            }
            Self::Reasoning { id, .. } => writer.item(out, "added", place, &items::reasoning(id, "", None)),
            Self::Call { call, .. } => writer.item(out, "added", place, &call.item(None)),
        }
    }

    pub fn append(&mut self, more: &str, place: usize, writer: &mut EventWriter, out: &mut BytesMut) {
        match self {
            Self::Message { id, message, text } => {
                text.push_str(more);
                let (kind, logprobs) = match message {
                    Message::Text => ("response.output_text.delta", r#","logprobs":[]"#),
                    Message::Refusal => ("response.refusal.delta", ""),
                };
                let delta = Quoted(more);
                writer.event(
                    out,
                    kind,
                    format_args!(
                        r#""item_id":"{id}","output_index":{place},"content_index":0,"delta":{delta}{logprobs}"#
                    ),
                );
            }
            Self::Reasoning { id, text, .. } => {
                if more.is_empty() {
                    return;
                }
                if text.is_empty() {
                    summary_event(writer, out, "part.added", id, place, "part", &items::summary_part(""));
                }
                text.push_str(more);
                summary_event(writer, out, "text.delta", id, place, "delta", &Quoted(more));
            }
            Self::Call { call, arguments, unwrapper, .. } => match unwrapper {
                Some(unwrapper) => {
                    arguments_delta(call, arguments, &unwrapper.read(more), place, writer, out)
                }
                None => arguments_delta(call, arguments, more, place, writer, out),
            },
        }
    }

    pub fn set_state(&mut self, opaque: &Opaque) {
        match self {
            Self::Reasoning { state, .. } | Self::Call { late_state: state, .. } => {
                *state = Some(opaque.clone())
            }
            Self::Message { .. } => {}
        }
    }

    /// State that arrived after the call had begun.
    pub fn late_state(&mut self) -> Option<Opaque> {
        match self {
            Self::Call { late_state, .. } => late_state.take(),
            _ => None,
        }
    }

    /// Writes all events up to the item's own and returns the item.
    pub fn close(&mut self, place: usize, writer: &mut EventWriter, out: &mut BytesMut) -> String {
        match self {
            Self::Message { id, message, text } => {
                let (kind, field, logprobs) = match message {
                    Message::Text => ("response.output_text.done", "text", r#","logprobs":[]"#),
                    Message::Refusal => ("response.refusal.done", "refusal", ""),
                };
                let at = format!(r#""item_id":"{id}","output_index":{place},"content_index":0"#);
                writer.event(out, kind, format_args!(r#"{at},"{field}":{}{logprobs}"#, Quoted(text)));
                let part = message.part(text);
                writer.event(out, "response.content_part.done", format_args!(r#"{at},"part":{part}"#));
                items::message(id, *message, Some(text))
            }
            Self::Reasoning { id, text, state } => {
                if !text.is_empty() {
                    summary_event(writer, out, "text.done", id, place, "text", &Quoted(text));
                    summary_event(writer, out, "part.done", id, place, "part", &items::summary_part(text));
                }
                let state = state.as_ref().map(|opaque| items::state(opaque, text));
                items::reasoning(id, text, state.as_deref())
            }
            Self::Call { call, arguments, unwrapper, .. } => {
                if let Some(unwrapper) = unwrapper {
                    arguments_delta(call, arguments, &unwrapper.finish(), place, writer, out);
                } else if !call.custom && arguments.trim().is_empty() {
                    arguments.clear();
                    arguments_delta(call, arguments, "{}", place, writer, out);
                }
                finish_call(call, arguments, place, writer, out);
                call.item(Some(arguments))
            }
        }
    }
}

fn summary_event(
    writer: &mut EventWriter,
    out: &mut BytesMut,
    what: &str,
    id: &str,
    place: usize,
    field: &str,
    value: &dyn std::fmt::Display,
) {
    let kind = match what {
        "part.added" => "response.reasoning_summary_part.added",
        "part.done" => "response.reasoning_summary_part.done",
        "text.done" => "response.reasoning_summary_text.done",
        _ => "response.reasoning_summary_text.delta",
    };
    let members =
        format_args!(r#""item_id":"{id}","output_index":{place},"summary_index":0,"{field}":{value}"#);
    writer.event(out, kind, members);
}

fn arguments_delta(
    call: &Call,
    arguments: &mut String,
    more: &str,
    place: usize,
    writer: &mut EventWriter,
    out: &mut BytesMut,
) {
    if more.is_empty() {
        return;
    }
    arguments.push_str(more);
    let kind = if call.custom {
        "response.custom_tool_call_input.delta"
    } else {
        "response.function_call_arguments.delta"
    };
    let (id, delta) = (&call.id, Quoted(more));
    writer.event(out, kind, format_args!(r#""item_id":"{id}","output_index":{place},"delta":{delta}"#));
}

fn finish_call(call: &Call, arguments: &str, place: usize, writer: &mut EventWriter, out: &mut BytesMut) {
    let at = format!(r#""item_id":"{}","output_index":{place}"#, call.id);
    let arguments = Quoted(arguments);
    if call.custom {
        writer.event(
            out,
            "response.custom_tool_call_input.done",
            format_args!(r#"{at},"input":{arguments}"#),
        );
    } else {
        let name = Quoted(&call.name);
        let members = format_args!(r#"{at},"name":{name},"arguments":{arguments}"#);
        writer.event(out, "response.function_call_arguments.done", members);
    }
}
