//! Renders a canonical reply as a complete response.

pub mod items;
mod names;

use bytes::Bytes;
use domain::call::Format;
use domain::canon::{Content, Reply, ToolCall};

use super::custom_input::Unwrapper;
use super::object::{Object, State};
use super::write_usage;
use crate::codec::{IdGenerator, Rendering};
use items::{Call, Message};
pub use names::Names;

pub fn render(reply: &Reply, rendering: &mut Rendering) -> Bytes {
    let object = Object::new(rendering);
    let names = Names::new(&rendering.tools);
    let ids = &mut rendering.ids;
    let mut output = Vec::new();
    let mut refused = false;
    for part in &reply.parts {
        match &part.content {
            Content::Text(text) => {
                output.push(items::message(&ids.item("msg_"), Message::Text, Some(text)));
            }
            Content::Refusal(text) => {
                refused = true;
                output.push(items::message(&ids.item("msg_"), Message::Refusal, Some(text)));
            }
            Content::Thinking(thinking) => {
                let state = thinking.opaque.as_ref().map(|opaque| items::state(opaque, &thinking.text));
                output.push(items::reasoning(&ids.item("rs_"), &thinking.text, state.as_deref()));
            }
            Content::ToolCall(call) => render_call(call, &names, ids, &mut output),
            Content::Foreign { format: Format::Responses, value } => output.push(value.to_string()),
            Content::Foreign { .. }
            | Content::Image(_)
            | Content::Document(_)
            | Content::Audio(_)
            | Content::ToolResult(_) => {}
        }
    }
    let usage = reply.usage.as_ref().map(write_usage);
    let state = State::Ended { stop: &reply.stop, refused };
    object.write(&state, output.iter().map(String::as_str), usage.as_ref()).into()
}

fn render_call(call: &ToolCall, names: &Names, ids: &mut IdGenerator, output: &mut Vec<String>) {
    if let Some(opaque) = &call.opaque {
        output.push(items::reasoning(&ids.item("rs_"), "", Some(&items::call_state(opaque))));
    }
    let written = Call::new(&call.id, &call.name, call.custom, names, ids);
    if written.custom && !call.custom {
        let mut unwrapper = Unwrapper::default();
        let input = unwrapper.read(&call.arguments) + &unwrapper.finish();
        output.push(written.item(Some(&input)));
    } else {
        output.push(written.item(Some(&call.arguments)));
    }
}
