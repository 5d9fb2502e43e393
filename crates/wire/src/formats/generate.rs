//! Gemini generateContent.

use bytes::Bytes;
use domain::canon::{Prompt, Reply};
use domain::fault::{self, Fault};
use domain::usage::Usage;

use crate::codec::{
    Answer, Codec, Decoder, Decoding, Encoded, Native, Renderer, Rendering, Request, Seen, Served, Target,
};
use crate::json::ScanError;
use crate::sse;

pub struct Generate;

impl Native for Generate {
    fn peek(&self, body: Bytes) -> Result<Request, Fault> {
        crate::formats::chat::Chat.peek(body)
    }

    fn splice(&self, request: &Request, target: &Target<'_>) -> Vec<Bytes> {
        crate::formats::chat::Chat.splice(request, target)
    }

    fn classify(&self, event: &sse::Event) -> Seen {
        crate::formats::chat::Chat.classify(event)
    }

    fn event_id(&self, data: &[u8]) -> Option<String> {
        crate::formats::chat::Chat.event_id(data)
    }

    fn read_usage(&self, raw: &[u8], _so_far: Option<&Usage>) -> Option<Usage> {
        crate::formats::chat::Chat.read_usage(raw, None)
    }

    fn read_answer(&self, body: &[u8]) -> Result<Answer, ScanError> {
        crate::formats::chat::Chat.read_answer(body)
    }

    fn splice_answer(&self, body: &Bytes, answer: &Answer, served: &Served<'_>) -> Vec<Bytes> {
        crate::formats::chat::Chat.splice_answer(body, answer, served)
    }

    fn read_error(&self, status: u16, body: &[u8], provider: &str) -> Fault {
        crate::formats::chat::Chat.read_error(status, body, provider)
    }

    fn read_stream_error(&self, data: &[u8], provider: &str) -> Fault {
        crate::formats::chat::Chat.read_stream_error(data, provider)
    }
}

impl Codec for Generate {
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
