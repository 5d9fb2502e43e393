//! Decodes a stream that was received completely.

use bytes::Bytes;
use domain::canon::{Collector, Reply};
use domain::fault::Fault;
use wire::codec::{Decoding, UpstreamCodec};
use wire::sse::Splitter;

/// Reads a complete stream as one answer.
pub fn read_stream(body: Bytes, upstream: &dyn UpstreamCodec, decoding: Decoding) -> Result<Reply, Fault> {
    let mut decoder = upstream.decoder(decoding);
    let mut splitter = Splitter::new(body.len());
    splitter.push(body);
    let (mut events, mut collector) = (Vec::new(), Collector::default());
    // No event is longer than the body.
    while let Some(event) = splitter.next().ok().flatten().or_else(|| splitter.finish()) {
        if !event.is_comment_only() {
            decoder.decode_event(&event, &mut events)?;
        }
    }
    decoder.close(&mut events)?;
    events.iter().for_each(|event| collector.take(event));
    Ok(collector.finish())
}
