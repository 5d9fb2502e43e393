//! Reads the few fields of a Responses API request the gateway acts on; the body is kept unchanged.

use bytes::Bytes;
use domain::call::Format;
use domain::fault::{self, Fault};

use crate::codec::{Fields, MemberIndexes, Request};
use crate::json::{self, Object};

pub fn peek(body: Bytes) -> Result<Request, Fault> {
    let object = json::scan(&body)?;
    let places = places(&body, &object);
    let fields = Fields { body: &body, object: &object };

    let model = fields.string(places.model, "model")?.filter(|model| !model.is_empty());
    let stream = fields.boolean(places.stream, "stream")?;
    check_input(&fields, places.messages)?;
    fields.within(places.temperature, "temperature", 0.0..=2.0)?;
    let max_output = fields.positive(places.max_tokens, "max_output_tokens")?;
    let provider_hint = fields.hint(places.provider);
    Ok(Request {
        format: Format::Responses,
        model,
        stream,
        // The terminal event always has usage.
        include_usage: true,
        provider_hint,
        max_output,
        choices: 1,
        places,
        object,
        body,
    })
}

fn places(body: &[u8], object: &Object) -> MemberIndexes {
    let at = |name| object.position(body, name);
    MemberIndexes {
        model: at("model"),
        messages: at("input"),
        stream: at("stream"),
        stream_options: at("stream_options"),
        provider: at("provider"),
        temperature: at("temperature"),
        max_tokens: at("max_output_tokens"),
        max_completion_tokens: None,
        n: None,
    }
}

/// Checks `input`, which may be absent if the request refers to earlier turns or to a prompt template.
fn check_input(fields: &Fields<'_>, place: Option<usize>) -> Result<(), Fault> {
    match fields.value(place).map(|value| fields.text(value)[0]) {
        Some(b'"' | b'[') => Ok(()),
        Some(_) => Err(fault::invalid_parameter("input", "'input' must be a string or an array of items.")),
        None => {
            let given = |name: &&str| fields.value(fields.object.position(fields.body, name)).is_some();
            if ["previous_response_id", "conversation", "prompt"].iter().any(given) {
                return Ok(());
            }
            Err(fault::invalid_parameter("input", "'input' is missing: send a string or an array of items."))
        }
    }
}
