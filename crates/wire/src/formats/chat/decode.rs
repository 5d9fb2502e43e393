//! A provider's whole answer, read into the canonical model: one chunk that says everything.

use domain::canon::{Collector, Reply};
use domain::fault::{self, Fault};

use super::follow::Follower;
use super::said::Chunk;
use crate::codec::Decoding;

pub fn decode(body: &[u8], decoding: &mut Decoding) -> Result<Reply, Fault> {
    let chunk: Chunk<'_> = serde_json::from_slice(body).map_err(|_| {
        fault::upstream_invalid_response(&decoding.provider, "its answer is no chat completion")
    })?;
    if chunk.is_error() {
        return Err(super::read_stream_error(body, &decoding.provider));
    }
    if chunk.choices.as_ref().is_none_or(Vec::is_empty) {
        return Err(fault::upstream_invalid_response(&decoding.provider, "its answer has no choices"));
    }
    let mut events = Vec::new();
    let mut follower = Follower::whole(decoding.clone());
    follower.take(chunk, &mut events)?;
    follower.end(&mut events);
    decoding.mint = follower.into_mint();
    let mut collector = Collector::default();
    events.iter().for_each(|event| collector.take(event));
    Ok(collector.finish())
}
