//! A client's chat request: the few fields the gateway acts on, the body kept as it came.

use std::ops::Range;

use bytes::Bytes;
use domain::fault::{self, Fault};

use crate::json::{self, Object};

#[derive(Clone, Debug)]
pub struct ChatRequest {
    pub body: Bytes,
    pub object: Object,
    pub model: Option<String>,
    pub stream: Option<bool>,
    /// The client itself asked for the usage chunk.
    pub include_usage: bool,
    /// A string `provider`: the gateway's own field, never sent on.
    pub provider_hint: Option<String>,
    /// `max_completion_tokens`, or else `max_tokens`.
    pub max_output: Option<u64>,
    /// `n`.
    pub choices: u64,
    pub places: Places,
}

/// Indexes into the object's members, for edits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Places {
    pub model: Option<usize>,
    pub messages: Option<usize>,
    pub stream: Option<usize>,
    pub stream_options: Option<usize>,
    pub provider: Option<usize>,
    pub temperature: Option<usize>,
    pub max_tokens: Option<usize>,
    pub max_completion_tokens: Option<usize>,
    pub n: Option<usize>,
}

pub fn parse(body: Bytes) -> Result<ChatRequest, Fault> {
    let object = json::scan(&body)?;
    let places = Places::find(&body, &object);
    let fields = Fields { body: &body, object: &object };

    let model = match fields.value(places.model) {
        None => None,
        Some(value) => Some(fields.string(value, "model")?).filter(|model| !model.is_empty()),
    };
    let stream = fields.boolean(places.stream, "stream")?;
    let include_usage = fields.include_usage(places.stream_options)?;
    fields.check_messages(places.messages)?;
    fields.check_temperature(places.temperature)?;
    let max_tokens = fields.positive(places.max_tokens, "max_tokens")?;
    let max_completion_tokens = fields.positive(places.max_completion_tokens, "max_completion_tokens")?;
    let choices = fields.positive(places.n, "n")?.unwrap_or(1);
    if choices > 128 {
        return Err(fault::invalid_parameter("n", "'n' must be a whole number from 1 to 128."));
    }
    let provider_hint =
        places.provider.and_then(|index| json::string_at(&body, &object.members[index].value));
    Ok(ChatRequest {
        model,
        stream,
        include_usage,
        provider_hint: provider_hint.map(|hint| hint.into_owned()),
        max_output: max_completion_tokens.or(max_tokens),
        choices,
        places,
        object,
        body,
    })
}

impl Places {
    fn find(body: &[u8], object: &Object) -> Self {
        let at = |name| object.position(body, name);
        Self {
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
}

struct Fields<'a> {
    body: &'a [u8],
    object: &'a Object,
}

impl Fields<'_> {
    /// Null counts as absent, as the official clients have it.
    fn value(&self, place: Option<usize>) -> Option<&Range<usize>> {
        let value = &self.object.members[place?].value;
        (self.text(value) != b"null").then_some(value)
    }

    fn text(&self, value: &Range<usize>) -> &[u8] {
        &self.body[value.clone()]
    }

    fn string(&self, value: &Range<usize>, name: &'static str) -> Result<String, Fault> {
        match json::string_at(self.body, value) {
            Some(text) => Ok(text.into_owned()),
            None => Err(fault::invalid_parameter(name, format!("'{name}' must be a string."))),
        }
    }

    fn boolean(&self, place: Option<usize>, name: &'static str) -> Result<Option<bool>, Fault> {
        match self.value(place).map(|value| self.text(value)) {
            None => Ok(None),
            Some(b"true") => Ok(Some(true)),
            Some(b"false") => Ok(Some(false)),
            Some(_) => Err(fault::invalid_parameter(name, format!("'{name}' must be true or false."))),
        }
    }

    fn positive(&self, place: Option<usize>, name: &'static str) -> Result<Option<u64>, Fault> {
        let Some(value) = self.value(place) else { return Ok(None) };
        match std::str::from_utf8(self.text(value)).ok().and_then(|text| text.parse::<u64>().ok()) {
            Some(number) if number > 0 => Ok(Some(number)),
            _ => Err(fault::invalid_parameter(name, format!("'{name}' must be a whole number above 0."))),
        }
    }

    fn include_usage(&self, place: Option<usize>) -> Result<bool, Fault> {
        let Some(value) = self.value(place) else { return Ok(false) };
        if !self.text(value).starts_with(b"{") {
            return Err(fault::invalid_parameter("stream_options", "'stream_options' must be an object."));
        }
        let options = json::scan_within(self.body, value.clone())?;
        let fields = Fields { body: self.body, object: &options };
        let place = options.position(self.body, "include_usage");
        Ok(fields.boolean(place, "stream_options.include_usage")?.unwrap_or(false))
    }

    fn check_messages(&self, place: Option<usize>) -> Result<(), Fault> {
        let filled = self.value(place).is_some_and(|value| {
            let inside = self.text(value).strip_prefix(b"[").map(|rest| rest.trim_ascii_start());
            inside.is_some_and(|rest| !rest.starts_with(b"]"))
        });
        if filled {
            return Ok(());
        }
        Err(fault::invalid_parameter("messages", "'messages' must be an array with at least one message."))
    }

    fn check_temperature(&self, place: Option<usize>) -> Result<(), Fault> {
        let Some(value) = self.value(place) else { return Ok(()) };
        match number(self.text(value)) {
            Some(temperature) if (0.0..=2.0).contains(&temperature) => Ok(()),
            _ => Err(fault::invalid_parameter("temperature", "'temperature' must be a number from 0 to 2.")),
        }
    }
}

/// A JSON number; Rust would also read `inf` and the like, which the scanner has refused before.
pub(super) fn number(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests;
