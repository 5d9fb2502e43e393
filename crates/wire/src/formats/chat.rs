//! OpenAI chat completions.

mod answer;
mod classify;
mod error;
mod glance;
mod request;
mod splice;
mod usage;

use bytes::Bytes;
use domain::canon::{Prompt, Reply};
use domain::fault::{self, Fault};
use domain::usage::Usage;

use crate::codec::{
    Answer, Codec, Decoder, Decoding, Encoded, Native, Renderer, Rendering, Request, Seen, Served, Target,
};
use crate::json::ScanError;
use crate::sse;

pub use answer::read_answer;
pub use classify::classify;
pub use error::{read_error, read_stream_error};
pub use glance::{event_id, has_choices};
pub use request::include_usage;
pub use usage::read_usage;

pub struct Chat;

impl Native for Chat {
    fn peek(&self, body: Bytes) -> Result<Request, Fault> {
        request::peek(body)
    }

    fn splice(&self, request: &Request, target: &Target<'_>) -> Vec<Bytes> {
        splice::splice(request, target)
    }

    fn classify(&self, event: &sse::Event) -> Seen {
        classify(&event.data())
    }

    fn event_id(&self, data: &[u8]) -> Option<String> {
        event_id(data)
    }

    fn read_usage(&self, raw: &[u8], _so_far: Option<&Usage>) -> Option<Usage> {
        read_usage(raw)
    }

    fn read_answer(&self, body: &[u8]) -> Result<Answer, ScanError> {
        read_answer(body)
    }

    fn splice_answer(&self, body: &Bytes, answer: &Answer, served: &Served<'_>) -> Vec<Bytes> {
        answer::splice_answer(body, answer, served)
    }

    fn read_error(&self, status: u16, body: &[u8], provider: &str) -> Fault {
        read_error(status, body, provider)
    }

    fn read_stream_error(&self, data: &[u8], provider: &str) -> Fault {
        read_stream_error(data, provider)
    }
}

impl Codec for Chat {
    fn parse(&self, _request: &Request) -> Result<Prompt, Fault> {
        Err(fault::internal_error())
    }

    fn encode(&self, _prompt: &Prompt, _target: &Target<'_>) -> Result<Encoded, Fault> {
        Err(fault::internal_error())
    }

    fn decode(&self, _body: &[u8], _decoding: &mut Decoding) -> Result<Reply, Fault> {
        Err(fault::internal_error())
    }

    fn decoder(&self, _decoding: Decoding) -> Box<dyn Decoder> {
        Box::new(crate::formats::Unwritten)
    }

    fn render(&self, _reply: &Reply, _rendering: &mut Rendering) -> Bytes {
        Bytes::new()
    }

    fn renderer(&self, _rendering: Rendering) -> Box<dyn Renderer> {
        Box::new(crate::formats::Unwritten)
    }
}
