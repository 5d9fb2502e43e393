//! Decodes a complete answer, which has the shape of a stream with one event.

use domain::canon::{Collector, Reply};
use domain::fault::{self, Fault};

use super::stream_decoder::StreamDecoder;
use crate::codec::{Decoder as _, Decoding};

pub fn decode(body: &[u8], decoding: &mut Decoding) -> Result<Reply, Fault> {
    let mut decoder = StreamDecoder::new(decoding.clone());
    let mut events = Vec::new();
    decoder.take(body, &mut events)?;
    if decoder.close(&mut events).is_err() {
        let reason = "no candidate has a finish reason";
        return Err(fault::upstream_invalid_response(&decoding.provider, reason));
    }
    decoding.ids = decoder.decoding.ids;
    let mut collector = Collector::default();
    events.iter().for_each(|event| collector.take(event));
    Ok(collector.finish())
}
