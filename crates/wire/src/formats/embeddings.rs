//! Embeddings, in OpenAI's shape.

use bytes::Bytes;
use domain::fault::{self, Fault};
use domain::usage::Usage;

use super::chat::{self, Chat};
use super::plain;
use crate::codec::{
    Answer, AnswerReader, Class, Fields, Native, Request, RequestReader, RequestShape, Seen, Served, Target,
};
use crate::json::ScanError;
use crate::splice::Patch;
use crate::sse;

pub struct Embeddings;

impl RequestReader for Embeddings {
    fn peek(&self, body: Bytes) -> Result<Request, Fault> {
        plain::peek(body, check)
    }

    fn shape<'a>(&self, request: &'a Request) -> RequestShape<'a> {
        plain::shape(request)
    }

    fn limit_output(&self, _request: &Request, _limit: u64) -> Option<Patch> {
        None
    }
}

impl AnswerReader for Embeddings {
    /// Never streamed.
    fn classify(&self, _event: &sse::Event) -> Seen {
        Seen::of(Class::Error)
    }

    fn event_id(&self, _data: &[u8]) -> Option<String> {
        None
    }

    fn read_usage(&self, raw: &[u8], _so_far: Option<&Usage>) -> Option<Usage> {
        chat::read_usage(raw)
    }

    fn read_answer(&self, body: &[u8]) -> Result<Answer, ScanError> {
        plain::read_answer(body, "data")
    }
}

impl Native for Embeddings {
    fn splice(&self, request: &Request, target: &Target<'_>) -> Vec<Bytes> {
        plain::splice(request, target)
    }

    fn splice_answer(&self, body: &Bytes, answer: &Answer, served: &Served<'_>) -> Vec<Bytes> {
        Chat.splice_answer(body, answer, served)
    }
}

fn check(fields: &Fields<'_>) -> Result<(), Fault> {
    let place = fields.object.position(fields.body, "input");
    let Some(value) = fields.value(place) else {
        return Err(fault::invalid_parameter(
            "input",
            "'input' is missing: a text, or an array of texts or tokens.",
        ));
    };
    match fields.text(value) {
        [b'"', ..] if fields.text(value) == b"\"\"" => {
            Err(fault::invalid_parameter("input", "'input' must not be empty."))
        }
        [b'"', ..] => Ok(()),
        [b'[', ..] => fields.filled(place, "input", "text"),
        _ => {
            Err(fault::invalid_parameter("input", "'input' must be a text, or an array of texts or tokens."))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_is_a_text_or_a_list() {
        for (input, good) in [
            ("\"a\"", true),
            ("[\"a\"]", true),
            ("[[1,2]]", true),
            ("\"\"", false),
            ("[]", false),
            ("5", false),
            ("null", false),
        ] {
            let body = format!("{{\"model\":\"m\",\"input\":{input}}}");
            let peeked = Embeddings.peek(Bytes::from(body));
            match (good, peeked) {
                (true, Ok(request)) => assert_eq!(request.model.as_deref(), Some("m")),
                (false, Err(fault)) => assert_eq!(fault.param.as_deref(), Some("input")),
                (_, found) => panic!("{input}: {found:?}"),
            }
        }
    }
}
