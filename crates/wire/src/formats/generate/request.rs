//! Reads the few fields the gateway acts on. Model and streaming are in the URL, not in the body.

use bytes::Bytes;
use domain::call::Format;
use domain::fault::{self, Fault};

use crate::codec::{Fields, Places, Request};
use crate::json::{self, Object};

pub fn peek(body: Bytes) -> Result<Request, Fault> {
    let object = json::scan(&body)?;
    let fields = Fields { body: &body, object: &object };
    let places = Places {
        messages: object.position(&body, "contents"),
        provider: object.position(&body, "provider"),
        ..Places::default()
    };
    // The API accepts a single element as a list of one, and its examples use that.
    let single = fields.value(places.messages).is_some_and(|value| fields.text(value).starts_with(b"{"));
    if !single {
        fields.filled(places.messages, "contents", "content")?;
    }
    let (max_output, choices) = limits(&fields)?;
    let provider_hint = fields.hint(places.provider);
    Ok(Request {
        format: Format::Generate,
        model: None,
        stream: None,
        include_usage: true,
        provider_hint,
        max_output,
        choices: choices.unwrap_or(1),
        places,
        object,
        body,
    })
}

fn limits(fields: &Fields<'_>) -> Result<(Option<u64>, Option<u64>), Fault> {
    let place = either(fields.body, fields.object, "generationConfig", "generation_config");
    let Some(value) = fields.value(place) else { return Ok((None, None)) };
    if !fields.text(value).starts_with(b"{") {
        return Err(fault::invalid_parameter("generationConfig", "'generationConfig' must be an object."));
    }
    let config = json::scan_within(fields.body, value.clone())?;
    let inner = Fields { body: fields.body, object: &config };
    let max_output = either(fields.body, &config, "maxOutputTokens", "max_output_tokens");
    let choices = either(fields.body, &config, "candidateCount", "candidate_count");
    Ok((
        inner.positive(max_output, "generationConfig.maxOutputTokens")?,
        inner.positive(choices, "generationConfig.candidateCount")?,
    ))
}

/// Position of a member by either name: protobuf JSON allows camel case and snake case.
fn either(body: &[u8], object: &Object, camel: &str, snake: &str) -> Option<usize> {
    object.position(body, camel).or_else(|| object.position(body, snake))
}

#[cfg(test)]
mod tests;
