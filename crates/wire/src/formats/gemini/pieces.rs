//! Writes the parts of an answer directly into a buffer.

use bytes::BytesMut;
use domain::call::Format;
use domain::canon::Opaque;

use crate::custom;
use crate::json::{self, push_string};

pub fn text_part(out: &mut BytesMut, text: &str, thought: bool, signature: Option<&Opaque>) {
    out.extend_from_slice(b"{\"text\":");
    push_string(out, text);
    if thought {
        out.extend_from_slice(b",\"thought\":true");
    }
    sign(out, signature);
    out.extend_from_slice(b"}");
}

/// A call under construction; it is written once its arguments are complete.
#[derive(Clone, Debug, Default)]
pub struct Call {
    pub id: String,
    pub name: String,
    pub arguments: String,
    pub custom: bool,
    pub opaque: Option<Opaque>,
}

pub fn call_part(out: &mut BytesMut, call: &Call) {
    out.extend_from_slice(b"{\"functionCall\":{\"id\":");
    push_string(out, &call.id);
    out.extend_from_slice(b",\"name\":");
    push_string(out, &call.name);
    out.extend_from_slice(b",\"args\":");
    if !call.custom && json::scan(call.arguments.as_bytes()).is_ok() {
        out.extend_from_slice(call.arguments.trim().as_bytes());
    } else if call.arguments.trim().is_empty() {
        out.extend_from_slice(b"{}");
    } else {
        out.extend_from_slice(custom::wrap(&call.arguments).as_bytes());
    }
    out.extend_from_slice(b"}");
    sign(out, call.opaque.as_ref());
    out.extend_from_slice(b"}");
}

/// Writes a signature: state of this format unchanged, state of another format sealed.
fn sign(out: &mut BytesMut, signature: Option<&Opaque>) {
    let Some(opaque) = signature else { return };
    out.extend_from_slice(b",\"thoughtSignature\":");
    match opaque.origin.format {
        Format::Gemini => push_string(out, &opaque.data),
        _ => push_string(out, &opaque.seal()),
    }
}

/// State of another format's thinking to attach to the next call, because Gemini clients send back calls but no
/// thoughts.
pub fn passenger(text: &str, opaque: &Opaque) -> Option<Opaque> {
    let foreign = opaque.origin.format != Format::Gemini;
    let said = opaque.text.clone().or_else(|| (!text.is_empty()).then(|| text.to_owned()));
    foreign.then(|| Opaque { text: said, ..opaque.clone() })
}
