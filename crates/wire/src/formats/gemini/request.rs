//! Reads the few fields the gateway acts on. Model and streaming are in the URL, not in the body.

use bytes::Bytes;
use domain::call::Format;
use domain::fault::{self, Fault};

use crate::codec::shape::{CHOICES_IN_CONFIG, GENERATION_CONFIGS, OUTPUT_LIMITS_IN_CONFIG};
use crate::codec::{Fields, MemberIndexes, Request};
use crate::json;

pub fn peek(body: Bytes) -> Result<Request, Fault> {
    let object = json::scan(&body)?;
    let fields = Fields { body: &body, object: &object };
    let places = MemberIndexes {
        messages: object.position(&body, "contents"),
        provider: object.position(&body, "provider"),
        ..MemberIndexes::default()
    };
    // The API accepts a single element as a list of one, and its examples use that.
    let single = fields.value(places.messages).is_some_and(|value| fields.text(value).starts_with(b"{"));
    if !single {
        fields.filled(places.messages, "contents", "content")?;
    }
    let (max_output, choices) = limits(&fields)?;
    let provider_hint = fields.hint(places.provider);
    Ok(Request {
        format: Format::Gemini,
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

/// The output limit and the number of candidates; the largest, if several spellings are used.
fn limits(fields: &Fields<'_>) -> Result<(Option<u64>, Option<u64>), Fault> {
    let (mut max_output, mut choices) = (None, None);
    for name in GENERATION_CONFIGS {
        let Some(value) = fields.value(fields.object.position(fields.body, name)) else { continue };
        if !fields.text(value).starts_with(b"{") {
            return Err(fault::invalid_parameter(
                "generationConfig",
                "'generationConfig' must be an object.",
            ));
        }
        let config = json::scan_within(fields.body, value.clone())?;
        let inner = Fields { body: fields.body, object: &config };
        for name in OUTPUT_LIMITS_IN_CONFIG {
            let place = config.position(fields.body, name);
            max_output = max_output.max(inner.positive(place, "generationConfig.maxOutputTokens")?);
        }
        for name in CHOICES_IN_CONFIG {
            let place = config.position(fields.body, name);
            choices = choices.max(inner.positive(place, "generationConfig.candidateCount")?);
        }
    }
    Ok((max_output, choices))
}

#[cfg(test)]
mod tests;
