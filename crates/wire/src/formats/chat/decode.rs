//! Decodes a complete chat completion into the canonical model; it is handled as a single chunk.

use domain::canon::{Collector, Reply};
use domain::fault::{self, Fault};

use super::stream_decoder::StreamDecoder;
use super::wire_types::Chunk;
use crate::codec::Decoding;

pub fn decode(body: &[u8], decoding: &mut Decoding) -> Result<Reply, Fault> {
    // Validated as a whole, which costs less than string by string.
    let text = simdutf8::basic::from_utf8(body).ok();
    let chunk = text.and_then(|text| serde_json::from_str::<Chunk<'_>>(text).ok());
    let chunk = chunk.ok_or_else(|| {
        fault::upstream_invalid_response(&decoding.provider, "its answer is no chat completion")
    })?;
    if chunk.is_error() {
        return Err(crate::provider_error::read_stream_error(body, &decoding.provider));
    }
    if chunk.choices.as_ref().is_none_or(Vec::is_empty) {
        return Err(fault::upstream_invalid_response(&decoding.provider, "its answer has no choices"));
    }
    let mut events = Vec::new();
    let mut decoder = StreamDecoder::whole(decoding.clone());
    decoder.take(chunk, &mut events)?;
    decoder.end(&mut events);
    decoding.ids = decoder.into_ids();
    let mut collector = Collector::default();
    events.iter().for_each(|event| collector.take(event));
    Ok(collector.finish())
}
