//! OpenAI chat completions.

mod answer;
mod classify;
mod decode;
mod details;
mod encode;
mod error;
mod parse;
mod quick_scan;
mod render;
mod request;
mod shape;
mod splice;
mod stop;
mod stream_decoder;
mod stream_renderer;
pub(crate) mod system_prompt;
pub(crate) mod text_parts;
mod usage;
mod wire_types;

use bytes::Bytes;
use domain::canon::{Prompt, Reply};
use domain::fault::Fault;
use domain::usage::Usage;

use crate::codec::{
    Answer, AnswerReader, Broken, ClientCodec, Decoder, Decoding, Encoded, Native, Renderer, Rendering,
    Request, RequestReader, RequestShape, Seen, Served, Target, UpstreamCodec,
};
use crate::json::ScanError;
use crate::splice::Patch;
use crate::sse;

pub use answer::read_answer;
pub use classify::classify;
pub(super) use error::render_error;
pub use quick_scan::{event_id, has_choices};
pub use request::include_usage;
pub use usage::{UsageMember, read_usage};

pub struct Chat;

impl RequestReader for Chat {
    fn peek(&self, body: Bytes) -> Result<Request, Fault> {
        request::peek(body)
    }

    fn shape<'a>(&self, request: &'a Request) -> RequestShape<'a> {
        shape::shape(request)
    }

    fn limit_output(&self, request: &Request, limit: u64) -> Option<Patch> {
        Some(shape::limit_output(request, limit))
    }
}

impl AnswerReader for Chat {
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
}

impl Native for Chat {
    fn splice(&self, request: &Request, target: &Target<'_>) -> Vec<Bytes> {
        splice::splice(request, target)
    }

    fn splice_answer(&self, body: &Bytes, answer: &Answer, served: &Served<'_>) -> Vec<Bytes> {
        answer::splice_answer(body, answer, served)
    }
}

impl ClientCodec for Chat {
    fn parse(&self, request: &Request) -> Result<Prompt, Fault> {
        parse::parse(request)
    }

    fn render(&self, reply: &Reply, rendering: &mut Rendering) -> Bytes {
        render::render(reply, rendering)
    }

    fn renderer(&self, rendering: Rendering) -> Box<dyn Renderer> {
        Box::new(stream_renderer::StreamRenderer::new(rendering))
    }

    fn render_error(&self, fault: &Fault, _request_id: &str) -> Bytes {
        error::render_error(fault).into()
    }

    fn render_error_event(&self, fault: &Fault, _broken: Broken<'_>) -> Bytes {
        error::render_error_event(fault).into()
    }
}

impl UpstreamCodec for Chat {
    fn encode(&self, prompt: &Prompt, target: &Target<'_>) -> Result<Encoded, Fault> {
        Ok(encode::encode(prompt, target))
    }

    fn decode(&self, body: &[u8], decoding: &mut Decoding) -> Result<Reply, Fault> {
        decode::decode(body, decoding)
    }

    fn decoder(&self, decoding: Decoding) -> Box<dyn Decoder> {
        Box::new(stream_decoder::StreamDecoder::new(decoding))
    }
}
