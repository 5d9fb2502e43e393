//! Legacy text completions: the chat envelope around plain text.

use bytes::Bytes;
use domain::fault::{self, Fault};
use domain::usage::Usage;

use super::chat::{self, Chat};
use super::plain;
use crate::codec::shape::{prompt_count, set_top_level};
use crate::codec::{
    Answer, AnswerReader, Fields, Native, Request, RequestReader, RequestShape, Seen, Served, Target,
};
use crate::json::ScanError;
use crate::splice::Patch;
use crate::sse;

pub struct Completions;

impl RequestReader for Completions {
    fn peek(&self, body: Bytes) -> Result<Request, Fault> {
        let mut request = plain::peek(body, check)?;
        let at = |name| request.object.position(&request.body, name);
        let (stream, options, limit, n) = (at("stream"), at("stream_options"), at("max_tokens"), at("n"));
        let fields = Fields { body: &request.body, object: &request.object };
        let asked = fields.boolean(stream, "stream")?;
        let include_usage = chat::include_usage(&fields, options)?;
        let max_output = fields.positive(limit, "max_tokens")?;
        let choices = fields.positive(n, "n")?.unwrap_or(1);
        request.stream = asked;
        request.include_usage = include_usage;
        request.max_output = max_output.or(Some(16));
        request.choices = choices;
        request.places.stream_options = options;
        Ok(request)
    }

    /// Each prompt of a list has its own answers.
    fn shape<'a>(&self, request: &'a Request) -> RequestShape<'a> {
        let shape = RequestShape::of(request);
        let prompt = request.object.value(&request.body, "prompt");
        let prompts = prompt.map_or(1, |value| prompt_count(&request.body[value]));
        RequestShape { choices: shape.choices.saturating_mul(prompts), ..shape }
    }

    fn limit_output(&self, request: &Request, limit: u64) -> Option<Patch> {
        Some(set_top_level(request, "max_tokens", limit))
    }
}

impl AnswerReader for Completions {
    fn classify(&self, event: &sse::Event) -> Seen {
        Chat.classify(event)
    }

    fn event_id(&self, data: &[u8]) -> Option<String> {
        Chat.event_id(data)
    }

    fn read_usage(&self, raw: &[u8], so_far: Option<&Usage>) -> Option<Usage> {
        Chat.read_usage(raw, so_far)
    }

    fn read_answer(&self, body: &[u8]) -> Result<Answer, ScanError> {
        Chat.read_answer(body)
    }
}

impl Native for Completions {
    fn splice(&self, request: &Request, target: &Target<'_>) -> Vec<Bytes> {
        Chat.splice(request, target)
    }

    fn splice_answer(&self, body: &Bytes, answer: &Answer, served: &Served<'_>) -> Vec<Bytes> {
        Chat.splice_answer(body, answer, served)
    }
}

fn check(fields: &Fields<'_>) -> Result<(), Fault> {
    let place = fields.object.position(fields.body, "prompt");
    let prompt = fields.value(place).map(|value| fields.text(value));
    if prompt.is_some_and(|text| matches!(text, [b'"' | b'[', ..])) {
        return Ok(());
    }
    Err(fault::invalid_parameter("prompt", "'prompt' must be a text, or an array of texts or tokens."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompt_stream_and_limits_are_seen() {
        let body = r#"{"model":"m","prompt":"a","stream":true,"max_tokens":9,"n":2}"#;
        let request = Completions.peek(Bytes::from_static(body.as_bytes())).unwrap();
        assert_eq!((request.stream, request.max_output, request.choices), (Some(true), Some(9), 2));
        let fault = Completions.peek(Bytes::from_static(br#"{"model":"m"}"#)).unwrap_err();
        assert_eq!(fault.param.as_deref(), Some("prompt"));
    }
}
