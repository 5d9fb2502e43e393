//! OpenAI Responses API.

mod answer;
mod classify;
mod custom_input;
mod decode;
mod encode;
mod error;
mod history;
mod kind;
mod object;
mod parse;
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

pub use history::{input_items, normalize_input, with_history};
pub use usage::{read_usage, write_usage};

pub struct Responses;

impl RequestReader for Responses {
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

impl AnswerReader for Responses {
    fn classify(&self, event: &sse::Event) -> Seen {
        classify::classify(event)
    }

    fn ends_block(&self, data: &[u8]) -> bool {
        classify::ends_block(data)
    }

    fn event_id(&self, data: &[u8]) -> Option<String> {
        classify::event_id(data)
    }

    fn read_usage(&self, raw: &[u8], _so_far: Option<&Usage>) -> Option<Usage> {
        read_usage(raw)
    }

    fn read_answer(&self, body: &[u8]) -> Result<Answer, ScanError> {
        answer::read_answer(body)
    }

    fn read_stream_error(&self, data: &[u8], provider: &str) -> Fault {
        error::read_stream_error(data, provider)
    }
}

impl Native for Responses {
    fn splice(&self, request: &Request, target: &Target<'_>) -> Vec<Bytes> {
        splice::splice(request, target)
    }

    fn splice_answer(&self, body: &Bytes, answer: &Answer, served: &Served<'_>) -> Vec<Bytes> {
        answer::splice_answer(body, answer, served)
    }

    fn reframe(&self, event: &sse::Event, _requested_model: &str) -> Option<Bytes> {
        answer::reframe(event)
    }

    fn closing(&self) -> &'static [u8] {
        b"data: [DONE]\n\n"
    }
}

impl ClientCodec for Responses {
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

    fn render_error_event(&self, fault: &Fault, broken: Broken<'_>) -> Bytes {
        error::render_error_event(fault, broken).into()
    }
}

impl UpstreamCodec for Responses {
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
