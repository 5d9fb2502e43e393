//! Reads the few fields of a chat request the gateway acts on; the body is kept unchanged.

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
    let include_usage = include_usage(&fields, places.stream_options)?;
    fields.filled(places.messages, "messages", "message")?;
    fields.within(places.temperature, "temperature", 0.0..=2.0)?;
    let max_tokens = fields.positive(places.max_tokens, "max_tokens")?;
    let max_completion_tokens = fields.positive(places.max_completion_tokens, "max_completion_tokens")?;
    let choices = fields.positive(places.n, "n")?.unwrap_or(1);
    if choices > 128 {
        return Err(fault::invalid_parameter("n", "'n' must be a whole number from 1 to 128."));
    }
    let provider_hint = fields.hint(places.provider);
    Ok(Request {
        format: Format::Chat,
        model,
        stream,
        include_usage,
        provider_hint,
        max_output: max_completion_tokens.or(max_tokens),
        choices,
        places,
        object,
        body,
    })
}

fn places(body: &[u8], object: &Object) -> MemberIndexes {
    let at = |name| object.position(body, name);
    MemberIndexes {
        model: at("model"),
        messages: at("messages"),
        stream: at("stream"),
        stream_options: at("stream_options"),
        provider: at("provider"),
        temperature: at("temperature"),
        max_tokens: at("max_tokens"),
        max_completion_tokens: at("max_completion_tokens"),
        n: at("n"),
    }
}

pub fn include_usage(fields: &Fields<'_>, place: Option<usize>) -> Result<bool, Fault> {
    let Some(value) = fields.value(place) else { return Ok(false) };
    if !fields.text(value).starts_with(b"{") {
        return Err(fault::invalid_parameter("stream_options", "'stream_options' must be an object."));
    }
    let options = json::scan_within(fields.body, value.clone())?;
    let inner = Fields { body: fields.body, object: &options };
    let place = options.position(fields.body, "include_usage");
    Ok(inner.boolean(place, "stream_options.include_usage")?.unwrap_or(false))
}

#[cfg(test)]
mod tests;
